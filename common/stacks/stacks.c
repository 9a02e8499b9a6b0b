// SPDX-License-Identifier: GPL-2.0-only
/* The module of all stack tools; see stacks.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/waits.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/cgroup_filter.h"
#include "modules/kernelnames.h"
#include "modules/target.h"
#include "modules/topview.h"
#include "output/remarks.h"
#include "output/writer.h"
#include "process/process_usage.h"
#include "process/procstate.h"
#include "run/loss.h"
#include "run/bpf_object.h"
#include "run/run.h"
#include "stacks/stack_counts.h"
#include "stacks/stack_memory.h"
#include "stacks/stack_profile.h"
#include "stacks/stack_rings.h"
#include "stacks/stacks.h"
#include "stacks/user_stacks.h"
#include "symbols/dso.h"

/* ---- own programs ---- */

#define FUNCTIONS_MAX 256 /* the verifier's limit per program */

struct addrs {
	uint64_t *items;
	size_t count, cap;
};

static void add_program(const struct bpf_program *program, void *arg)
{
	__u64 starts[FUNCTIONS_MAX] = {};
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)starts,
		.nr_jited_ksyms = FUNCTIONS_MAX,
	};
	int fd = bpf_program__fd(program);
	struct addrs *addrs = arg;
	__u32 size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	for (__u32 i = 0; i < info.nr_jited_ksyms && i < FUNCTIONS_MAX; i++) {
		if (!starts[i])
			continue;
		*MEM_APPEND(addrs->items, addrs->count, addrs->cap) = starts[i];
	}
}

/*
 * Finds the start addresses of all functions of the tool's programs, as in /proc/kallsyms; none if
 * the kernel interprets the programs, or hides addresses.
 */
static void find_own(const struct run *run, struct resolver *resolver)
{
	struct addrs addrs = {};

	object_visit_programs(run, add_program, &addrs);
	resolver_set_own(resolver, addrs.items, addrs.count);
}

/* ---- stack format ---- */

/*
 * Returns the writer for -f, --format or the output file's extension, else the default for standard
 * output; for metrics pprof's, which is as exact. usual: the default; NULL: by the output. NULL: no
 * such writer, printed.
 */
static const struct writer *stack_format_choose(const struct run *run, bool is_folded,
						const struct writer *usual)
{
	static const char *const about_frames[] = {
		"only",	     "without",	    "user-stacks-only", "kernel-stacks-only",
		"delimited", "lines",	    "no-demangle",	"no-runtimes",
		"no-python", "symbols-mem", "unwind",		"unwind-mem",
		NULL
	};
	const char *format = is_folded ? folded_writer.name : run->format;
	bool is_terminal = !run->output_path && isatty(STDOUT_FILENO);
	const struct writer *writer;

	if (run->is_metrics)
		return run_refuse_in_metrics(run, about_frames) ? NULL : &pprof_writer;
	if (!format && !run->output_path)
		return usual ? usual : is_terminal ? &text_writer : &folded_writer;
	writer = format ? writer_by_name(format) : writer_by_extension(run->output_path);
	if (!writer && format)
		msg_error("--format: '%s' is not one of %s", format, writer_names());
	else if (!writer)
		msg_error("--output %s: unknown extension (use .txt, .md, .html, .folded, .svg, "
			  ".pb.gz, .json, .csv, .firefox.json or .heatmap.svg, or --format: %s)",
			  run->output_path, writer_names());
	if (writer != &pprof_writer || !is_terminal)
		return writer;
	msg_error("--format pprof: binary output is not written to a terminal (use --output FILE)");
	return NULL;
}

/* ---- report memory ---- */

/* Memory of reports; little of it is retained in between. */

/* Value without --symbols-mem. */
#define SYMBOLS_MEM_NOT_GIVEN UINT64_MAX

#define ONCE_BYTES	 (256ULL << 20)
#define AGAIN_BYTES	 (2ULL << 20) /* most names are cached from earlier reports */
#define LONG_INTERVAL_NS (5 * NS_PER_S)

/*
 * Sets the memory limit of symbol tables if it was not given, once options are checked. Debug
 * information takes far more memory, and takes long to read again.
 */
static void report_memory_choose(const struct run *run, struct dso_options *symbols)
{
	bool is_small = run->interval_ns && !symbols->lines;

	if (symbols->max_bytes != SYMBOLS_MEM_NOT_GIVEN)
		return;
	symbols->max_bytes = is_small ? AGAIN_BYTES : ONCE_BYTES;
	symbols->drops_all = is_small && run->interval_ns >= LONG_INTERVAL_NS;
}

static bool goes_on(const struct run *run)
{
	return run->interval_ns && !run->is_last;
}

/* Retains freed small blocks during a report; report_memory_end() returns them to the system. */
static void report_memory_begin(const struct run *run)
{
	if (goes_on(run))
		mem_keep_small();
}

