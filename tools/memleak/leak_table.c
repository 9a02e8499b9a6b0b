// SPDX-License-Identifier: GPL-2.0-only
/* memleak's module; see leak_table.h. */
#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "abi/memleak.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/msg.h"
#include "memleak/blocks.h"
#include "memleak/go_heaps.h"
#include "memleak/leak_probes.h"
#include "memleak/leak_report.h"
#include "memleak/leak_table.h"
#include "modules/target.h"
#include "output/quantity.h"
#include "output/writer.h"
#include "process/procstate.h"
#include "process/watch.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/features.h"
#include "run/loss.h"
#include "stacks/stacks.h"

#define DEFAULT_INTERVAL_NS (5 * NS_PER_S)
#define TICKS_PER_S	    4
#define TABLE_MEMORY_SHARE  8 /* by default the block table takes at most 1/N of memory */

struct leak_table {
	bool user_mode; /* processes are traced, not the kernel */
	struct leak_probes *probes;
	struct leak_report *report;
	struct go_heaps *heaps;	 /* NULL: the kernel is traced */
	unsigned int n_left_out; /* untraced child processes */
	unsigned int n_late;	 /* times that a running process loaded an allocator */
	unsigned int n_unprobed; /* processes that exited before their allocator was probed */
	bool has_missed;	 /* probing a loaded library has failed */
	int timer_fd;		 /* -1: no timer */
	struct moment {
		uint64_t ns, n_calls;
	} moments[TICKS_PER_S]; /* ring of the last ticks */
	uint32_t n_ticks;
};

static const struct leak_table defaults = { .timer_fd = -1 };

DEFINE_STATE(struct leak_table, table_of, leak_table_module)

static const struct leak_options *options_of(const struct run *run)
{
	return run->options;
}

/* ---- options ---- */

static int read_blocks(struct run *run, map_visit_fn *visit, void *arg)
{
	return leak_report_read(table_of(run)->report, visit, arg);
}

static void write_text(struct run *run)
{
	leak_report_write_text(table_of(run)->report);
}

bool leak_table_keeps_calls(const struct run *run)
{
	return table_of(run)->user_mode;
}

static const struct writer *usual_writer(const struct run *run)
{
	const struct leak_options *options = options_of(run);

	return options->trace || options->show_blocks || options->growth || options->by_count
		       ? &text_writer
		       : NULL;
}

static const struct column columns[] = {
	[LEAK_ALLOC_COUNT] = { "alloc_count", COLUMN_SUM, .pprof = "alloc_objects" },
	[LEAK_ALLOC_BYTES] = { "alloc_bytes", COLUMN_SUM, .pprof = "alloc_space",
			       .pprof_unit = "bytes" },
	[LEAK_COUNT] = { "count", COLUMN_SUM, .pprof = "inuse_objects" },
	[LEAK_SAMPLES] = { "samples", COLUMN_SUM },
	[LEAK_YOUNGEST] = { "youngest_ms", COLUMN_LEAST },
	[LEAK_OLDEST] = { "oldest_ms", COLUMN_MOST },
};

static const struct stacks_source source = { read_blocks, write_text };

const struct stacks_spec leak_table_stacks = {
	.columns = columns,
	.source = &source,
	.wants_user = leak_table_keeps_calls,
	.usual_writer = usual_writer,
	.keeps_programs = true, /* a library may have thousands of probes */
};

/*
 * Sets the default interval of --growth, and of text on standard output without --duration. The
 * rest has one report, at the end.
 */
static void choose_interval(struct run *run)
{
	bool is_one = run_given(run, "duration") || run->output_path;

	if (run->interval_ns)
		return;
	if (options_of(run)->growth || (stacks_are_text(run) && !is_one))
		run->interval_ns = DEFAULT_INTERVAL_NS;
}

static int check_target(const struct leak_options *options, bool user_mode)
{
	if (!user_mode && (options->object || options->prefix))
		return msg_error("-O and --symbols-prefix need a process: -p or a command");
	if (!user_mode && options->duty_percent)
		return msg_error("--duty-cycle needs a process: -p or a command");
	if (options->trace && options->duty_percent)
		return msg_error("--duty-cycle and --trace exclude each other: frees would print "
				 "without their allocations");
	if (user_mode && options->percpu)
		return msg_error("--percpu traces kernel memory (drop -p and the command)");
	return 0;
}

