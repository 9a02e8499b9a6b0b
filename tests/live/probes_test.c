// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on the functions of real allocators. Each function is probed twice at the same time, where
 * probe_place.h puts the probe and at its first instruction: entries, returns, arguments and
 * what is returned must be the same, call by call. Libraries that aren't installed are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "memleak/allocators.h"
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
		};
	}
	uprobes = uprobes_attach(&p->programs, pid, points, a->n_functions);
	for (size_t i = 0; i < a->n_functions; i++)
		if (points[i].err)
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

/* Two points of each function: number i where it was placed, number n + i at its beginning. */
static void attach_both(struct probing *p, pid_t pid)
{
	struct allocators_wish placed = { .may_move_args = true },
			       zero = { .places_at_zero = true };
	int n = allocators_scan(&p->found, pid, &placed);

	CHECK(n > 0);
	CHECK_EQ(allocators_scan(&p->at_zero, pid, &zero), n);
	CHECK(2 * n <= PROBES_MAX);
	if (n <= 0 || 2 * n > PROBES_MAX)
		return;
	p->placed = attach(p, &p->found, pid, 0);
	p->zero = attach(p, &p->at_zero, pid, (size_t)n);
	CHECK(p->placed && p->zero);
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

	if (!is_same(placed, zero, traits->n_args))
		UNIT_FAIL("%s+%u (%s): %llu entries, %llu returns; at its beginning %llu and %llu, "
			  "arguments %llx and %llx, returned %llx and %llx",
			  f->name, f->place.offset, probe_kind_name(f->place.kind), placed->entries,
			  placed->returns, zero->entries, zero->returns, placed->arg_sums[0],
			  zero->arg_sums[0], placed->return_sum, zero->return_sum);
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
static void check_calls(const struct probing *p, const char *told)
{
	for (enum alloc_kind kind = 0; kind < ALLOC_KINDS; kind++) {
		const char *name = alloc_kind_traits(kind)->name;
		uint64_t entries = entries_of(p, kind), calls = work_value(told, "allocs", name);

		if (entries < calls)
			UNIT_FAIL("%s: %llu entries of %llu calls", name,
				  (unsigned long long)entries, (unsigned long long)calls);
	}
}

static bool preload(void *arg)
{
	return !setenv("LD_PRELOAD", arg, 1);
}

/* Runs the workload under probes until it is done. */
static struct proc *run_probed(struct probing *p, const char *program, const char *library)
{
	struct proc *work = work_start_in(library ? preload : NULL, (void *)library,
					  work_path(program), ARGV(program));

	attach_both(p, work->pid);
	work_do(work);
	for (size_t i = 0; i < p->found.n_functions; i++)
		check_function(p, i);
	check_calls(p, work->out);
	return work;
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
	struct probing p;

	if (library && !path)
		SKIP("needs package with %s", library);
	NEED_FILE(work_path(program), "musl-tools");
	if (!load_programs(&p, mode))
		SKIP("this kernel has no %s", uprobes_mode_name(mode));
	run_probed(&p, program, path);
	if (library)
		CHECK(has_function_of(&p, library));
	detach(&p);
}

TEST(each_call_of_libc_is_seen_once_by_session)
{
	check_library("allocs", NULL, UPROBES_SESSION);
}

TEST(each_call_of_libc_is_seen_once_by_multi)
{
	check_library("allocs", NULL, UPROBES_MULTI);
}

TEST(each_call_of_libc_is_seen_once_by_perf_events)
{
	check_library("allocs", NULL, UPROBES_PERF);
}

TEST(each_call_of_jemalloc_is_seen_once)
{
	check_library("allocs", "libjemalloc.so.2", UPROBES_SESSION);
}

TEST(each_call_of_tcmalloc_is_seen_once)
{
	check_library("allocs", "libtcmalloc_minimal.so.4", UPROBES_SESSION);
}

TEST(each_call_of_mimalloc_is_seen_once)
{
	check_library("allocs", "libmimalloc.so.2", UPROBES_SESSION);
}

TEST(each_call_of_libstdcxx_is_seen_once)
{
	check_library("allocs", "libstdc++.so.6", UPROBES_SESSION);
}

TEST(each_call_of_musl_is_seen_once)
{
	check_library("allocs-musl", NULL, UPROBES_SESSION);
}

TEST(each_call_in_a_static_program_is_seen_once)
{
	check_library("allocs-static", NULL, UPROBES_SESSION);
}