static void report_memory_end(const struct run *run)
{
	if (goes_on(run))
		mem_give_back();
}

/* ---- stacks ---- */

#define SUMS_AT_ONCE 64
#define COMM_BYTES   64 /* more than a thread's name has */

struct stacks {
	bool user_only, kernel_only, folded, no_runtimes;
	struct name_filter names;
	struct writer_style style;
	struct dso_options symbols;
	struct stack_counts counts;

	const struct writer *writer;
	struct resolver *resolver;
	struct user_stacks *user_stacks;
	struct cgroups *cgroups;	 /* NULL: samples have no cgroup */
	struct kernelnames *kernelnames; /* NULL: not needed, or the kernel can't be queried */
	struct stack_rings rings;
	struct stack_reasons reasons; /* totals of all reports: reasons, left_out and flaws */
	struct left_out left_out;
	struct stack_flaws *flaws;
	unsigned int n_begun;	    /* number of output files begun */
	struct profile *event;	    /* contains the last single event; NULL: none */
	uint64_t events_aged_ns;    /* time of the last resolver_end_report() for single events */
	struct process_usage usage; /* target's usage when the report's window began; only for md */
};

static const struct stacks defaults = {
	.symbols.max_bytes = SYMBOLS_MEM_NOT_GIVEN,
	.counts = STACK_COUNTS_DEFAULTS,
};

static const struct opt stacks_opts[] = {
	{ 'U', "user-stacks-only", NULL, OPT_FLAG(struct stacks, user_only), "omit kernel frames",
	  "kernel-stacks-only" },
	{ 'K', "kernel-stacks-only", NULL, OPT_FLAG(struct stacks, kernel_only),
	  "omit user frames" },
	{ 'd', "delimited", NULL, OPT_FLAG(struct stacks, style.delimiter),
	  "print a delimiter between kernel and user frames" },
	{ 'f', "folded", NULL, OPT_FLAG(struct stacks, folded),
	  "print one line per stack (input for flame graphs)", "format" },
	{ 0, "only", "REGEX", OPT_LIST(struct stacks, names.only, name_patterns_parse),
	  "keep stacks that contain a matching frame (repeatable)" },
	{ 0, "without", "REGEX", OPT_LIST(struct stacks, names.without, name_patterns_parse),
	  "drop stacks that contain a matching frame (repeatable)" },
	{ 0, "lines", NULL, OPT_FLAG(struct stacks, symbols.lines),
	  "show source lines and inlined functions (needs debug info)" },
	{ 0, "no-demangle", NULL, OPT_FLAG(struct stacks, symbols.as_mangled),
	  "keep mangled C++ and Rust names" },
	{ 0, "no-runtimes", NULL, OPT_FLAG(struct stacks, no_runtimes),
	  "show native frames, not functions of Python, node and Java" },
	{ 0, "no-python", NULL, OPT_FLAG(struct stacks, no_runtimes), NULL },
	{ 0, "symbols-mem", "SIZE", OPT_SIZE(struct stacks, symbols.max_bytes),
	  "limit memory of symbols (default 256M; 2M with intervals)" },
	{ 0, "stack-storage-size", "N", OPT_UINT(struct stacks, counts.size, 1, 1 << 24),
	  "maximum distinct stacks per report (default 65536)" },
	{},
};

DEFINE_STATE(struct stacks, stacks_of, stacks_module)

static const struct stacks_spec *spec_of(const struct run *run)
{
	static const struct stacks_spec plain;
	const struct stacks_spec *spec = run_spec(run, &stacks_module);

	return spec ? spec : &plain;
}

/* Returns the predicate's result, or `otherwise` if there is no predicate. */
static bool decide(bool (*predicate)(const struct run *run), const struct run *run, bool otherwise)
{
	return predicate ? predicate(run) : otherwise;
}

/* Returns the source of values; NULL: the tables of stack_count(). */
static const struct stacks_source *source_of(const struct run *run)
{
	return spec_of(run)->source;
}

bool stacks_want_user(const struct run *run)
{
	return run_wants(run, &stacks_module) && !stacks_of(run)->kernel_only && !run->is_metrics &&
	       decide(spec_of(run)->wants_user, run, true);
}

bool stacks_options_are_given(const struct run *run)
{
	for (const struct opt *opt = stacks_opts; opt->name; opt++)
		if (run_given(run, opt->name))
			return true;
	return stacks_top_is_asked_for(run) || run_given(run, "unwind") ||
	       run_given(run, "unwind-mem");
}

bool stacks_are_text(const struct run *run)
{
	return stacks_of(run)->writer == &text_writer;
}

void stacks_define_thread(const struct run *run, const struct unwind_thread *thread)
{
	stack_rings_define_thread(&stacks_of(run)->rings, thread);
}

uint64_t stacks_define(const struct run *run, pid_t tgid, const uint64_t *words, size_t n,
		       int reason)
{
	return stack_rings_define(&stacks_of(run)->rings, tgid, words, n, reason);
}

