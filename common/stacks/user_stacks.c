// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks of all traced processes: tables are made at the start for every process, then after
 * process events. If a stack lacked tables nevertheless, its process is rescanned. See
 * user_stacks.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "abi/stack.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/signals.h"
#include "modules/target.h"
#include "process/procstate.h"
#include "runtimes/runtimes.h"
#include "stacks/runtime_frames.h"
#include "stacks/unwind_maps.h"
#include "stacks/user_stacks.h"
#include "unwind/unwind_procs.h"
#include "unwind/unwind_remote.h"

#define SWEEP_EXITS  4096
#define UPDATES	     4	       /* attempts for one process */
#define LOG_MAPPINGS (1 << 17) /* 5 MB: 10,000 programs that start and exit within seconds */

struct user_stacks {
	struct run *run;
	bool is_wanted, hits_few, by_cfi;
	struct runtime_settings runtime_settings;
	const char *const *walkers; /* see struct stacks_spec, also for keeps_programs */
	bool keeps_programs;
	struct watch *watch; /* NULL: not opened, or failed */
	bool has_no_watch;   /* opening the watch failed */
	struct processes *processes;
	struct unwind_maps *maps;
	struct unwind_procs *procs;
	struct runtime_frames *frames; /* NULL: no kinds requested, or before load */
	pid_t *changed;		       /* processes changed since the last batch of events */
	size_t n_changed, changed_cap;
	unsigned int n_exits;
};

/*
 * Chooses the kinds that BPF walks: those of running processes. Others are loaded when needed, or,
 * if that is impossible, at once for a command, whose programs are not known yet.
 */
static int configure_runtimes(struct user_stacks *us, const struct user_stacks_options *options,
			      const pid_t *pids, size_t n)
{
	struct runtime_settings *settings = &us->runtime_settings;

	settings->lines = options->lines;
	settings->watched = us->by_cfi && options->runtimes;
	if (settings->watched)
		settings->kinds = us->run->command && options->keeps_programs
					  ? RUNTIME_ALL
					  : runtime_frames_find_kinds(
						    us->run, user_stacks_processes(us), pids, n);
	return runtime_frames_configure(us->run, settings);
}

struct user_stacks *user_stacks_new(struct run *run, const struct user_stacks_options *options)
{
	const char *method = unwind_options_of(run)->method;
	struct user_stacks *us = mem_zalloc(1, sizeof(*us));
	pid_t *pids = NULL;
	size_t n = 0;

	us->run = run;
	us->is_wanted = options->wanted;
	us->hits_few = options->hits_few;
	us->walkers = options->walkers;
	us->keeps_programs = options->keeps_programs;
	us->by_cfi = us->is_wanted && (!method || strcmp(method, "fp"));
	if (us->by_cfi)
		pids = process_list(&n);
	if (unwind_maps_configure(run, us->by_cfi, n) || configure_runtimes(us, options, pids, n)) {
		user_stacks_free(us);
		us = NULL;
	}
	free(pids);
	return us;
}

/* ---- processes ---- */

static uint32_t count_changes(struct user_stacks *us, pid_t pid)
{
	struct process *p = processes_find(us->processes, pid);

	if (p)
		p->has_change = true;
	return unwind_maps_changes(us->maps, pid);
}

/* Reads the count of changes first, so that a change while the mappings are read is noticed. */
static void update_process(struct user_stacks *us, pid_t pid, struct unwind_process *slice)
{
	unwind_procs_update(us->procs, pid, count_changes(us, pid), slice);
}

/* Publishes a slice. If the mappings keep changing meanwhile, BPF gets none. */
static void publish(struct user_stacks *us, pid_t pid, struct unwind_process *slice,
		    bool allow_copies)
{
	if (!slice->count)
		return;
	for (int i = 0; i < UPDATES && slice->count; i++) {
		if (unwind_maps_publish(us->maps, us->procs, pid, slice, allow_copies))
			return;
		*slice = (struct unwind_process){};
		update_process(us, pid, slice);
	}
	unwind_maps_take_other(us->maps, pid, &(struct unwind_process){});
}

/* Returns true for all processes or, if the user listed some, for those and their children. */
static bool is_interesting(const struct user_stacks *us, pid_t pid)
{
	return !target_lists_pids(us->run) || unwind_procs_knows(us->procs, pid);
}

