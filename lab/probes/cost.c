// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the cost of a probe by its location: cost [ROUNDS]. First single instructions, each
 * probed with programs that do nothing; then a pair of malloc() and free() of the libc that this is
 * linked with, probed at the functions' first instructions, as is usual, and where probe_place.h
 * puts the probes. Everything runs in one process and in interleaved rounds, of which the median
 * counts: only ratios are meaningful.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/msg.h"
#include "memleak/allocators.h"
#include "probes/uprobes.h"
#include "process/procmaps.h"

#include "../../tests/live/probes.h"
#include "../bench/median.h"
#include "probes.skel.h"

#define ROUND_NS	10000000ULL
#define MAX_ROUNDS	101
#define MAX_POINTS	64
#define CALLS_PER_CLOCK 16

typedef void body_fn(void);

/* X(name, before, the instruction that is probed, after); behind that there is a return. */
#if defined(__x86_64__)
#define INSTRUCTIONS(X)                                 \
	X(nop, "", "nop", "")                           \
	X(nop3, "", ".byte 0x0f, 0x1f, 0x00", "")       \
	X(nop5, "", ".byte 0x0f, 0x1f, 0x44, 0, 0", "") \
	X(endbr64, "", "endbr64", "")                   \
	X(push, "", "push %rbp", "pop %rbp")            \
	X(push12, "", "push %r12", "pop %r12")          \
	X(je, "test %rsp, %rsp", "je 1f", "1:")         \
	X(jmp, "", "jmp 1f", "1:")                      \
	X(call, "", "call 1f", "ret\n1:")               \
	X(test, "", "test %rdi, %rdi", "")              \
	X(mov, "", "mov %rdi, %rax", "")                \
	X(sub, "", "sub $8, %rsp", "add $8, %rsp")      \
	X(ret, "", "ret", "")
#else
#define INSTRUCTIONS(X)                                                     \
	X(nop, "", "nop", "")                                               \
	X(bti, "", "hint #34", "")                                          \
	X(paciasp, "", "hint #25", "hint #29")                              \
	X(push, "", "stp x29, x30, [sp, #-16]!", "ldp x29, x30, [sp], #16") \
	X(adr, "", "adr x9, .", "")                                         \
	X(adrp, "", "adrp x9, .", "")                                       \
	X(cbz, "", "cbz xzr, 1f", "1:")                                     \
	X(bcond, "cmp x9, x9", "b.eq 1f", "1:")                             \
	X(b, "", "b 1f", "1:")                                              \
	X(cmp, "", "cmp x0, #0", "")                                        \
	X(mov, "", "mov x9, x0", "")                                        \
	X(mrs, "", "mrs x9, tpidr_el0", "")                                 \
	X(ret, "", "ret", "")
#endif

/* The instruction is at a label of its own. */
#define PROBED(id, before, instruction, after)                                                     \
	__asm__(".pushsection .text\n.balign 4\n.type cost_" #id ", %function\ncost_" #id          \
		":\n" before "\n.globl cost_at_" #id "\ncost_at_" #id ":\n" instruction "\n" after \
		"\nret\n.globl cost_" #id "\n.size cost_" #id ", . - cost_" #id "\n.popsection");  \
	extern body_fn cost_##id, cost_at_##id;

#define ROW(id, before, instruction, after) { #id, cost_##id, cost_at_##id },

INSTRUCTIONS(PROBED)

static const struct instruction {
	const char *name;
	body_fn *body, *probed;
} instructions[] = { INSTRUCTIONS(ROW) };

/* A way to attach, in the mode of its skeleton. */
struct way {
	const char *name;
	enum uprobes_mode mode;
	bool wants_return;
	struct uprobes_programs programs;
	struct probes_bpf *skeleton;
};

static struct way ways[] = {
	{ "entry", UPROBES_MULTI, false, { 0 }, NULL },
	{ "entry+return", UPROBES_MULTI, true, { 0 }, NULL },
	{ "session", UPROBES_SESSION, true, { 0 }, NULL },
	{ "perf entry", UPROBES_PERF, false, { 0 }, NULL },
	{ "perf both", UPROBES_PERF, true, { 0 }, NULL },
};

static int n_rounds = 5;

static double measure_ns(body_fn *body)
{
	uint64_t start = clock_now_ns(), end, n = 0;

	do {
		for (int i = 0; i < CALLS_PER_CLOCK; i++)
			body();
		n += CALLS_PER_CLOCK;
		end = clock_now_ns();
	} while (end - start < ROUND_NS);
	return (double)(end - start) / (double)n;
}

static double median_of(double *values)
{
	return median(values, n_rounds);
}

static bool open_way(struct way *way)
{
	struct probes_bpf *skeleton = probes_bpf__open();
	struct bpf_program *prog;

	if (!skeleton)
		return false;
	bpf_object__for_each_program(prog, skeleton->obj)
		bpf_program__set_autoload(prog, false);
	way->skeleton = skeleton;
	way->programs = (struct uprobes_programs){
		.session = skeleton->progs.nothing_session,
		.entry = skeleton->progs.nothing_entry,
		.ret = skeleton->progs.nothing_ret,
	};
	return !uprobes_prepare_mode(&way->programs, way->mode) && !probes_bpf__load(skeleton);
}

static struct uprobes *attach_way(const struct way *way, struct uprobe_point *points, size_t n)
{
	struct uprobes *uprobes;

	for (size_t i = 0; i < n; i++)
		points[i].wants_return &= way->wants_return;
	uprobes = uprobes_attach(&way->programs, getpid(), points, n);
	if (!uprobes)
		msg_errno(-errno, "attaching by %s", way->name);
	return uprobes;
}

/* ---- single instructions ---- */

static bool find_point(struct uprobe_point *point, int fd, body_fn *probed)
{
	uint64_t addr = (uintptr_t)probed;
	struct mappings maps;
	const struct mapping *m;

	if (mappings_read(&maps, getpid()))
		return false;
	m = mappings_find(&maps, addr);
	*point = (struct uprobe_point){ .fd = fd, .wants_return = true };
	point->offset = m ? addr - m->start + m->offset : 0;
	mappings_free(&maps);
	return m;
}

static double measure_probed(const struct way *way, const struct instruction *i, int fd)
{
	struct uprobe_point point;
	struct uprobes *uprobes;
	double ns = 0;

	if (!find_point(&point, fd, i->probed))
		return 0;
	uprobes = attach_way(way, &point, 1);
	if (uprobes)
		ns = measure_ns(i->body);
	uprobes_detach(uprobes);
	return ns;
}

static void print_instruction(const struct instruction *instruction, int fd)
{
	double bare[MAX_ROUNDS] = { 0 }, probed[ARRAY_SIZE(ways)][MAX_ROUNDS] = { 0 };

	for (int round = 0; round < n_rounds; round++) {
		bare[round] = measure_ns(instruction->body);
		for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
			probed[w][round] =
				ways[w].skeleton ? measure_probed(&ways[w], instruction, fd) : 0;
	}
	printf("%-9s", instruction->name);
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		printf(" %13.0f", median_of(probed[w]) - median_of(bare));
	putchar('\n');
}

static void print_instructions(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	printf("%-9s", "ns/hit");
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		printf(" %13s", ways[w].name);
	putchar('\n');
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++)
		print_instruction(&instructions[i], fd);
	close(fd);
}