void stacks_count(const struct run *run, const struct stack_key *key, const struct stack_sum *sum)
{
	stack_counts_add(&stacks_of(run)->counts, key, sum);
}

struct watch *stacks_watch(const struct run *run)
{
	return user_stacks_watch(stacks_of(run)->user_stacks);
}

void stacks_preload(const struct run *run, pid_t pid, uint32_t generation)
{
	resolver_preload(stacks_of(run)->resolver, pid, generation);
}

const struct frame *const *stacks_frames(const struct run *run, uint64_t id, size_t *n)
{
	return resolver_frames(stacks_of(run)->resolver, id, n);
}

uint64_t stacks_fold(const struct run *run, uint64_t id)
{
	return resolver_fold(stacks_of(run)->resolver, id);
}

const uint64_t *stacks_waker(const struct run *run, uint64_t id)
{
	return resolver_about(stacks_of(run)->resolver, id).waker;
}

struct processes *stacks_processes(const struct run *run)
{
	return user_stacks_processes(stacks_of(run)->user_stacks);
}

struct kernelnames *stacks_kernelnames(const struct run *run)
{
	return stacks_of(run)->kernelnames;
}

uint32_t stacks_entries(const struct run *run)
{
	return stacks_of(run)->counts.size;
}

bool stacks_show(const struct run *run, const char *comm, uint64_t id)
{
	struct name_filter *names = &stacks_of(run)->names;
	size_t n;
	const struct frame *const *frames = stacks_frames(run, id, &n);

	return name_filter_keeps(names, name_filter_judge(names, comm) |
						name_filter_judge_frames(names, frames, n));
}

/* ---- options ---- */

static const struct writer *usual_writer(const struct run *run)
{
	return spec_of(run)->usual_writer ? spec_of(run)->usual_writer(run) : NULL;
}

/* Refuses options and tools that formats of single events (firefox, heatmap) can't show. */
static int check_events(struct run *run)
{
	static const char *const options[] = { "blocked",    "runnable",      "per-cpu",
					       "goroutines", "per-goroutine", NULL };
	const char *format = stacks_of(run)->writer->name;

	if (!spec_of(run)->has_events)
		return msg_error("--format %s: %s has no single events (use profile or offcputime)",
				 format, run->tool->name);
	return run_refuse(run, options, "on single events (--format firefox, heatmap)");
}

static int check_stacks(struct run *run)
{
	struct stacks *stacks = stacks_of(run);

	if (!run_wants(run, &stacks_module))
		return 0;
	report_memory_choose(run, &stacks->symbols);
	if (stacks_top_is_asked_for(run)) {
		/* the view has the same values as text output */
		stacks->writer = &text_writer;
		return topview_check(run);
	}
	stacks->writer = stack_format_choose(run, stacks->folded, usual_writer(run));
	if (!stacks->writer)
		return -EINVAL;
	stacks->symbols.places = stacks->writer->is_exact;
	run->writer = stacks->writer;
	stacks->counts.in_time = stacks->writer->in_time;
	return stacks->writer->in_time ? check_events(run) : 0;
}

/* ---- before load ---- */

#define EVENTS_RING_BYTES (3 << 20) /* a power of two together with the definitions' space */

static int configure_user_stacks(struct run *run)
{
	struct stacks *stacks = stacks_of(run);
	const struct stacks_spec *spec = spec_of(run);
	struct user_stacks_options options = {
		.wanted = stacks_want_user(run),
		.hits_few = decide(spec->hits_few, run, false),
		.runtimes = !stacks->no_runtimes,
		.lines = stacks->symbols.lines,
		.walkers = spec->walkers,
		.keeps_programs = spec->keeps_programs,
	};

	stacks->user_stacks = user_stacks_new(run, &options);
	return stacks->user_stacks ? 0 : -EINVAL;
}

static int leave_out_stacks(struct run *run)
{
	stack_counts_leave_out(run, &stacks_of(run)->counts);
	map_leave_out(run, "stack_defs");
	map_leave_out(run, "stacks_sent");
	map_leave_out(run, "stack_scratch");
	stack_memory_leave_out(run);
	kernelnames_leave_out(run);
	return configure_user_stacks(run);
}

static void configure_counts(struct run *run, struct stack_counts *counts)
{
	if (source_of(run)) {
		stack_counts_leave_out(run, counts);
		return;
	}
	stack_counts_configure(run, counts);
	loss_name_option(run, "stack-storage-size");
}

/* --waker needs kernel stacks: they show whether a task or an interrupt woke the thread. */
static bool takes_kernel(const struct run *run)
{
	return !run->is_metrics && (!stacks_of(run)->user_only || spec_of(run)->needs_kernel ||
				    run_given(run, "waker"));
}

/* Formats for programs include the cgroup. */
static bool shows_cgroups(const struct run *run)
{
	return stacks_of(run)->writer->is_exact && !run->is_metrics && cgroups_are_there();
}