static void on_changed(pid_t pid, void *arg)
{
	struct user_stacks *us = arg;
	struct process *p = processes_find(us->processes, pid);

	if (!is_interesting(us, pid) || (p && p->is_listed))
		return;
	if (p)
		p->is_listed = true;
	*MEM_APPEND(us->changed, us->n_changed, us->changed_cap) = pid;
}

/*
 * Updates processes: the runtime layout before the slice, so that a child that inherits the slice
 * has a layout, too. Stops at a signal, since thousands of processes may need new tables.
 */
static void update_processes(struct user_stacks *us, const pid_t *pids, size_t n, bool allow_copies)
{
	for (size_t i = 0; i < n && !signals_are_pending(); i++) {
		struct unwind_process slice = {};

		update_process(us, pids[i], &slice);
		if (us->frames && !runtime_frames_update(us->frames, pids[i]))
			on_changed(pids[i], us);
		publish(us, pids[i], &slice, allow_copies);
	}
	unwind_procs_begin_rests(us->procs);
}

static void update_all(struct user_stacks *us)
{
	size_t n;
	pid_t *pids;

	if (target_lists_pids(us->run)) {
		update_processes(us, target_pids(us->run), target_n_pids(us->run), true);
		return;
	}
	pids = process_list(&n);
	update_processes(us, pids, n, true);
	free(pids);
}

void user_stacks_learn(struct user_stacks *us, pid_t pid)
{
	if (us->by_cfi)
		update_processes(us, &pid, 1, false);
}

void user_stacks_take_perf_map(pid_t pid, int map_fd, void *arg)
{
	struct user_stacks *us = arg;
	struct process *p = us->procs ? processes_find(us->processes, pid) : NULL;

	if (!p || !p->published || !unwind_maps_take_perf_map(us->maps, p, map_fd) ||
	    p->names & UNWIND_HAS_PERF_MAP)
		return;
	p->names |= UNWIND_HAS_PERF_MAP;
	update_processes(us, &pid, 1, false);
}

struct runtime_instance *user_stacks_find_runtime(pid_t pid, void *user_stacks)
{
	struct user_stacks *us = user_stacks;

	return us->frames ? runtime_frames_find(us->frames, pid) : NULL;
}

void user_stacks_miss_functions(struct user_stacks *us, pid_t pid, bool has_functions)
{
	if (us->frames)
		runtime_frames_miss(us->frames, pid, has_functions);
}

bool user_stacks_take_described(struct user_stacks *us)
{
	return us->frames && runtime_frames_take_described(us->frames);
}

void user_stacks_print_late(const struct user_stacks *us)
{
	if (us->frames)
		runtime_frames_print_late(us->frames);
}

void user_stacks_catch_up(struct user_stacks *us)
{
	if (us->watch)
		watch_read(us->watch);
}

/*
 * Returns true if a new program gets its tables with its first stack, which BPF copies, because few
 * processes have a stack before they exit; else at once. Listed processes are few.
 */
static bool tables_wait(const struct user_stacks *us)
{
	return us->hits_few && !target_lists_pids(us->run);
}

/* Handles an exec: BPF has dropped the process's slice. */
static void on_executed(pid_t pid, void *arg)
{
	struct user_stacks *us = arg;

	if (!tables_wait(us))
		return;
	unwind_procs_exec(us->procs, pid);
	if (us->frames)
		runtime_frames_update(us->frames, pid);
}

/* Removes a child's slice if its parent's was replaced meanwhile: the old space will be reused. */
static void take_other_slice(pid_t pid, void *arg)
{
	struct user_stacks *us = arg;
	struct unwind_process slice = {};

	unwind_procs_find(us->procs, pid, &slice);
	if (unwind_maps_have(us->maps, pid, &slice))
		return;
	unwind_maps_take_other(us->maps, pid, &slice);
	on_changed(pid, us);
}

static void on_forked(pid_t parent, pid_t child, void *arg)
{
	struct user_stacks *us = arg;

	unwind_procs_fork(us->procs, parent, child);
	if (unwind_procs_knows(us->procs, child))
		take_other_slice(child, us);
}

/* Returns false for most short processes: without a stack, BPF has no entry for them. */
static bool may_be_in_maps(const struct user_stacks *us, pid_t pid)
{
	const struct process *p = processes_find(us->processes, pid);

	return !p || p->has_change || p->published;
}

