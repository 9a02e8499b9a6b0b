// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on the functions of real allocators. Each function is probed twice at the same time, where
 * probe_place.h puts the probe and at its first instruction: entries, returns, arguments and
 * what is returned must be the same, call by call. Libraries that aren't installed are skipped.
 * And which instructions take a probe at all.
 */
#include "memleak/allocators.h"
#include "probes/uprobes.h"
#include "../unit/arm64_insns.h"
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

/* In a page of code that is mapped here, as the kernel looks at it then, and never executed. */
static int try_instruction(const struct probing *p, uint32_t word)
{
	struct uprobe_point point = { .fd = memfd_create("instruction", MFD_CLOEXEC) };
	struct uprobes *uprobes;
	void *code;
	int err;

	CHECK(!ftruncate(point.fd, 4096));
	CHECK(pwrite(point.fd, &word, sizeof(word), 0) > 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, point.fd, 0);
	CHECK(code != MAP_FAILED);
	uprobes = uprobes_attach(&p->programs, getpid(), &point, 1);
	err = uprobes ? 0 : -errno;
	uprobes_detach(uprobes);
	munmap(code, 4096);
	close(point.fd);
	return err;
}

/* Kernels of x86-64 take probes on nearly everything. */
TEST(the_kernel_takes_probes_where_they_are_placed)
{
	struct probing p;

#if !defined(__aarch64__)
	SKIP("about arm64");
#endif
	if (!load_programs(&p, UPROBES_SESSION) && !load_programs(&p, UPROBES_PERF))
		SKIP("this kernel has no uprobes with cookies");
	for (size_t i = 0; i < ARRAY_SIZE(arm64_insns); i++) {
		const struct arm64_insn *insn = &arm64_insns[i];

		if (!insn->is_dubious)
			CHECK_CASE(insn->text, try_instruction(&p, insn->word),
				   insn->kind == PROBE_REFUSED ? -EINVAL : 0);
	}
	detach(&p);
}