static bool is_by_thread(const struct run *run)
{
	return stacks_of(run)->counts.in_time || run_given(run, "per-thread");
}

static int configure_stacks(struct run *run)
{
	struct stacks *stacks = stacks_of(run);
	struct stack_settings settings = { .user = stacks_want_user(run),
					   .kernel = takes_kernel(run),
					   .cgroup = shows_cgroups(run),
					   .thread = is_by_thread(run),
					   .events = stacks->counts.in_time };
	int err;

	stacks->style.annotate = run_given(run, "annotations");
	run->losses.divisor = spec_of(run)->divisor;
	if (takes_kernel(run))
		kernelnames_configure(run);
	else
		kernelnames_leave_out(run);
	map_add_entries(run, "stack_scratch", libbpf_num_possible_cpus() * STACK_CPU_SLOTS);
	configure_counts(run, &stacks->counts);
	if (stacks->counts.in_time)
		map_add_entries(run, "stack_defs", EVENTS_RING_BYTES);
	err = configure_user_stacks(run);
	if (!err)
		err = stack_memory_configure(run);
	return err ? err : map_set_settings(run, ".rodata.stack", &settings, sizeof(settings));
}

/* ---- while tracing ---- */

static void gather_early(struct run *run)
{
	stack_counts_gather(run, &stacks_of(run)->counts);
}

static void add_event(struct run *run, const struct stack_event *event)
{
	stack_counts_add_event(&stacks_of(run)->counts, event);
}

static void start_kernelnames(const struct run *run, struct stacks *stacks)
{
	if (!takes_kernel(run))
		return;
	stacks->kernelnames = kernelnames_new(run);
	if (!stacks->kernelnames)
		msg_warn("kernel symbols: not available: %s (kernel frames print as addresses)",
			 strerror(errno));
}

static bool shows_pids(const struct run *run)
{
	const struct writer *writer = stacks_of(run)->writer;

	return !run->is_metrics && !run->view &&
	       (writer->is_exact || writer == &text_writer || writer->is_page);
}

static void start_resolver(struct run *run, struct stacks *stacks)
{
	const struct stacks_source *source = source_of(run);
	struct resolver_options options = { .symbols = stacks->symbols };

	start_kernelnames(run, stacks);
	options.symbols.found_map = user_stacks_take_perf_map;
	options.symbols.arg = stacks->user_stacks;
	options.kernelnames = stacks->kernelnames;
	options.find_runtime = user_stacks_find_runtime;
	options.arg = stacks->user_stacks;
	options.by_window = spec_of(run)->are_waits || (source && !source->adds_up);
	stacks->resolver = resolver_new(user_stacks_processes(stacks->user_stacks), &options);
	find_own(run, stacks->resolver);
}

/*
 * Reads what the target's processes have used so far, unless they are not known exactly. If there
 * is only one, sets *pid and comm; else comm is empty.
 */
static struct process_usage read_usage(const struct run *run, uint32_t *pid, char *comm,
				       size_t size)
{
	const struct condition_target *target = &run->capture.target;
	struct process_usage usage = {};
	size_t n;
	pid_t *pids = condition_target_list(target, &n);

	*pid = n == 1 ? (uint32_t)pids[0] : 0;
	if (n != 1 || process_comm(pids[0], comm, size))
		*comm = '\0';
	if (!target->is_partial && !target_follows(run))
		usage = process_usage_read(pids, n);
	free(pids);
	return usage;
}

static int start_stacks(struct run *run)
{
	struct stacks *stacks = stacks_of(run);
	char comm[COMM_BYTES];
	uint32_t pid;
	int err;

	if (stacks->writer->is_page)
		stacks->usage = read_usage(run, &pid, comm, sizeof(comm));

	stacks->counts.flaws = stacks->flaws = stack_flaws_new();
	start_resolver(run, stacks);
	stacks->rings = (struct stack_rings){ run, stacks->resolver, stacks->user_stacks,
					      .add_event = add_event };
	stacks->counts.by_process = shows_pids(run);
	stacks->counts.by_thread = is_by_thread(run);
	err = stack_counts_start(run, &stacks->counts, stacks->resolver);
	if (!err)
		err = stack_rings_open(&stacks->rings, source_of(run) ? NULL : gather_early);
	if (err)
		return err;
	if (stacks_want_user(run))
		stack_rings_watch_exits(&stacks->rings, stacks_watch(run));
	if (shows_cgroups(run))
		err = cgroup_names_start(run, &stacks->cgroups);
	return err ? err : user_stacks_start(stacks->user_stacks);
}

static void learn_command(struct run *run)
{
	user_stacks_learn_command(stacks_of(run)->user_stacks);
}

/* ---- the report ---- */