/* Checks the options; before other modules, since -c may give the command. */
static int check_table(struct run *run)
{
	const struct leak_options *options = options_of(run);
	struct leak_table *table = table_of(run);

	if (options->command && run->command)
		return msg_error("-c and a command after '--' exclude each other");
	if (options->command)
		run->command = options->command;
	if (options->min_bytes > options->max_bytes)
		return msg_error("--min-size is larger than --max-size");
	table->user_mode = run->command || target_lists_pids(run);
	return check_target(options, table->user_mode);
}

/* Checks options that depend on the format, once that is known. */
int leak_table_check(struct run *run)
{
	const struct leak_options *options = options_of(run);

	choose_interval(run);
	if (stacks_are_text(run))
		return 0;
	if (options->trace)
		return msg_error("--trace prints a line per call (needs --format text)");
	if (options->show_blocks)
		return msg_error("--show-allocs prints a line per block (needs --format text)");
	if (options->by_count)
		return msg_error("--sort count orders the stacks of text (needs --format text)");
	return 0;
}

/* ---- before load ---- */

/*
 * Returns true if the program is loaded: for processes, all but raw tracepoints; for the kernel,
 * raw tracepoints that exist (node variants don't since 6.1).
 */
static bool program_is_wanted(const struct run *run, const struct btf *types,
			      const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program), *tracepoint = section + 7;
	bool is_of_kernel = !strncmp(section, "raw_tp/", 7);

	if (strncmp(bpf_program__name(program), "memleak_", 8) != 0)
		return true; /* a program of a shared header */
	if (table_of(run)->user_mode || !is_of_kernel)
		return table_of(run)->user_mode != is_of_kernel;
	return options_of(run)->percpu == !strncmp(tracepoint, "percpu_", 7) &&
	       features_tracepoint(types, tracepoint);
}

static int choose_programs(struct run *run, struct memleak_settings *settings)
{
	const struct btf *types = table_of(run)->user_mode ? NULL : object_types(run);
	struct bpf_program *program = NULL;

	if (!types && !table_of(run)->user_mode)
		return -EINVAL;
	bpf_object__for_each_program(program, run->object)
		if (!program_is_wanted(run, types, program))
			program_leave_out(run, bpf_program__name(program));
	program_leave_out(run, "task_state_new"); /* calls create states, not forks */
	program_leave_out(run, "task_state_iter");
	settings->cache_is_given =
		types && btf__find_by_name_kind(types, "trace_event_raw_kmem_cache_alloc",
						BTF_KIND_STRUCT) >= 0;
	return 0;
}

static struct bpf_program *find_program(const struct run *run, const char *name)
{
	return bpf_object__find_program_by_name(run->object, name);
}

static bool lacks_main_thread(const struct run *run)
{
	bool lacks = false;

	for (size_t i = 0; i < target_n_pids(run); i++)
		lacks |= process_live_task(target_pids(run)[i]) != target_pids(run)[i];
	return lacks;
}

static int choose_probes(const struct run *run)
{
	struct uprobes_programs programs = {
		.session = find_program(run, "memleak_session"),
		.entry = find_program(run, "memleak_entry"),
		.ret = find_program(run, "memleak_return"),
		.brief = find_program(run, "memleak_free"),
	};
	struct allocators_request request = {
		.object = options_of(run)->object,
		.prefix = options_of(run)->prefix,
	};
	struct leak_table *table = table_of(run);
	bool for_all = run_given(run, "follow");

	if (!table->user_mode)
		return 0;
	table->probes = leak_probes_new(run, &programs, &request, for_all,
					!for_all && lacks_main_thread(run));
	return table->probes ? 0 : -ENOTSUP;
}

/* Returns memory plus swap, in bytes: larger single allocations fail. */
static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? UINT64_MAX
			      : ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

