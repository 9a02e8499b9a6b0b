// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on the functions of real allocators. Each function is probed twice at the same time, where
 * probe_place.h puts the probe and at its first instruction: entries, returns, arguments and
 * what is returned must be the same, call by call. Libraries that aren't installed are skipped.
 * And which instructions take a probe at all.
 */
#include "base/array.h"
#include "base/mem.h"
#include "memleak/allocators.h"
#include "probes/probe_machine.h"
#include "probes/uprobes.h"
#include "live.h"
#include "probes.h"
#include "probes.skel.h"

struct probing {
	struct probes_bpf *skel;
	struct uprobes_programs programs;
	struct allocators found, at_zero;
	struct uprobes *placed, *zero;
};

static void open_programs(struct probing *p)
{
	p->skel = probes_bpf__open();
	if (!p->skel)
		abort();
	p->programs = (struct uprobes_programs){
		.session = p->skel->progs.probes_session,
		.entry = p->skel->progs.probes_entry,
		.ret = p->skel->progs.probes_ret,
		.brief = p->skel->progs.probes_brief,
	};
	bpf_program__set_autoload(p->skel->progs.nothing_session, false);
	bpf_program__set_autoload(p->skel->progs.nothing_entry, false);
	bpf_program__set_autoload(p->skel->progs.nothing_ret, false);
}

/* False: the kernel doesn't have the mode. */
static bool load_programs(struct probing *p, enum uprobes_mode mode)
{
	*p = (struct probing){ 0 };
	open_programs(p);
	if (uprobes_prepare_mode(&p->programs, mode) || probes_bpf__load(p->skel)) {
		probes_bpf__destroy(p->skel);
		return false;
	}
	return true;
}

static uint64_t cookie_of(const struct alloc_function *f, size_t number)
{
	uint64_t cookie = number;

	for (int i = 0; i < PROBES_ARGS; i++)
		cookie |= (uint64_t)f->place.args[i] << PROBES_ARG_SHIFT(i);
	return alloc_kind_traits(f->kind)->wants_return ? cookie : cookie | PROBES_NO_RETURN;
}

/* Probes of free() have the brief program; those at functions' beginnings don't, for comparison. */
static bool is_brief(enum alloc_kind kind)
{
	return kind == ALLOC_FREE;
}

static struct uprobes *attach(struct probing *p, const struct allocators *a, pid_t pid,
			      size_t first_number)
{
	struct uprobe_point *points = mem_zalloc(a->n_functions, sizeof(*points));
	struct uprobes *uprobes;

	for (size_t i = 0; i < a->n_functions; i++) {
		const struct alloc_function *f = &a->functions[i];

		points[i] = (struct uprobe_point){
			.fd = a->files[f->file].fd,
			.offset = f->offset + f->place.offset,
			.cookie = cookie_of(f, first_number + i),
			.wants_return = alloc_kind_traits(f->kind)->wants_return,
			.is_brief = a == &p->found && is_brief(f->kind),
		};
	}
	uprobes = uprobes_attach(&p->programs, pid, points, a->n_functions);
	for (size_t i = 0; i < a->n_functions; i++)
		if (points[i].err && a->functions[i].place.kind != PROBE_REFUSED)
			UNIT_FAIL("%s can't be attached: %d", a->functions[i].name, points[i].err);
	free(points);
	return uprobes;
}

static void detach(struct probing *p)
{
	uprobes_detach(p->placed);
	uprobes_detach(p->zero);
	allocators_free(&p->found);
	allocators_free(&p->at_zero);
	probes_bpf__destroy(p->skel);
}

static int attach_placed(struct probing *p, pid_t pid)
{
	struct allocators_request placed = { .may_move_args = true };
	int n = allocators_scan(&p->found, pid, &placed);

	CHECK(n > 0);
	if (n > 0)
		p->placed = attach(p, &p->found, pid, 0);
	CHECK(p->placed);
	return n;
}