static void take_out_of_maps(pid_t pid, void *arg)
{
	struct user_stacks *us = arg;
	struct process *p = processes_find(us->processes, pid);

	unwind_maps_withdraw(us->maps, pid);
	if (us->frames)
		runtime_frames_forget(us->frames, pid);
	if (p)
		p->has_change = false;
}

static bool is_gone(pid_t pid, void *arg)
{
	const struct user_stacks *us = arg;
	const struct process *p = processes_find(us->processes, pid);

	return (!p || p->exit_ns) && kill(pid, 0) && errno == ESRCH;
}

/* Removes processes whose start or exit event was lost. */
static void sweep_maps(struct user_stacks *us)
{
	unwind_maps_visit(us->maps, is_gone, take_out_of_maps, us);
	if (us->frames)
		runtime_frames_visit(us->frames, is_gone, take_out_of_maps, us);
}

static void on_exited(pid_t pid, void *arg)
{
	struct user_stacks *us = arg;

	if (may_be_in_maps(us, pid))
		take_out_of_maps(pid, us);
	unwind_procs_exit(us->procs, pid);
	if (++us->n_exits % SWEEP_EXITS == 0)
		sweep_maps(us);
}

/*
 * Returns true if the process's tables can wait: it has none, and no runtime, whose functions
 * copied stacks would lack. Opens new files.
 */
static bool may_wait(const struct user_stacks *us, pid_t pid)
{
	return !unwind_procs_knows(us->procs, pid) &&
	       !runtime_frames_preload(us->frames, us->processes, pid);
}

/* Returns false if the process has exited since, or its tables can wait. */
static bool wants_tables(struct user_stacks *us, pid_t pid)
{
	struct process *p = processes_find(us->processes, pid);

	if (p)
		p->is_listed = false;
	return !(p && p->exit_ns) && !(tables_wait(us) && may_wait(us, pid));
}

static void on_drained(void *arg)
{
	struct user_stacks *us = arg;
	size_t n = 0;

	for (size_t i = 0; i < us->n_changed; i++)
		if (wants_tables(us, us->changed[i]))
			us->changed[n++] = us->changed[i];
	update_processes(us, us->changed, n, true);
	us->n_changed = 0;
}

static bool is_unknown(pid_t pid, void *arg)
{
	return !unwind_procs_knows(((const struct user_stacks *)arg)->procs, pid);
}

/*
 * Handles lost events. Children whose fork event was lost have slices, too. If tables wait, only
 * the known processes are rescanned.
 */
static void on_lost(void *arg)
{
	struct user_stacks *us = arg;

	msg_debug("process events: some lost, rescanning processes");
	unwind_maps_visit(us->maps, is_unknown, take_other_slice, us);
	if (tables_wait(us))
		processes_visit_living(us->processes, on_changed, us);
	else
		update_all(us);
}

/* ---- the watch ---- */

static bool open_watch(struct user_stacks *us)
{
	struct processes_options wanted = {
		.max_mappings = LOG_MAPPINGS,
		.only_known = target_lists_pids(us->run),
	};

	us->watch = watch_new(&wanted);
	if (us->watch && watch_start(us->watch, us->run->loop)) {
		watch_free(us->watch);
		us->watch = NULL;
	}
	us->has_no_watch = !us->watch;
	return us->watch;
}

struct watch *user_stacks_watch(struct user_stacks *us)
{
	return us->watch || us->has_no_watch || open_watch(us) ? us->watch : NULL;
}

struct processes *user_stacks_processes(struct user_stacks *us)
{
	static const struct processes_options unfed = { .max_mappings = LOG_MAPPINGS };

	if (us->processes)
		return us->processes;
	if (us->is_wanted)
		user_stacks_watch(us);
	return us->processes = us->watch ? watch_processes(us->watch) : processes_new(&unfed);
}

/* ---- walks from outside ---- */

bool user_stacks_makes_copies(const struct user_stacks *us)
{
	return us->by_cfi;
}

static struct unwind_view view_mappings(const struct user_stacks *us, pid_t pid,
					struct unwind_mappings mappings)
{
	return (struct unwind_view){
		.pid = pid,
		.tables = mappings.count ? unwind_maps_tables(us->maps) : NULL,
		.mappings = mappings.items,
		.n_mappings = mappings.count,
	};
}