/* Returns the number of buckets; by default, leaves most of a small machine's memory free. */
static size_t choose_buckets(const struct run *run)
{
	size_t wanted = blocks_buckets_for(options_of(run)->n_blocks), n;

	if (run_given(run, "entries"))
		return wanted;
	n = blocks_buckets_within(wanted, machine_bytes() / TABLE_MEMORY_SHARE);
	if (n < wanted)
		msg_info("capacity: %zu live blocks, in 1/%d of this machine's memory (use "
			 "--entries N for more)",
			 blocks_in_buckets(n), TABLE_MEMORY_SHARE);
	return n;
}

static int configure_table(struct run *run)
{
	const struct leak_options *options = options_of(run);
	size_t n_buckets = choose_buckets(run);
	struct memleak_settings settings = {
		.min_bytes = options->min_bytes,
		.max_bytes = options->max_bytes,
		.bucket_mask = n_buckets - 1,
		.max_new_bytes = machine_bytes(),
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.cpus = (uint32_t)libbpf_num_possible_cpus(),
		.sample = options->sample,
		.command = (uint32_t)run->command_pid,
		.trace = options->trace,
		.by_windows = options->duty_percent,
	};
	int err;

	if (!features_compare_and_exchange())
		return msg_error("kernel: no compare-and-exchange in BPF (needs Linux 5.12)");
	if (table_of(run)->user_mode && features_probes_kill())
		return msg_error("uprobes: this kernel kills probed programs under seccomp (needs "
				 "Linux 6.14, or a later 6.12 or 6.13)");
	err = choose_programs(run, &settings);
	if (!err)
		err = choose_probes(run);
	if (err)
		return err;
	bpf_map__set_max_entries(map_find(run, "blocks"), (uint32_t)n_buckets);
	if (!options->trace)
		map_leave_out(run, "memleak_events");
	if (!table_of(run)->user_mode)
		map_leave_out(run, "memleak_ranges");
	loss_name_option(run, "entries");
	return map_set_settings(run, ".rodata.memleak", &settings, sizeof(settings));
}

/* ---- processes ---- */

/*
 * Probes functions loaded since. Reports the first failure; ignores exited processes and those that
 * have not mapped the file yet.
 */
static void search_again(pid_t pid, void *arg)
{
	struct run *run = arg;
	struct leak_table *table = table_of(run);
	size_t n = leak_probes_count(table->probes);
	int err = leak_probes_add(table->probes, pid);

	go_heaps_add(table->heaps, pid);
	if (leak_probes_count(table->probes) > n)
		table->n_late++;
	if (!err || err == -ESRCH || err == -ENOENT || table->has_missed)
		return;
	table->has_missed = true;
	msg_errno(err, "process %d: probing a loaded library failed", pid);
}

static void on_forked(pid_t parent, pid_t child, void *arg)
{
	struct leak_table *table = table_of(arg);

	if (!leak_probes_find(table->probes, parent))
		return;
	if (run_given(arg, "follow"))
		search_again(child, arg);
	else
		table->n_left_out++;
}

static void on_changed(pid_t pid, void *arg)
{
	if (leak_probes_find(table_of(arg)->probes, pid))
		search_again(pid, arg);
}

static void on_exited(pid_t pid, void *arg)
{
	struct leak_table *table = table_of(arg);
	struct processes *processes = watch_processes(stacks_watch(arg));
	const struct process *p = processes_find(processes, pid);
	struct maps *maps = NULL;

	if (p && leak_probes_find(table->probes, pid))
		maps = processes_recall(processes, pid, p->exit_ns);
	table->n_unprobed += leak_probes_end(table->probes, pid, maps);
	if (maps)
		maps_release(maps);
}

static void search_all(void *arg)
{
	target_visit(arg, search_again, arg);
}

static int subscribe(struct run *run)
{
	struct watch_handlers handlers = { .forked = on_forked,
					   .changed = on_changed,
					   .exited = on_exited,
					   .lost = search_all,
					   .arg = run };
	struct watch *watch = stacks_watch(run);

	if (!watch)
		return -EIO;
	watch_subscribe(watch, &handlers);
	return 0;
}