/* State while a report is made. */
struct making {
	struct run *run;
	struct stacks *stacks;
	const struct writer *writer;
	struct stack_profile profile;
	unsigned int n_sums;
	struct stacks_spec spec;	     /* spec of the profile */
	struct shown *shown;		     /* samples by number of a key; NULL: no events */
	struct stack_sums counted, prepared; /* before and after prepare() */
	bool scales_events;		     /* runs of events get the prepared time on CPU */
	size_t n_keys;
	struct stack_events events;
	uint64_t cut_ns; /* events are dropped up to this time of the window; 0: none */
};

/* Samples and kind of a key's events. */
struct shown {
	const struct sample *sample; /* NULL: the events are not shown */
	const struct sample *end;    /* of the runnable part at the end of waits; NULL: not shown */
	enum event_kind kind;
	bool is_hidden;
};

static uint64_t divisor_of(const struct run *run)
{
	return spec_of(run)->divisor ?: 1;
}

/* Returns the divisor that is not applied to values, because the format is for programs; else 1. */
static uint64_t written_divisor(const struct making *making)
{
	return making->writer->is_exact ? divisor_of(making->run) : 1;
}

/* Returns true if pprof shows a column of the stack: the stack's own value may be 0. */
static bool has_pprof_column(const struct making *making, const struct stacks_value *value)
{
	const struct column *columns = spec_of(making->run)->columns;
	bool has = false;

	if (making->run->writer != &pprof_writer)
		return false;
	for (size_t i = 0; columns && i < PROFILE_COLUMNS && columns[i].name; i++)
		has |= columns[i].pprof && value->columns[i];
	return has;
}

static void collect_value(const void *key, const void *value_data, void *arg)
{
	const struct stacks_value *value = value_data;
	struct making *making = arg;

	stack_counts_use(&making->stacks->counts, key);
	if (value->value || has_pprof_column(making, value))
		stack_profile_add(&making->profile, key, value);
}

static enum event_kind kind_of(const struct stacks_spec *spec, const struct stack_key *key)
{
	if (key->remark == RUN_TIME)
		return EVENT_RUN;
	return key->remark == RUN_SAMPLED || !spec->divisor ? EVENT_SAMPLE : EVENT_WAIT;
}

/* Returns the time on CPU of a stack, scaled by prepare(); 0: all of it belongs to samples. */
static uint64_t scaled_run(const struct making *making, const struct stack_key *key)
{
	struct stack_key run = *key, sampled = *key;
	const struct stack_sum *sum;

	run.remark = (uint8_t)making->spec.run_remark;
	sampled.remark = RUN_SAMPLED;
	if (key->remark == RUN_TIME && stack_sums_find(&making->counted, &sampled))
		return 0;
	sum = stack_sums_find(&making->prepared, &run);
	return sum ? sum->value : 0;
}

static struct shown show_wait(struct making *making, const struct stack_key *key,
			      const struct stacks_value *value)
{
	const struct stacks_spec *spec = &making->spec;
	const char *remark = key->remark < spec->n_remarks ? spec->remarks[key->remark] : NULL;
	uint64_t part = value->columns[0];
	struct stacks_value off = { value->value - part }, end = { part, { part } };
	struct event_state blocked = { remark ? remark : REMARK_BLOCKED };
	struct event_state runnable = { key->remark == WAIT_THROTTLED ? REMARK_THROTTLED
								      : REMARK_RUNNABLE,
					.is_awake = spec->run_remark };
	struct shown shown = { .kind = EVENT_WAIT };

	shown.sample = stack_profile_add_events(&making->profile, key, &off, &blocked);
	shown.end = part ? stack_profile_add_events(&making->profile, key, &end, &runnable)
			 : shown.sample;
	return shown;
}

/* Adds the value of a key's events. */
static struct shown show_key(struct making *making, const struct stack_key *key,
			     const struct stacks_value *value)
{
	struct event_state on_cpu = { REMARK_ON_CPU, .is_run = true };
	struct shown shown = { .kind = kind_of(&making->spec, key) };

	if (shown.kind == EVENT_WAIT)
		return show_wait(making, key, value);
	shown.sample = stack_profile_add_events(&making->profile, key, value,
						making->scales_events ? &on_cpu : NULL);
	shown.end = shown.sample;
	shown.is_hidden = on_cpu.is_hidden;
	return shown;
}

static void collect_sum(const void *key_data, const void *sum_data, void *arg)
{
	const struct stack_key *key = key_data;
	const struct stack_sum *sum = sum_data;
	struct making *making = arg;
	const struct stacks_spec *spec = &making->spec;
	struct stacks_value value = { sum->value, { sum->part } };
	struct shown *shown = making->shown ? &making->shown[making->n_keys++] : NULL;

	if (spec->shows && !spec->shows(making->run, key))
		return;
	if (spec->group_mark)
		value.group = spec->group_mark(making->run, key->group);

	if (++making->n_sums % SUMS_AT_ONCE == 0)
		stack_rings_catch_up(&making->stacks->rings);
	if (making->scales_events && (key->remark == RUN_TIME || key->remark == RUN_SAMPLED))
		value.value = scaled_run(making, key);
	if (shown)
		*shown = show_key(making, key, &value);
	else
		stack_profile_add(&making->profile, key, &value);
}