/* Adds the process's runtime to the view, if it has one. */
static void view_runtime(const struct user_stacks *us, struct unwind_view *view,
			 struct runtime_process *runtime)
{
	if (!us->frames || !runtime_frames_read(us->frames, view->pid, runtime))
		return;
	view->runtime = runtime;
	view->leave = runtime_code_of(runtime->kind)->leave;
}

static size_t walk_thread(struct user_stacks *us, const struct unwind_thread *thread,
			  bool look_again, uint64_t *words, struct native_frames *frames,
			  int *reason)
{
	struct unwind_view view = { .pid = (pid_t)thread->tgid };
	struct runtime_process runtime;

	if (us->by_cfi && (look_again || !unwind_procs_knows(us->procs, view.pid)))
		update_processes(us, &view.pid, 1, false);
	if (us->by_cfi)
		view = view_mappings(us, view.pid, unwind_procs_published(us->procs, view.pid));
	*frames = (struct native_frames){ 0 };
	view.sps = frames->sps;
	view.framed = frames->framed;
	view.bps = frames->bps;
	view_runtime(us, &view, &runtime);
	return unwind_walk_thread(&view, thread, words, STACK_DEPTH, reason);
}

/* Ignores unread events, since the process itself is read. */
size_t user_stacks_walk_thread(struct user_stacks *us, const struct unwind_thread *thread,
			       const struct runtime_definer *definer, uint64_t *words, int *reason)
{
	struct native_frames frames;
	size_t n = walk_thread(us, thread, false, words, &frames, reason);

	if (*reason == UNWIND_NO_MAPPING)
		n = walk_thread(us, thread, true, words, &frames, reason);
	if (!us->frames || *reason == UNWIND_RAN_ON)
		return n;
	return runtime_frames_walk(us->frames, thread, definer, &frames, n, words, reason);
}

static size_t walk_copy(const struct user_stacks *us, const struct unwind_copy *copy,
			struct unwind_mappings mappings, uint64_t *words, size_t max, int *reason)
{
	struct unwind_view view = view_mappings(us, (pid_t)copy->tgid, mappings);
	struct runtime_process runtime;

	words[0] = copy->regs.ip;
	*reason = UNWIND_NO_PROCESS;
	view.copy = copy;
	view.returns = &copy->returns;
	view_runtime(us, &view, &runtime);
	return mappings.count ? unwind_walk_remote(&view, &copy->regs, words, max, reason) : 1;
}

static bool has_slice_of(const struct user_stacks *us, pid_t pid, uint32_t change,
			 struct unwind_process *slice)
{
	return unwind_procs_find(us->procs, pid, slice) && slice->change == change;
}

/*
 * Returns true if BPF uses the current slice; not if the process was forked before BPF was
 * attached, or inherited its parent's former slice.
 */
static bool is_published(const struct user_stacks *us, pid_t pid, uint32_t change)
{
	struct unwind_process slice;

	return has_slice_of(us, pid, change, &slice) && unwind_maps_have(us->maps, pid, &slice);
}

/*
 * Returns true if the published tables were valid when the stack was copied: they were read at the
 * same count of changes, and nothing has been mapped in between. BPF counts no changes while it has
 * no slice.
 */
static bool holds_of_copy(const struct user_stacks *us, const struct unwind_copy *copy)
{
	pid_t pid = (pid_t)copy->tgid;
	struct unwind_process slice;

	return has_slice_of(us, pid, copy->change, &slice) &&
	       processes_state(us->processes, pid, copy->time_ns) ==
		       processes_state(us->processes, pid,
				       processes_find(us->processes, pid)->published_ns);
}

static size_t walk_copy_now(struct user_stacks *us, const struct unwind_copy *copy, uint64_t *words,
			    size_t max, int *reason)
{
	struct unwind_mappings mappings = {};

	if (holds_of_copy(us, copy))
		mappings = unwind_procs_published(us->procs, (pid_t)copy->tgid);
	return walk_copy(us, copy, mappings, words, max, reason);
}

static bool needs_more(int reason)
{
	return reason == UNWIND_NO_PROCESS || reason == UNWIND_NO_MAPPING;
}

/*
 * Walks a copy. After a change, BPF no longer uses the older tables. Anonymous memory that replaced
 * code is a change without an event: it is noticed here.
 */
