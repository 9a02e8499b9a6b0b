// SPDX-License-Identifier: GPL-2.0-only
/* Waits of goroutines; see goroutine_waits.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/unwind_layout.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/target.h"
#include "output/writer.h"
#include "process/cgroups.h"
#include "process/procstate.h"
#include "process/watch.h"
#include "runtimes/go/goroutines.h"
#include "stacks/goroutine_waits.h"
#include "stacks/stacks.h"

#define PERIOD_NS      (50 * NS_PER_MS)
#define LOOK_MAX_NS    (200 * NS_PER_MS)
#define COST_FACTOR    50	       /* looks take at most 1/N of a CPU */
#define LOOK_CPU_NS    (2 * NS_PER_MS) /* intended time of a look, which permits 10 per second */
#define GOROUTINES_MIN 100	       /* minimum per process and look, see choose_share() */
#define GOROUTINES_MAX 10000
#define STATES_MAX     128   /* distinct states of goroutines */
#define NUMBERED_MAX   65536 /* goroutines with their numbers, each in all of its states */

enum goroutines_mode { GOROUTINES_AUTO, GOROUTINES_ONLY, GOROUTINES_NO };

struct go_process {
	pid_t pid;
	uint64_t serial; /* serial of the program's file */
	uint64_t cgroup_id;
	char comm[TASK_COMM_LEN + 1];
	struct go_program *program;
	struct go_goroutines *goroutines; /* NULL: they can't be read, or the program has ended */
	bool is_read;			  /* its goroutines were read */
};

struct goroutine_waits {
	enum goroutines_mode mode;
	bool per_goroutine;
	struct idmap processes; /* Go programs, by pid */
	size_t n_open;
	int timer_fd;	  /* -1: not wanted */
	uint64_t last_ns; /* time of the last look; before the first look, start time */
	uint64_t random;
	size_t max_n;		/* maximum number of goroutines of a process that a look reads */
	struct idmap marks;	/* texts, by group */
	struct idmap groups;	/* groups, by a hash of the text */
	struct idmap stack_ids; /* ids of the current look's stacks, by words */

	/* totals of the run */
	uint64_t n_looks, distance_ns, n_seen, n_stackless, n_unnumbered, waits_ns;
};

static const struct goroutine_waits defaults = { .timer_fd = -1, .max_n = GOROUTINES_MIN };

DEFINE_STATE(struct goroutine_waits, waits_of, goroutines_module)

/* ---- options ---- */

static int parse_mode(const char *what, const char *text, void *dest)
{
	static const char *const names[] = { "auto", "only", "no" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i])) {
			*(enum goroutines_mode *)dest = (enum goroutines_mode)i;
			return 0;
		}
	return msg_error("%s: '%s' is not auto, only or no", what, text);
}

static const struct opt opts[] = {
	{ 0, "goroutines", "auto|only|no", OPT_PARSED(struct goroutine_waits, mode, parse_mode),
	  "add waits of goroutines of Go programs, or show only these" },
	{ 0, "per-goroutine", NULL, OPT_FLAG(struct goroutine_waits, per_goroutine),
	  "show each goroutine separately, by its number" },
	{},
};

/* Returns an option that goroutines don't have: it chooses threads, or their waits. */
static const char *chosen_part(const struct run *run)
{
	static const char *const options[] = { "state",
					       "blocked",
					       "runnable",
					       "waker",
					       "min-block-time",
					       "max-block-time",
					       "tid",
					       "comm",
					       "cgroup",
					       "container",
					       "unit",
					       "kernel-threads-only",
					       "kernel-stacks-only" };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (run_given(run, options[i]))
			return options[i];
	return run->is_metrics ? "format prometheus" : NULL;
}

static bool has_processes(const struct run *run)
{
	return target_lists_pids(run) || run->command;
}

static bool is_wanted(const struct run *run)
{
	return waits_of(run)->mode != GOROUTINES_NO && has_processes(run) && !chosen_part(run) &&
	       !(run->writer && run->writer->in_time);
}