/* Two points of each function: number i where it was placed, number n + i at its beginning. */
static void attach_both(struct probing *p, pid_t pid)
{
	struct allocators_request zero = { .places_at_zero = true };
	int n = attach_placed(p, pid);

	CHECK_EQ(allocators_scan(&p->at_zero, pid, &zero), n);
	CHECK(2 * n <= PROBES_MAX);
	if (n <= 0 || 2 * n > PROBES_MAX)
		return;
	p->zero = attach(p, &p->at_zero, pid, (size_t)n);
	CHECK(p->zero);
}

static const struct probes_count *count_of(const struct probing *p, size_t i, bool at_zero)
{
	return &p->skel->data_counts->counts[i + (at_zero ? p->found.n_functions : 0)];
}

/* Only the arguments that matter are kept track of. */
static bool is_same(const struct probes_count *a, const struct probes_count *b, unsigned int n_args)
{
	for (unsigned int i = 0; i < n_args && i < PROBES_ARGS; i++)
		if (a->arg_sums[i] != b->arg_sums[i])
			return false;
	return a->entries == b->entries && a->returns == b->returns &&
	       a->return_sum == b->return_sum;
}

static void check_function(const struct probing *p, size_t i)
{
	const struct alloc_function *f = &p->found.functions[i];
	const struct alloc_traits *traits = alloc_kind_traits(f->kind);
	const struct probes_count *placed = count_of(p, i, false), *zero = count_of(p, i, true);

	if (p->zero && !is_same(placed, zero, traits->n_args))
		UNIT_FAIL("%s+%u (%s): %llu entries, %llu returns; at its beginning %llu and %llu, "
			  "arguments %llx and %llx, returned %llx and %llx",
			  f->name, f->place.offset, probe_kind_name(f->place.kind), placed->entries,
			  placed->returns, zero->entries, zero->returns, placed->arg_sums[0],
			  zero->arg_sums[0], placed->return_sum, zero->return_sum);
	if (placed->briefs != (is_brief(f->kind) ? placed->entries : 0) || zero->briefs)
		UNIT_FAIL("%s: %llu entries, of which the brief program has %llu", f->name,
			  placed->entries, placed->briefs);
	if (placed->returns != (traits->wants_return ? placed->entries : 0))
		UNIT_FAIL("%s: %llu entries but %llu returns", f->name, placed->entries,
			  placed->returns);
}

static uint64_t entries_of(const struct probing *p, enum alloc_kind kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->found.n_functions; i++)
		if (p->found.functions[i].kind == kind)
			sum += count_of(p, i, false)->entries;
	return sum;
}

/* Functions may call each other, so there can be more. */
static void check_calls(const struct probing *p, const struct proc *work)
{
	for (enum alloc_kind kind = 0; kind < ALLOC_KINDS; kind++) {
		const char *name = alloc_kind_traits(kind)->name;
		uint64_t entries = entries_of(p, kind);
		uint64_t calls = work_value(work->out, NULL, name);

		if (entries < calls)
			UNIT_FAIL("%s: %llu entries of %llu calls", name,
				  (unsigned long long)entries, (unsigned long long)calls);
	}
}

static bool preload(void *arg)
{
	return !setenv("LD_PRELOAD", arg, 1);
}

/* The workload does its calls under probes. */
static void run_probed(struct probing *p, struct proc *work)
{
	work_do(work);
	for (size_t i = 0; i < p->found.n_functions; i++)
		check_function(p, i);
	check_calls(p, work);
}

static bool has_function_of(const struct probing *p, const char *path)
{
	for (size_t i = 0; i < p->found.n_functions; i++)
		if (strstr(p->found.files[p->found.functions[i].file].path, path))
			return true;
	return false;
}