/* Probes a process; one of several may have no allocator or have exited. */
static int probe_process(struct run *run, pid_t pid)
{
	struct leak_probes *probes = table_of(run)->probes;
	int err = leak_probes_add(probes, pid);
	bool is_one_of_many = target_n_pids(run) > 1;

	if (err == -ENOENT && options_of(run)->object && !is_one_of_many) {
		msg_error("--obj: process %d maps no file '%s'", pid, options_of(run)->object);
		return err;
	}
	go_heaps_add(table_of(run)->heaps, pid);
	if (err && (!is_one_of_many || (err != -ENOENT && err != -ESRCH)))
		return msg_errno(err, "process %d: probing its allocator failed", pid);
	if (is_one_of_many && !leak_probes_find(probes, pid)->found->n_functions)
		msg_warn("process %d: no allocation function found in its files", pid);
	return 0;
}

/* Fails if nothing has been found to trace: an empty report would be taken for no leaks. */
static int check_found(const struct run *run)
{
	struct leak_table *table = table_of(run);
	const char *object = options_of(run)->object;

	if (!table->user_mode || leak_probes_count(table->probes) || go_heaps_count(table->heaps))
		return 0;
	if (object)
		msg_error("--obj: no allocation function found in '%s', or it was not mapped",
			  object);
	else
		msg_error("allocators: no allocation function found in the process's files");
	msg_hint("name the file with -O, and the prefix of its functions with --symbols-prefix");
	return -ENOENT;
}

static int probe_processes(struct run *run)
{
	int err = 0;

	for (size_t i = 0; !err && i < target_n_pids(run); i++)
		err = probe_process(run, target_pids(run)[i]);
	return err ? err : check_found(run);
}

/* ---- four times a second ---- */

static struct memleak_counts read_counts(const struct run *run)
{
	struct memleak_counts sum;

	map_sum_cpus(run, "memleak_counts", &sum, sizeof(sum) / sizeof(uint64_t));
	return sum;
}

/*
 * Compares the calls of the last second with --max-rate; of a shorter time at the start, of a
 * longer time after a late tick.
 */
static enum loop_verdict check_rate(const struct run *run)
{
	const struct leak_options *options = options_of(run);
	struct leak_table *table = table_of(run);
	struct memleak_counts counts = read_counts(run);
	struct moment *oldest = &table->moments[++table->n_ticks % TICKS_PER_S];
	struct moment now = { clock_now_ns(), counts.allocs + counts.frees };
	uint64_t n = now.n_calls - oldest->n_calls;
	double seconds = (double)(now.ns - oldest->ns) / (double)NS_PER_S;

	*oldest = now;
	if ((double)n <= options->max_rate * (seconds > 1 ? seconds : 1))
		return LOOP_GO;
	msg_warn("detached: %llu calls in %.2f s exceed --max-rate %u", (unsigned long long)n,
		 seconds, options->max_rate);
	if (now.ns - run->start_ns < options->min_age_ns)
		msg_hint("use -o 0 to see blocks younger than --older");
	return LOOP_STOP;
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct leak_probes *probes = table_of(arg)->probes;
	uint64_t n_ticks;

	if (read(fd, &n_ticks, sizeof(n_ticks)) < 0)
		return LOOP_GO;
	if (probes && leak_probes_tick(probes) == LOOP_STOP)
		return LOOP_STOP;
	return options_of(arg)->max_rate ? check_rate(arg) : LOOP_GO;
}

static int start_timer(struct run *run)
{
	struct leak_table *table = table_of(run);

	if (!table->probes && !options_of(run)->max_rate)
		return 0;
	for (size_t i = 0; i < TICKS_PER_S; i++)
		table->moments[i].ns = clock_now_ns();
	table->timer_fd = loop_every(run->loop, NS_PER_S / TICKS_PER_S, on_timer, run);
	return table->timer_fd < 0 ? msg_errno(table->timer_fd, "timer: setup failed") : 0;
}