/*
 * Returns an event's end since the window's start. An event that BPF counted at the window's end
 * came somewhat later.
 */
static uint64_t end_in_window(const struct run *run, const struct event *event)
{
	uint64_t end_ns = event->end_ns;

	if (end_ns > run->end_ns && end_ns - event->value < run->end_ns)
		end_ns = run->end_ns;
	return end_ns > run->report_start_ns ? end_ns - run->report_start_ns : 0;
}

/*
 * Writes an event with its sample. A wait is divided if its parts have different samples, or one is
 * not shown. Returns the number of events.
 */
static size_t place_event(const struct making *making, const struct event *event,
			  struct event placed[2])
{
	const struct shown *shown = &making->shown[event->key];
	uint64_t end_ns = end_in_window(making->run, event);
	uint64_t part = event->part < event->value ? event->part : event->value;
	struct event off = *event, end = *event;
	size_t n = 0;

	off.end_ns = end.end_ns = end_ns;
	off.kind = end.kind = shown->kind;
	off.is_hidden = shown->is_hidden;
	off.sample = shown->sample;
	end.sample = shown->end;
	if (shown->end != shown->sample && part) {
		end.value = end.part = part;
		off.end_ns = end_ns > part ? end_ns - part : 0;
		off.value -= part;
		off.part = 0;
		if (end.sample)
			placed[n++] = end;
	}
	if (off.sample && (off.value || !n))
		placed[n++] = off;
	return n;
}

/* Lends the profile the events that are shown. */
static void show_events(struct making *making)
{
	struct stack_events *events = &making->events;
	struct event placed[2];
	size_t n = 0, n_placed = 0;

	for (size_t i = 0; i < events->n; i++) {
		size_t n_parts = place_event(making, &events->list[i], placed);

		if (n_parts)
			events->list[n++] = events->list[i];
		n_placed += n_parts;
	}
	events->list = mem_realloc(events->list, n_placed + 1, sizeof(*events->list));
	profile_set_events(making->profile.profile, events->list, n_placed);
	while (n) { /* from the last one on: a divided event takes more space */
		size_t n_parts = place_event(making, &events->list[--n], placed);

		n_placed -= n_parts;
		memcpy(&events->list[n_placed], placed, n_parts * sizeof(*placed));
	}
	if (events->cut_ns)
		making->cut_ns = events->cut_ns - making->run->report_start_ns;
	making->run->recorded += events->cut_value / divisor_of(making->run);
	loss_add(making->run, "not in the file: too many events (use a shorter --interval)",
		 events->cut_value / divisor_of(making->run));
	free(making->shown);
	making->shown = NULL;
}

/* Looks up names file by file, since the symbol tables may not all fit into memory together. */
static void read_and_look_up(struct stacks *stacks)
{
	stack_rings_read(&stacks->rings);
	resolver_look_up(stacks->resolver, stack_rings_catch_up, &stacks->rings);
}

/*
 * Reads counts before names are looked up: a stack is defined before it is counted, so all
 * definitions are there, and each symbol table is read only once.
 */
static int collect_counted(struct making *making)
{
	stacks_prepare_fn *prepare = spec_of(making->run)->prepare;
	struct stack_counts *counts = &making->stacks->counts;
	struct stack_sums *counted = &making->counted, *prepared = &making->prepared;
	int err;

	stack_rings_read(&making->stacks->rings);
	err = stack_counts_read(making->run, counts, counted, &making->events);
	read_and_look_up(making->stacks);
	if (prepare)
		prepare(making->run, counted, counts->by_process, prepared);
	if (making->writer->in_time)
		making->shown = mem_zalloc(counted->n + 1, sizeof(*making->shown));
	making->scales_events = prepare && making->shown;
	stack_sums_visit(prepare && !making->shown ? prepared : counted, collect_sum, making);
	if (making->shown)
		show_events(making);
	stack_sums_clear(counted);
	stack_sums_clear(prepared);
	return err;
}

static int collect(struct making *making)
{
	const struct stacks_source *source = source_of(making->run);
	struct stacks *stacks = making->stacks;
	int err;

	if (making->run->again)
		find_own(making->run, stacks->resolver);
	for (int i = 0; source && i < 2; i++) /* second pass: definitions that came meanwhile */
		read_and_look_up(stacks);
	err = source ? source->read(making->run, collect_value, making) : collect_counted(making);
	stack_counts_end(making->run, &stacks->counts); /* required for every source */
	return err;
}