size_t user_stacks_walk_copy(struct user_stacks *us, const struct unwind_copy *copy,
			     uint64_t *words, size_t max, int *reason)
{
	pid_t pid = (pid_t)copy->tgid;
	uint32_t change = count_changes(us, pid);
	size_t n;

	if (!is_published(us, pid, change))
		update_processes(us, &pid, 1, true);
	n = walk_copy_now(us, copy, words, max, reason);
	if (needs_more(*reason)) /* the process may have exited, or execed */
		n = walk_copy(us, copy, unwind_procs_recall(us->procs, pid, copy->time_ns), words,
			      max, reason);
	if (!needs_more(*reason) || change != copy->change)
		return n;
	user_stacks_learn(us, pid);
	return walk_copy_now(us, copy, words, max, reason);
}

struct unwind_copy *user_stacks_copy_thread(struct user_stacks *us,
					    const struct unwind_thread *thread)
{
	struct unwind_copy *copy;
	uint32_t change;

	if (!us->by_cfi || unwind_procs_knows(us->procs, (pid_t)thread->tgid))
		return NULL;
	change = count_changes(us, (pid_t)thread->tgid);
	copy = unwind_copy_thread(thread);
	if (copy)
		copy->change = change;
	return copy;
}

/* ---- open, start and close ---- */

static void print_memory(const struct user_stacks *us)
{
	struct unwind_tables_size size = unwind_tables_size(unwind_maps_tables(us->maps));
	struct unwind_procs_stats procs = unwind_procs_stats(us->procs);
	struct processes_stats processes = processes_stats(us->processes);

	msg_debug("unwind tables: %zu files, %llu rows, %u rules, %u patterns, %zu processes, "
		  "%zu mappings, %.1f MB",
		  procs.n_files, (unsigned long long)size.n_rows, size.n_rules, size.n_patterns,
		  processes.n_published, procs.n_mappings,
		  (double)size.n_shards * sizeof(struct unwind_shard) / (1 << 20));
	if (processes.n_dropped)
		msg_warn("table of mappings: full, %llu processes dropped (some frames may be "
			 "[unknown])",
			 (unsigned long long)processes.n_dropped);
	if (procs.n_refused)
		msg_warn("unwind tables: full, %zu files have none (raise --unwind-mem)",
			 procs.n_refused);
}

static int open_tables(struct user_stacks *us)
{
	struct unwind_mapping *array;
	uint32_t n;

	us->maps = unwind_maps_open(us->run);
	if (!us->maps)
		return -ENOMEM;
	array = unwind_maps_array(us->maps, &n);
	us->procs = unwind_procs_new(us->processes, unwind_maps_tables(us->maps), array, n);
	if (us->runtime_settings.watched)
		us->frames =
			runtime_frames_new(us->run, us->watch, unwind_maps_tables(us->maps),
					   &us->runtime_settings, us->walkers, us->keeps_programs);
	return us->runtime_settings.watched && !us->frames ? -EIO : 0;
}

/* Opens events first, so that no process is missed between them and the scan. */
int user_stacks_start(struct user_stacks *us)
{
	struct watch_handlers handlers = { on_forked, on_executed, on_changed, on_exited,
					   on_lost,   on_drained,  us };
	int err;

	if (!us->by_cfi)
		return 0;
	if (!user_stacks_watch(us))
		return -EIO;
	user_stacks_processes(us);
	err = open_tables(us);
	if (err)
		return err;
	watch_subscribe(us->watch, &handlers);
	mem_keep_freed();
	update_all(us);
	mem_give_back();
	print_memory(us);
	return unwind_maps_start(us->maps);
}

bool user_stacks_lack_tables(const struct user_stacks *us)
{
	return us->procs && unwind_procs_stats(us->procs).n_refused;
}

void user_stacks_learn_command(struct user_stacks *us)
{
	if (!us->by_cfi)
		return;
	user_stacks_learn(us, us->run->command_pid);
	unwind_maps_wait(us->maps);
}

void user_stacks_free(struct user_stacks *us)
{
	if (!us)
		return;
	if (us->procs)
		print_memory(us);
	runtime_frames_free(us->frames);
	unwind_procs_free(us->procs);
	unwind_maps_close(us->maps);
	if (us->watch)
		watch_free(us->watch);
	else
		processes_free(us->processes);
	free(us->changed);
	free(us);
}