/* ---- malloc and free ---- */

static void allocate(void)
{
	void *volatile p = malloc(64);

	free(p);
}

/* The functions of this pair only: others would not be called, and cost nothing. */
static size_t find_pair(struct allocators *a, bool at_zero, struct uprobe_point *points)
{
	struct allocators_request request = { .places_at_zero = at_zero, .may_move_args = true };
	size_t n = 0;

	allocators_scan(a, getpid(), &request);
	for (size_t i = 0; i < a->n_functions && n < MAX_POINTS; i++) {
		const struct alloc_function *f = &a->functions[i];

		if (f->kind != ALLOC_MALLOC && f->kind != ALLOC_FREE)
			continue;
		points[n++] = (struct uprobe_point){
			.fd = a->files[f->file].fd,
			.offset = f->offset + f->place.offset,
			.wants_return = alloc_kind_traits(f->kind)->wants_return,
		};
		printf("  %s of %s at +%u (%s)\n", f->name, a->files[f->file].path, f->place.offset,
		       probe_kind_name(f->place.kind));
	}
	return n;
}

static double measure_pair(const struct way *way, const struct uprobe_point *found, size_t n)
{
	struct uprobe_point points[MAX_POINTS];
	struct uprobes *uprobes;
	double ns = 0;

	memcpy(points, found, n * sizeof(*points));
	uprobes = attach_way(way, points, n);
	if (uprobes)
		ns = measure_ns(allocate);
	uprobes_detach(uprobes);
	return ns;
}

static void print_pair(void)
{
	struct allocators a[2] = { 0 };
	struct uprobe_point points[2][MAX_POINTS];
	size_t n[2];
	double bare[MAX_ROUNDS] = { 0 }, probed[ARRAY_SIZE(ways)][2][MAX_ROUNDS] = { 0 };

	puts("malloc+free, probed at:");
	for (int placed = 0; placed < 2; placed++)
		n[placed] = find_pair(&a[placed], !placed, points[placed]);
	for (int round = 0; round < n_rounds; round++) {
		bare[round] = measure_ns(allocate);
		for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
			for (int placed = 0; placed < 2; placed++)
				probed[w][placed][round] =
					ways[w].skeleton
						? measure_pair(&ways[w], points[placed], n[placed])
						: 0;
	}
	printf("ns per pair without probes: %.0f\n", median_of(bare));
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		printf("%-13s at the entry %7.0f, placed %7.0f: %.1f times less\n", ways[w].name,
		       median_of(probed[w][0]) - median_of(bare),
		       median_of(probed[w][1]) - median_of(bare),
		       (median_of(probed[w][0]) - median_of(bare)) /
			       (median_of(probed[w][1]) - median_of(bare)));
	allocators_free(&a[0]);
	allocators_free(&a[1]);
}

int main(int argc, char **argv)
{
	msg_set_name("cost");
	if (argc > 1)
		n_rounds = atoi(argv[1]);
	if (n_rounds < 1 || n_rounds > MAX_ROUNDS)
		return 2;
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		if (!open_way(&ways[w])) {
			printf("%s: not on this kernel\n", ways[w].name);
			probes_bpf__destroy(ways[w].skeleton);
			ways[w].skeleton = NULL;
		}
	print_instructions();
	print_pair();
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
		probes_bpf__destroy(ways[w].skeleton);
	return 0;
}