/* Prints a summary of the whole run; after each report only with -v. */
static void print_reasons(struct making *making)
{
	struct stack_reasons *all = &making->stacks->reasons;

	stack_reasons_add(all, &making->profile.reasons);
	if (making->run->is_last) {
		stack_reasons_print(all);
		stack_reasons_print_go(all);
		if (!making->stacks->no_runtimes)
			stack_reasons_print_functions(all);
		user_stacks_print_late(making->stacks->user_stacks);
		stack_flaws_print(making->stacks->flaws,
				  user_stacks_lack_tables(making->stacks->user_stacks));
	} else if (msg_verbose) {
		stack_reasons_print(&making->profile.reasons);
	}
}

static void print_left_out(struct making *making)
{
	const struct run *run = making->run;
	struct stacks *stacks = making->stacks;
	unsigned int remark = making->profile.hidden_remark;

	left_out_add(&stacks->left_out, &making->profile.left_out);
	if (run->is_last)
		left_out_print(&stacks->left_out, divisor_of(run), run->tool->unit,
			       remark ? spec_of(run)->remarks[remark] : NULL);
}

/* Resets the totals if each report of the source replaces the previous one. */
static void begin_account(struct run *run)
{
	const struct stacks_source *source = source_of(run);

	if (source && !source->adds_up && !run->is_peek)
		run->recorded = run->losses.more = 0;
}

static void account(struct making *making)
{
	struct run *run = making->run;

	if (run->is_peek)
		return;
	print_reasons(making);
	print_left_out(making);
	run->recorded += profile_total(making->profile.profile) / written_divisor(making);
	loss_add(run, "without their stack: ring buffer full",
		 making->profile.undefined / divisor_of(run));
}

/* Adds what the target's processes used in the window. Returns the text, freed by the caller. */
static char *add_usage(const struct making *making, struct writer_facts *facts, char *comm,
		       size_t size)
{
	struct process_usage *before = &making->stacks->usage;
	struct process_usage now = read_usage(making->run, &facts->process_pid, comm, size);
	char *line = spec_of(making->run)->page_line ? spec_of(making->run)->page_line(making->run)
						     : NULL;
	char *usage = process_usage_describe(before, &now, !line), *text = usage;

	if (line && usage) {
		text = mem_printf("%s  \n%s", usage, line);
		free(usage);
		free(line);
	} else if (line) {
		text = line;
	}
	facts->process = *comm ? comm : NULL;
	facts->usage = text;
	if (!making->run->is_peek) {
		process_usage_free(before);
		*before = now;
	} else {
		process_usage_free(&now);
	}
	return text;
}

static void write_profile(const struct making *making)
{
	const struct stacks_source *source = source_of(making->run);
	struct writer_facts facts = run_facts(making->run);
	struct writer_style style = making->stacks->style;
	char comm[COMM_BYTES], *usage = NULL;

	if (source && !source->adds_up)
		facts.lost = loss_value(making->run); /* totals lack everything lost so far */
	facts.lost *= written_divisor(making);
	facts.type = spec_of(making->run)->type;
	facts.cut_ns = making->cut_ns;
	facts.has_stacks = stack_reasons_complete(&making->profile.reasons, &facts.complete);
	if (making->writer->is_page)
		usage = add_usage(making, &facts, comm, sizeof(comm));
	style.facts = &facts;
	style.has_head = !run_begins_file(making->run, &making->stacks->n_begun);
	style.meanwhile = stack_rings_catch_up;
	style.arg = &making->stacks->rings;
	making->writer->write(making->run->out, making->profile.profile, &style);
	free(usage);
}

static void write_report(const struct making *making)
{
	const struct stacks_source *source = source_of(making->run);
	struct run *run = making->run;

	if (run->is_metrics)
		spec_of(run)->add_metrics(run, making->profile.profile);
	else if (run->view && !run->is_peek)
		top_write(run, making->profile.profile);
	else if (run->view)
		return;
	else if (source && making->writer == &text_writer)
		source->write_text(run);
	else
		write_profile(making);
	if (source && source->append_json && making->writer == &json_writer && !run->view)
		source->append_json(run);
}

static void print_memory(const struct stacks *stacks)
{
	struct dso_stats stats = resolver_stats(stacks->resolver);

	msg_debug("symbol tables: %.1f MB, evicted %llu times", (double)stats.bytes / 1e6,
		  (unsigned long long)stats.n_dropped);
}

static struct profile *new_profile(const struct making *making)
{
	const struct stacks_spec *spec = spec_of(making->run);
	bool is_raw = making->writer->is_exact && spec->raw_unit;

	return profile_new(is_raw ? spec->raw_unit : making->run->tool->unit, spec->columns,
			   resolver_frame_table(making->stacks->resolver));
}

/* Returns the tool's spec, for events with their remarks. */
static struct stacks_spec make_spec(const struct run *run, const struct writer *writer)
{
	struct stacks_spec spec = *spec_of(run);

	if (writer->in_time && spec.event_remarks) {
		spec.remarks = spec.event_remarks;
		spec.n_remarks = spec.n_event_remarks;
		spec.rest_remark = 0;
	}
	return spec;
}