/* Prints "98 calls traced, 19/s". */
static void print_calls(const struct run *run)
{
	double duration_ns = (double)(run->end_ns - run->start_ns);
	struct memleak_counts counts = read_counts(run);
	unsigned long long n = counts.allocs + counts.frees;
	char unit[QUANTITY_MAX];

	msg_info("%llu %s traced, %.0f/s", n, quantity_unit(unit, n, "calls"),
		 (double)n * (double)NS_PER_S / duration_ns);
	if (counts.foreign)
		msg_info("%llu calls in untraced processes also hit the probes (--follow probes "
			 "files in all processes)",
			 (unsigned long long)counts.foreign);
}

/* ---- start and end ---- */

static int start_table(struct run *run)
{
	struct leak_table *table = table_of(run);

	if (table->user_mode)
		table->heaps = go_heaps_new(run);
	table->report = leak_report_new(run, table->probes, table->heaps);
	if (!table->report)
		return -EIO;
	return table->user_mode ? subscribe(run) : 0;
}

int leak_table_start(struct run *run)
{
	struct leak_table *table = table_of(run);
	int err = table->user_mode && !run->command ? probe_processes(run) : 0;

	if (!err)
		err = start_timer(run);
	if (!err && table->probes)
		err = leak_probes_begin(table->probes);
	return err;
}

static void begin_command(struct run *run)
{
	search_again(run->command_pid, run);
}

/* Opens the files of the command's stacks early: it may end before they are resolved. */
static void preload_command(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, "memleak_generations"));
	uint32_t generation;

	if (!bpf_map_lookup_elem(fd, &run->command_pid, &generation))
		stacks_preload(run, run->command_pid, generation);
}

/*
 * Probes the command once its libraries are mapped; on_changed() does if it can't be stopped. What
 * was found since its exec isn't late: it has not run its first instruction.
 */
static void command_loaded(struct run *run)
{
	struct leak_table *table = table_of(run);
	int err;

	preload_command(run);
	err = leak_probes_add(table->probes, run->command_pid);
	table->n_late = 0;
	go_heaps_add(table->heaps, run->command_pid);
	if (err && err != -ENOENT) /* files may be mapped later: see check_found() */
		msg_errno(err, "command: probing its allocator failed");
}

static void stop_table(struct run *run)
{
	leak_probes_detach(table_of(run)->probes);
}

/* Warns of allocators loaded late, and of untraced children, such as programs run by a script. */
static void report_left_out(const struct run *run)
{
	const struct leak_table *table = table_of(run);
	unsigned int n = table->n_left_out, n_late = table->n_late, n_unprobed = table->n_unprobed;

	if (n_late)
		msg_warn("allocators: %u loaded while tracing (calls in the milliseconds before "
			 "they were probed are not traced)",
			 n_late);
	if (n_unprobed)
		msg_warn("processes: %u exited before an allocator was found (allocations may be "
			 "missing)",
			 n_unprobed);
	if (run->command && n && !run_given(run, "no-follow"))
		msg_warn("command: %u child process%s not traced (see --follow for the cost)", n,
			 n == 1 ? "" : "es");
}

int leak_table_report(struct run *run)
{
	int err;

	leak_report_read_calls(table_of(run)->report);
	err = stacks_report(run);
	if (table_of(run)->probes && !run->is_peek)
		leak_probes_release(table_of(run)->probes);
	if (!run->is_last)
		return err;
	print_calls(run);
	if (table_of(run)->heaps && !stacks_are_text(run))
		go_heaps_print(table_of(run)->heaps, NULL);
	if (table_of(run)->probes)
		leak_probes_print(table_of(run)->probes);
	report_left_out(run);
	return err || !run->command ? err : check_found(run);
}

static void finish_table(struct run *run)
{
	struct leak_table *table = table_of(run);

	if (table->timer_fd >= 0)
		close(table->timer_fd);
	leak_report_free(table->report);
	go_heaps_free(table->heaps);
	leak_probes_free(table->probes);
}

const struct module leak_table_module = {
	.state = DEFAULTS(defaults),
	.check = check_table,
	.configure = configure_table,
	.start = start_table,
	.begin = begin_command,
	.loaded = command_loaded,
	.stop = stop_table,
	.finish = finish_table,
};