static int check_options(struct run *run)
{
	const struct goroutine_waits *waits = waits_of(run);
	const char *request = waits->mode == GOROUTINES_ONLY ? "--goroutines only"
			      : waits->per_goroutine	     ? "--per-goroutine"
							     : NULL;

	if (!run_wants(run, &goroutines_module)) {
		if (run_given(run, "goroutines"))
			return msg_error("--goroutines needs --wall");
		return waits->per_goroutine ? msg_error("--per-goroutine needs --wall") : 0;
	}
	if (!request)
		return 0;
	if (!has_processes(run))
		return msg_error("%s: needs processes (-p PID, or a command)", request);
	if (chosen_part(run))
		return msg_error("%s and --%s exclude each other", request, chosen_part(run));
	return waits->mode == GOROUTINES_NO
		       ? msg_error("%s and --goroutines no exclude each other", request)
		       : 0;
}

bool goroutine_waits_show(const struct run *run, const struct stack_key *key)
{
	return key->group || waits_of(run)->mode != GOROUTINES_ONLY;
}

/* ---- a look ---- */

/* Returns the group of a marker, which it takes over; 0: there are already `most` groups. */
static uint32_t find_mark(struct goroutine_waits *waits, char *mark, size_t most)
{
	uint64_t hash = hash_text(mark) | 1;
	uintptr_t group = (uintptr_t)idmap_find(&waits->groups, hash);

	if (group || waits->marks.count >= most) {
		free(mark);
		return (uint32_t)group;
	}
	group = waits->marks.count + 1;
	idmap_add(&waits->marks, group, mark);
	idmap_add(&waits->groups, hash, (void *)group);
	return (uint32_t)group;
}

/* Returns the group of a goroutine; 0: there are too many states. */
static uint32_t find_group(struct goroutine_waits *waits, const struct go_goroutine *g)
{
	uint32_t group = 0;

	if (waits->per_goroutine) {
		group = find_mark(waits,
				  mem_printf("[goroutine %llu: %s]", (unsigned long long)g->id,
					     g->state),
				  NUMBERED_MAX);
		waits->n_unnumbered += !group;
	}
	return group ? group
		     : find_mark(waits, mem_printf("[goroutine: %s]", g->state),
				 NUMBERED_MAX + STATES_MAX);
}

const char *goroutine_waits_mark(const struct run *run, uint32_t group)
{
	return idmap_find(&waits_of(run)->marks, group);
}

struct look {
	const struct run *run;
	struct goroutine_waits *waits;
	const struct go_process *process;
	struct go_sweep sweep;
	uint64_t since_ns; /* time since the last look */
	uint64_t one_in;   /* largest number of goroutines that one stands for */
};

/* Defines a stack, once per look. */
static uint64_t define_stack(const struct look *look, const struct go_goroutine *g)
{
	uint64_t hash = hash_add(hash_words(g->words, g->n), (uint64_t)look->process->pid) | 1;
	uint64_t *id = idmap_find(&look->waits->stack_ids, hash);

	if (id)
		return *id;
	id = mem_zalloc(1, sizeof(*id));
	*id = stacks_define(look->run, look->process->pid, g->words, g->n,
			    g->is_cut ? UNWIND_DEPTH : UNWIND_COMPLETE);
	idmap_add(&look->waits->stack_ids, hash, id);
	return *id;
}

/*
 * Counts a waiting goroutine. Skips the runtime's own ones, which always wait, and, if threads are
 * shown, those in a system call, whose thread's wait is counted.
 */
static void count_goroutine(const struct go_goroutine *g, void *arg)
{
	const struct look *look = arg;
	struct stack_key key = { .tgid = (uint32_t)look->process->pid,
				 .cgroup_id = look->process->cgroup_id };
	struct stack_sum sum = { .value = look->since_ns * look->sweep.one_in };

	if (!g->n || g->is_runtimes ||
	    (look->waits->mode != GOROUTINES_ONLY && !strcmp(g->state, "syscall")))
		return;
	key.group = find_group(look->waits, g);
	if (!key.group) {
		look->waits->n_stackless++;
		return;
	}
	key.user_id = define_stack(look, g);
	memcpy(key.comm, look->process->comm, sizeof(key.comm));
	stacks_count(look->run, &key, &sum);
	look->waits->waits_ns += sum.value;
}

static void close_process(struct goroutine_waits *waits, struct go_process *process)
{
	waits->n_open -= process->goroutines != NULL;
	go_goroutines_free(process->goroutines);
	go_program_close(process->program);
	process->goroutines = NULL;
	process->program = NULL;
}

