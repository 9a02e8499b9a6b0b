// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's page-fault events; see faultevents.h. */
#include <string.h>

#include "abi/pagefaults.h"
#include "base/array.h"
#include "base/msg.h"
#include "modules/cpuevents.h"
#include "pagefaults/faultevents.h"
#include "run/bpfmap.h"

struct faultevents {
	bool minor_only, major_only, anon_only, file_only;
	bool is_attached;
	bool is_one_program; /* one program counts both kinds, by its cookie */
	struct cpu_events events;
};

static const struct opt fault_opts[] = {
	{ 0, "minor", NULL, OPT_FLAG(struct faultevents, minor_only),
	  "count only minor faults (served without I/O)", "major" },
	{ 0, "major", NULL, OPT_FLAG(struct faultevents, major_only),
	  "count only major faults (read from a file or swap)" },
	{ 0, "anon", NULL, OPT_FLAG(struct faultevents, anon_only),
	  "count only faults in anonymous memory (heap, stack)", "file" },
	{ 0, "file", NULL, OPT_FLAG(struct faultevents, file_only),
	  "count only faults in mapped files and shared memory" },
	{},
};

DEFINE_STATE(struct faultevents, faultevents_of, faultevents_module)

bool faults_want_minor(const struct run *run)
{
	return !faultevents_of(run)->major_only;
}

bool faults_want_major(const struct run *run)
{
	return !faultevents_of(run)->minor_only;
}

uint32_t faults_wanted_kinds(const struct run *run)
{
	uint32_t anon = 1U << AREA_ANON | 1U << AREA_HEAP | 1U << AREA_STACK | 1U << AREA_SPECIAL;
	uint32_t file = 1U << AREA_FILE | 1U << AREA_SHMEM | 1U << AREA_HUGE;
	const struct faultevents *faults = faultevents_of(run);

	return faults->anon_only ? anon : faults->file_only ? file : AREA_ALL_KINDS;
}

/* ---- programs ---- */

static const char *programs_of(const struct run *run)
{
	const struct faultevents_spec *spec = run_spec(run, &faultevents_module);

	return spec->programs(run);
}

static void leave_out_program(const struct run *run, const char *name, const char *suffix)
{
	char program[32];

	snprintf(program, sizeof(program), "%s_%s", name, suffix);
	program_leave_out(run, program);
}

static bool have_cookies(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_get_attach_cookie,
				       NULL) == 1;
}

static void choose_programs(const struct run *run, const char *name, bool is_wanted)
{
	bool is_one = faultevents_of(run)->is_one_program;

	if (!is_wanted || !is_one)
		leave_out_program(run, name, "both");
	if (!is_wanted || is_one || !faults_want_minor(run))
		leave_out_program(run, name, "minor");
	if (!is_wanted || is_one || !faults_want_major(run))
		leave_out_program(run, name, "major");
}

static int configure_events(struct run *run)
{
	static const char *const names[] = { "stack", "row" };
	const char *wanted = programs_of(run);

	faultevents_of(run)->is_one_program =
		wanted && faults_want_minor(run) && faults_want_major(run) && have_cookies();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		choose_programs(run, names[i], wanted && !strcmp(wanted, names[i]));
	return 0;
}

/* ---- events ---- */

/* Attaches a program to each event of a kind, with the faulting address. */
static int attach_event(struct run *run, uint64_t config, const char *suffix, uint64_t cookie)
{
	struct faultevents *faults = faultevents_of(run);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.disabled = 1,
	};
	char program[32];

	snprintf(program, sizeof(program), "%s_%s", programs_of(run),
		 faults->is_one_program ? "both" : suffix);
	return cpu_events_open(&faults->events, &attr, ALL_CPUS,
			       bpf_object__find_program_by_name(run->object, program),
			       faults->is_one_program ? cookie : 0);
}

static int attach_events(struct run *run)
{
	struct faultevents *faults = faultevents_of(run);
	int err = 0;

	if (!programs_of(run))
		return 0;
	faults->is_attached = true;
	cpu_events_watch(&faults->events, run->loop);
	if (faults_want_minor(run))
		err = attach_event(run, PERF_COUNT_SW_PAGE_FAULTS_MIN, "minor", 0);
	if (!err && faults_want_major(run))
		err = attach_event(run, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "major", 1);
	return err;
}

static void replace_program(struct run *run, const struct bpf_program *former,
			    const struct bpf_program *program)
{
	cpu_events_replace(&faultevents_of(run)->events, former, program);
}

/* Reads the totals of all CPUs. */
static struct fault_seen read_seen(const struct run *run)
{
	struct fault_seen all;

	map_sum_cpus(run, "faults_seen", &all, sizeof(all) / sizeof(uint64_t));
	return all;
}

/* Updates the number of missed events, which never decreases. Returns the counts. */
static struct fault_seen compare(struct run *run, uint64_t came)
{
	struct fault_seen seen = read_seen(run);

	if (came > seen.total + run->losses.missed)
		run->losses.missed = came - seen.total;
	return seen;
}

void faults_count_missed(struct run *run)
{
	struct faultevents *faults = faultevents_of(run);

	if (faults->is_attached)
		compare(run, cpu_events_count(&faults->events));
}

static void stop_events(struct run *run)
{
	struct faultevents *faults = faultevents_of(run);
	uint64_t came = cpu_events_close(&faults->events);
	struct fault_seen seen;

	if (!faults->is_attached)
		return;
	faults->is_attached = false;
	seen = compare(run, came);
	if (came > seen.total)
		msg_warn("%llu of %llu page faults in the system not counted: another BPF "
			 "program was running on that CPU",
			 (unsigned long long)(came - seen.total), (unsigned long long)came);
	if (seen.unknown)
		msg_warn("%llu faults in memory of unknown kind (not counted with --anon or "
			 "--file)",
			 (unsigned long long)seen.unknown);
}

const struct module faultevents_module = {
	.title = "faults",
	.opts = fault_opts,
	.state = ZEROES(struct faultevents),
	.configure = configure_events,
	.attach = attach_events,
	.replace = replace_program,
	.stop = stop_events,
};