static void check_library(const char *program, const char *library, enum uprobes_mode mode)
{
	const char *path = library ? library_path(library) : NULL;
	struct proc *work;
	struct probing p;

	if (library && !path)
		SKIP("needs package with %s", library);
	NEED_FILE(work_path(program), "musl-tools");
	if (!load_programs(&p, mode))
		SKIP("this kernel has no %s", uprobes_mode_name(mode));
	work = work_start_in(path ? preload : NULL, (void *)path, work_path(program),
			     ARGV(program));
	attach_both(&p, work->pid);
	run_probed(&p, work);
	if (library)
		CHECK(has_function_of(&p, library));
	detach(&p);
}

#define CALLS_TEST(id, program, library, mode)         \
	TEST(each_call_##id)                           \
	{                                              \
		check_library(program, library, mode); \
	}

CALLS_TEST(of_libc_is_seen_once_by_session, "allocs", NULL, UPROBES_SESSION)
CALLS_TEST(of_libc_is_seen_once_by_multi, "allocs", NULL, UPROBES_MULTI)
CALLS_TEST(of_libc_is_seen_once_by_perf_events, "allocs", NULL, UPROBES_PERF)
CALLS_TEST(of_jemalloc_is_seen_once, "allocs", "libjemalloc.so.2", UPROBES_SESSION)
CALLS_TEST(of_tcmalloc_is_seen_once, "allocs", "libtcmalloc_minimal.so.4", UPROBES_SESSION)
CALLS_TEST(of_mimalloc_is_seen_once, "allocs", "libmimalloc.so.2", UPROBES_SESSION)
CALLS_TEST(of_libstdcxx_is_seen_once, "allocs", "libstdc++.so.6", UPROBES_SESSION)
CALLS_TEST(of_musl_is_seen_once, "allocs-musl", NULL, UPROBES_SESSION)
CALLS_TEST(in_a_static_program_is_seen_once, "allocs-static", NULL, UPROBES_SESSION)

/* Their returns are probed before what they return to is signed. */
CALLS_TEST(of_signed_functions_is_seen_once_by_session, "signed", NULL, UPROBES_SESSION)
CALLS_TEST(of_signed_functions_is_seen_once_by_perf_events, "signed", NULL, UPROBES_PERF)

/* So it isn't probed twice. */
TEST(a_first_instruction_that_takes_no_probe_is_passed)
{
	struct probing p;
	struct proc *work;

	if (!load_programs(&p, UPROBES_PERF))
		SKIP("this kernel has no %s", uprobes_mode_name(UPROBES_PERF));
	work = work_start("literal");
	attach_placed(&p, work->pid);
	run_probed(&p, work);
	CHECK(has_function_of(&p, "literal"));
	detach(&p);
}

/* ---- which instructions take a probe ---- */

struct instruction {
	uint32_t word;
	const char *text;
};

/* Instructions of arm64 that take probes; kernels of x86-64 take them on nearly everything. */
static const struct instruction taken[] = {
	{ 0x14000010, "b .+64" },
	{ 0x94000010, "bl .+64" },
	{ 0x54000201, "b.ne .+64" },
	{ 0xb4000200, "cbz x0, .+64" },
	{ 0x37180200, "tbnz w0, #3, .+64" },
	{ 0xd61f0200, "br x16" },
	{ 0xd63f0020, "blr x1" },
	{ 0xd65f03c0, "ret" },
	{ 0x10000203, "adr x3, .+64" },
	{ 0x90000003, "adrp x3, .+65536" },
	{ 0xd503201f, "nop" },
	{ 0xa9bc7bfd, "stp x29, x30, [sp, #-64]!" },
	{ 0xd503245f, "bti c" },
	{ 0xd50324df, "bti jc" },
	{ 0xd503233f, "paciasp" },
	{ 0xd503237f, "pacibsp" },
	{ 0xd503231f, "paciaz" },
	{ 0xd50320ff, "xpaclri" },
	{ 0xd53bd041, "mrs x1, tpidr_el0" },
	{ 0xd5033bbf, "dmb ish" },
	{ 0xd5033fdf, "isb" },
	{ 0xd50b7420, "dc zva, x0" },
	{ 0xaa0003e1, "mov x1, x0" },
	{ 0x3dc00020, "ldr q0, [x1]" },
	{ 0xf8218002, "swp x1, x2, [x0]" },
	{ 0xc8dffc01, "ldar x1, [x0]" },
};
static const struct instruction refused[] = {
	{ 0xd4000001, "svc #0" },
	{ 0xd4200020, "brk #1" },
	{ 0xd8000200, "prfm pldl1keep, .+64" },
	{ 0xc85f7c01, "ldxr x1, [x0]" },
	{ 0xc87f8801, "ldaxp x1, x2, [x0]" },
	{ 0xc801fc02, "stlxr w1, x2, [x0]" },
	{ 0xd71f0822, "braa x1, x2" },
	{ 0xd65f0bff, "retaa" },
	{ 0xd50323bf, "autiasp" },
	{ 0xd503203f, "yield" },
	{ 0xd503251f, "hint #40" },
	{ 0xd51b4400, "msr fpcr, x0" },
};

/* Some kernels take a probe there, and do something wrong when it is hit. */
static const struct instruction dubious[] = {
	{ 0x98000201, "ldrsw x1, .+64" },
	{ 0x58000201, "ldr x1, .+64" },
	{ 0x9c000201, "ldr q1, .+64" },
	{ 0x54000211, "bc.ne .+64" },
	{ 0x19010440, "cpyfp [x0]!, [x1]!, x2!" },
};

static enum probe_kind kind_of(const struct instruction *instruction)
{
	struct probe_request request = { 0 };
	struct probe_place place;
	uint8_t code[sizeof(instruction->word)];

	memcpy(code, &instruction->word, sizeof(code));
	probe_place_find_on(&probe_machine_arm64, &place, &request, code, sizeof(code));
	return place.kind;
}

/* In a page of code that is mapped here, as the kernel looks at it then, and never executed. */
static int try_instruction(const struct probing *p, const struct instruction *instruction)
{
	struct uprobe_point point = { .fd = memfd_create("instruction", MFD_CLOEXEC) };
	struct uprobes *uprobes;
	void *code;
	int err;

	CHECK(!ftruncate(point.fd, 4096));
	CHECK(pwrite(point.fd, &instruction->word, sizeof(instruction->word), 0) > 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, point.fd, 0);
	CHECK(code != MAP_FAILED);
	uprobes = uprobes_attach(&p->programs, getpid(), &point, 1);
	err = uprobes ? 0 : -errno;
	uprobes_detach(uprobes);
	munmap(code, 4096);
	close(point.fd);
	return err;
}

static void check_instructions(const struct probing *p, const struct instruction *instructions,
			       size_t n, int expected)
{
	for (size_t i = 0; i < n; i++) {
		int err = try_instruction(p, &instructions[i]);

		if (err != expected)
			UNIT_FAIL("a probe on %s: %d, not %d", instructions[i].text, err, expected);
		if ((kind_of(&instructions[i]) == PROBE_REFUSED) != !!expected)
			UNIT_FAIL("%s is taken for the other kind", instructions[i].text);
	}
}

TEST(the_kernel_takes_probes_where_they_are_placed)
{
	struct probing p;

#if !defined(__aarch64__)
	SKIP("about arm64");
#endif
	if (!load_programs(&p, UPROBES_SESSION) && !load_programs(&p, UPROBES_PERF))
		SKIP("this kernel has no uprobes with cookies");
	check_instructions(&p, taken, ARRAY_SIZE(taken), 0);
	check_instructions(&p, refused, ARRAY_SIZE(refused), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(dubious); i++)
		CHECK_EQ(kind_of(&dubious[i]), PROBE_REFUSED);
	detach(&p);
}