static void look_at(struct look *look, struct go_process *process)
{
	struct goroutine_waits *waits = look->waits;
	const struct go_sweep *sweep = &look->sweep;
	int err;

	if (!process->goroutines)
		return;
	look->process = process;
	err = go_goroutines_sweep(process->goroutines, LOOK_MAX_NS, waits->max_n, &look->sweep,
				  count_goroutine, look);
	if (sweep->one_in > look->one_in)
		look->one_in = sweep->one_in;
	if (err && (err != -EAGAIN || process_has_ended(process->pid)))
		close_process(waits, process);
	process->is_read |= !err;
	waits->n_seen += sweep->n;
	waits->n_stackless += sweep->n - sweep->with_stack - sweep->running + sweep->unseen;
}

/* Looks at all goroutines, for the time up to now_ns. Returns the CPU time that this has taken. */
static uint64_t look_at_all(const struct run *run, struct goroutine_waits *waits, uint64_t now_ns)
{
	uint64_t begin_ns = clock_thread_ns();
	struct go_process *process;
	struct look look = { .run = run,
			     .waits = waits,
			     .since_ns = now_ns > waits->last_ns ? now_ns - waits->last_ns : 0 };

	waits->last_ns = now_ns;
	for (size_t at = 0; (process = idmap_next(&waits->processes, &at));)
		look_at(&look, process);
	idmap_free(&waits->stack_ids, free);
	waits->stack_ids = (struct idmap){};
	waits->n_looks++;
	waits->distance_ns += look.since_ns * look.one_in;
	return clock_thread_ns() - begin_ns;
}

/*
 * Chooses how many goroutines the next look reads. If there are many, reading a part of them often
 * is more accurate than reading all of them rarely.
 */
static void choose_share(struct goroutine_waits *waits, uint64_t cpu_ns)
{
	size_t n = (size_t)((double)waits->max_n * LOOK_CPU_NS / (double)(cpu_ns + 1));

	waits->max_n = n < GOROUTINES_MIN   ? GOROUTINES_MIN
		       : n > GOROUTINES_MAX ? GOROUTINES_MAX
					    : n;
}

/* Stops the timer if there is nothing to look at. */
static void arm_timer(struct goroutine_waits *waits, uint64_t period_ns)
{
	loop_arm_at_random(waits->timer_fd, waits->n_open ? period_ns : 0, &waits->random);
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct goroutine_waits *waits = waits_of(arg);
	uint64_t n, cpu_ns, period_ns;

	if (read(fd, &n, sizeof(n)) < 0)
		return LOOP_GO;
	cpu_ns = look_at_all(arg, waits, clock_now_ns());
	choose_share(waits, cpu_ns);
	period_ns = cpu_ns * COST_FACTOR;
	arm_timer(waits, period_ns > PERIOD_NS ? period_ns : PERIOD_NS);
	return LOOP_GO;
}

static void print_unread(const struct goroutine_waits *waits)
{
	const struct go_process *process;

	for (size_t at = 0; (process = idmap_next(&waits->processes, &at));)
		if (process->goroutines && !process->is_read)
			msg_info("process %d: goroutines are not shown: " GO_NO_PROOF,
				 process->pid);
}

static void print_totals(const struct goroutine_waits *waits)
{
	double distance_ms = (double)waits->distance_ns / (double)waits->n_looks / NS_PER_MS;

	msg_info("goroutines: %llu microseconds of waits, estimated from %llu samples (one "
		 "per goroutine and %.0f ms; standard error of T ms: up to sqrt(%.0f x T) ms)",
		 (unsigned long long)(waits->waits_ns / NS_PER_US),
		 (unsigned long long)waits->n_looks, distance_ms, distance_ms);
	if (waits->n_unnumbered)
		msg_info("goroutines: %llu samples without a number: more than %d goroutines and "
			 "states",
			 (unsigned long long)waits->n_unnumbered, NUMBERED_MAX);
	if (waits->n_stackless)
		msg_info("goroutines: %.2f %% of samples omitted: no consistent stack, or not read "
			 "in time",
			 100.0 * (double)waits->n_stackless /
				 (double)(waits->n_seen + waits->n_stackless));
}