static struct making new_making(struct run *run, const struct writer *writer)
{
	const struct stacks_spec *spec = spec_of(run);
	struct stacks *stacks = stacks_of(run);
	struct making making = {
		.run = run,
		.stacks = stacks,
		.writer = writer,
		.spec = make_spec(run, writer),
		.profile = { .spec = spec,
			     .resolver = stacks->resolver,
			     .without_kernel = stacks->user_only,
			     .by_process = stacks->counts.by_process,
			     .cgroups = writer->is_exact ? stacks->cgroups : NULL,
			     .hidden_remark = run_given(run, "without-throughout")
						      ? spec->throughout_remark
						      : 0,
			     .names = &stacks->names,
			     .folds_idle = run_given(run, "no-idle"),
			     .flaws = run->is_peek ? NULL : stacks->flaws,
			     .read_definitions = stack_rings_catch_up,
			     .arg = &stacks->rings },
	};

	making.profile.profile = new_profile(&making);
	return making;
}

static int make_report(struct run *run, const struct writer *writer)
{
	struct stacks *stacks = stacks_of(run);
	struct making making;
	int err;

	report_memory_begin(run);
	begin_account(run);
	making = new_making(run, writer);
	making.profile.spec = &making.spec;
	err = collect(&making);
	profile_scale(making.profile.profile, divisor_of(run) / written_divisor(&making));
	account(&making);
	if (!err)
		write_report(&making);
	print_memory(stacks);
	profile_free(making.profile.profile);
	free(making.events.list);
	if (!run->is_peek) {
		stack_counts_retain(&stacks->counts); /* of events that came meanwhile */
		resolver_end_report(stacks->resolver, clock_now_ns());
	}
	report_memory_end(run);
	return err;
}

/*
 * Returns true if a peek is printed as text instead: it must not go to a stream whose readers add
 * reports, or expect a single result. JSON and CSV state the window of each report. Events are
 * written once.
 */
static bool goes_aside(const struct run *run)
{
	const struct writer *writer = stacks_of(run)->writer;

	if (writer->in_time)
		return run->is_peek;
	return run->is_peek && run->out_is_stream && writer != &text_writer &&
	       writer != &json_writer && writer != &csv_writer;
}

static int report_aside(struct run *run)
{
	FILE *out = run->out;
	int err;

	run->out = stderr;
	err = make_report(run, &text_writer);
	run->out = out;
	return err;
}

int stacks_report(struct run *run)
{
	return goes_aside(run) ? report_aside(run) : make_report(run, stacks_of(run)->writer);
}

/* ---- single events ---- */

/* Begins the next event. Ages what earlier ones have left: there may be no reports. */
static struct making begin_event(struct run *run)
{
	struct stacks *stacks = stacks_of(run);
	uint64_t now_ns = clock_now_ns();
	struct making making;

	profile_free(stacks->event);
	if (now_ns - stacks->events_aged_ns >= EPOCH_NS) {
		resolver_end_report(stacks->resolver, now_ns);
		stacks->events_aged_ns = now_ns;
	}
	making = new_making(run, stacks->writer);
	stacks->event = making.profile.profile;
	return making;
}

const struct sample *stacks_event(struct run *run, const struct stack_key *key)
{
	const struct stacks_value one = { .value = 1 };
	struct stacks *stacks = stacks_of(run);
	struct making making = begin_event(run);

	stack_profile_add(&making.profile, key, &one);
	stack_reasons_add(&stacks->reasons, &making.profile.reasons);
	left_out_add(&stacks->left_out, &making.profile.left_out);
	loss_add(run, "without their stack: ring buffer full", making.profile.undefined);
	return profile_count(stacks->event) ? profile_sample(stacks->event, 0) : NULL;
}

void stacks_end_events(struct run *run)
{
	struct making making = begin_event(run);

	if (run->is_peek)
		return;
	print_reasons(&making);
	print_left_out(&making);
}

const struct writer_style *stacks_style(const struct run *run)
{
	return &stacks_of(run)->style;
}

static void finish_stacks(struct run *run)
{
	struct stacks *stacks = stacks_of(run);

	profile_free(stacks->event);
	cgroups_free(stacks->cgroups);
	name_filter_free(&stacks->names);
	stack_counts_free(&stacks->counts);
	stack_flaws_free(stacks->flaws);
	stack_rings_close(&stacks->rings);
	process_usage_free(&stacks->usage);
	resolver_free(stacks->resolver);
	user_stacks_free(stacks->user_stacks);
	kernelnames_free(stacks->kernelnames);
}

const struct module stacks_module = {
	.title = "stacks",
	.opts = stacks_opts,
	.state = DEFAULTS(defaults),
	.has_formats = true,
	.check = check_stacks,
	.configure = configure_stacks,
	.leave_out = leave_out_stacks,
	.start = start_stacks,
	.begin = learn_command,
	.loaded = learn_command,
	.finish = finish_stacks,
};