void goroutine_waits_end_window(struct run *run)
{
	struct goroutine_waits *waits = waits_of(run);

	if (waits->n_open)
		look_at_all(run, waits, run->end_ns);
	if (!run->is_last)
		return;
	print_unread(waits);
	if (waits->n_seen)
		print_totals(waits);
}

/* ---- processes ---- */

static void open_goroutines(struct goroutine_waits *waits, struct go_process *process,
			    struct maps *maps)
{
	const char *why = "its table of functions can't be read";
	int err;

	process->cgroup_id = cgroup_of_process(process->pid);
	process_comm(process->pid, process->comm, sizeof(process->comm));
	process->is_read = false;
	process->program = go_program_open(process->pid, maps, &err);
	if (process->program)
		process->goroutines = go_goroutines_open(process->program, &why);
	if (!process->goroutines) {
		msg_info("process %d: goroutines are not shown: %s", process->pid, why);
		close_process(waits, process);
	} else if (!waits->n_open++) {
		arm_timer(waits, PERIOD_NS);
	}
}

/* Opens a process that runs a Go program, unless it is open. */
static void look_for_go(pid_t pid, void *arg)
{
	const struct run *run = arg;
	struct goroutine_waits *waits = waits_of(run);
	uint64_t now_ns = clock_now_ns();
	struct maps *maps = processes_read(stacks_processes(run), pid, now_ns);
	const struct file *file = maps ? go_program_file(maps, pid) : NULL;
	struct go_process *process = idmap_find(&waits->processes, (uint64_t)pid);

	if (!waits->n_open)
		waits->last_ns = now_ns;
	if (process && (!file || file->serial != process->serial))
		close_process(waits, process);
	if (file && !process) {
		process = mem_zalloc(1, sizeof(*process));
		idmap_add(&waits->processes, (uint64_t)pid, process);
	}
	if (file && file->serial != process->serial) {
		process->pid = pid;
		process->serial = file->serial;
		open_goroutines(waits, process, maps);
	}
	maps_release(maps);
}

static void look_for_all(void *arg)
{
	target_visit(arg, look_for_go, arg);
}

static void on_executed(pid_t pid, void *arg)
{
	struct run *run = arg;
	bool is_wanted = target_follows(run) && processes_find(stacks_processes(run), pid);

	for (size_t i = 0; !is_wanted && i < target_n_pids(run); i++)
		is_wanted = target_pids(run)[i] == pid;
	if (is_wanted)
		look_for_go(pid, run);
}

static bool is_another(void *value, void *arg)
{
	return value != arg;
}

static void on_exited(pid_t pid, void *arg)
{
	struct goroutine_waits *waits = waits_of(arg);
	struct go_process *process = idmap_find(&waits->processes, (uint64_t)pid);

	if (!process)
		return;
	close_process(waits, process);
	idmap_keep(&waits->processes, is_another, process);
	free(process);
}

/* ---- beginning and end ---- */

int goroutine_waits_start(struct run *run)
{
	struct goroutine_waits *waits = waits_of(run);
	struct watch *watch = stacks_watch(run);
	struct watch_handlers handlers = {
		.executed = on_executed, .exited = on_exited, .lost = look_for_all, .arg = run
	};

	if (!is_wanted(run))
		return 0;
	waits->timer_fd = loop_every(run->loop, PERIOD_NS, on_timer, run);
	if (waits->timer_fd < 0)
		return msg_errno(waits->timer_fd, "timer: setup failed");
	if (watch)
		watch_subscribe(watch, &handlers);
	look_for_all(run);
	arm_timer(waits, PERIOD_NS);
	if (!waits->n_open && waits->mode == GOROUTINES_ONLY && !run->command)
		return msg_error("--goroutines only: no process with goroutines that can be read");
	return 0;
}

static void free_process(void *value)
{
	struct go_process *process = value;

	go_goroutines_free(process->goroutines);
	go_program_close(process->program);
	free(process);
}

static void finish(struct run *run)
{
	struct goroutine_waits *waits = waits_of(run);

	if (waits->timer_fd >= 0)
		close(waits->timer_fd);
	idmap_free(&waits->processes, free_process);
	idmap_free(&waits->marks, free);
	idmap_free(&waits->groups, NULL);
}

const struct module goroutines_module = {
	.title = "goroutines",
	.opts = opts,
	.state = DEFAULTS(defaults),
	.check = check_options,
	.finish = finish,
};
