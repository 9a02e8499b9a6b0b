// SPDX-License-Identifier: GPL-2.0-only
/* Probes on allocators, process by process; see leak_probes.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/leak_options.h"
#include "memleak/leak_probes.h"
#include "process/procstate.h"
#include "run/bpfmap.h"

#define WINDOW_NS   (50 * NS_PER_MS)  /* length of a window; attaching takes 1 % of it */
#define RELEASE_NS  (5 * NS_PER_S)    /* minimum time between searches for unmapped files */
#define CLOSE_NS    (125 * NS_PER_MS) /* maximum time per tick for closing links */
#define CLOSING_MAX 8 /* dropped sets of links that may stay open after probe_again() */

/* Probes in a file. */
struct file_probes {
	struct uprobes *links; /* links of permanent probes; NULL: none */

	/* probes attached in windows */
	pid_t pid;
	struct uprobe_point *points;
	size_t n_points;
	struct uprobes *window_links; /* links of an open window; NULL: not attached */
};

/*
 * Windows of time in which allocating functions are probed; between windows they cost nothing.
 * Freeing functions are always probed, so that frees of recorded blocks are seen. A reallocated
 * block is recorded if its last reallocation is in a window, so that each has the same chance. Gaps
 * have random lengths: windows must not always, or never, hit periodic work.
 */
struct windows {
	uint64_t gap_ns;  /* average gap between windows; 0: no windows, permanent probes */
	int timer_fd;	  /* -1: windows have not begun, or have ended */
	uint32_t *number; /* in BPF: number of the open window; 0: none */
	uint32_t n_opened;
	uint64_t opened_ns, open_ns; /* start of the open window; total length of all */
	bool has_failed;	     /* some probes could not be attached */
};

struct leak_probes {
	const struct run *run;
	struct uprobes_programs programs;
	struct allocators_request request;
	bool for_all;
	struct windows windows;

	struct idmap processes;	  /* struct probed_process by pid */
	struct allocators common; /* used if for_all: allocators of all processes */

	/*
	 * Links of dropped probes, to be closed later: closing one takes some 50 ms, in which no
	 * ring buffer is read. Until then, calls are counted twice if the file is probed again.
	 */
	struct uprobes **closing;
	size_t n_closing, closing_cap;

	uint64_t released_ns; /* time of the last release of files */
	bool has_changed;     /* processes changed since then */
	size_t n_functions;
};

/* Calls visit for the allocators of all processes. */
static void visit_found(struct leak_probes *probes,
			void (*visit)(struct leak_probes *probes, struct allocators *found))
{
	const struct probed_process *process;

	visit(probes, &probes->common);
	for (size_t at = 0; (process = idmap_next(&probes->processes, &at));)
		if (process->found != &probes->common)
			visit(probes, process->found);
}

/* ---- windows ---- */

/* Computes the gap. Fails if probes can only be attached one by one, which takes too long. */
static int prepare_windows(struct leak_probes *probes)
{
	const struct leak_options *options = probes->run->options;

	if (!options->duty_percent)
		return 0;
	probes->windows.gap_ns = WINDOW_NS * (100 - options->duty_percent) / options->duty_percent;
	if (probes->programs.mode != UPROBES_PERF)
		return 0;
	return msg_error(
		"--duty-cycle: no uprobe.multi links (needs Linux 6.10 and a live main thread)");
}

static bool window_is_open(const struct windows *windows)
{
	return windows->number && *windows->number;
}

/*
 * Attaches the probes of windows, in files that were mapped at the last search. Ignores exited
 * processes; reports other failures once.
 */
static void attach_in_window(struct leak_probes *probes, struct allocators *found)
{
	for (size_t i = 0; i < found->n_files; i++) {
		struct file_probes *at = found->files[i].probes;

		if (!at || !at->n_points || !found->files[i].was_mapped)
			continue;
		at->window_links =
			uprobes_attach(&probes->programs, at->pid, at->points, at->n_points);
		if (at->window_links || errno == ESRCH)
			continue;
		if (!probes->windows.has_failed)
			msg_errno(-errno, "uprobes: attach in a --duty-cycle window failed");
		probes->windows.has_failed = true;
	}
}

static void detach_after_window(struct leak_probes *probes, struct allocators *found)
{
	(void)probes;
	for (size_t i = 0; i < found->n_files; i++) {
		struct file_probes *at = found->files[i].probes;

		if (!at)
			continue;
		uprobes_detach(at->window_links);
		at->window_links = NULL;
	}
}

/* Opens a window, which counts all calls: the probes are attached first. */
static void open_window(struct leak_probes *probes)
{
	struct windows *windows = &probes->windows;

	visit_found(probes, attach_in_window);
	windows->opened_ns = clock_now_ns();
	*(volatile uint32_t *)windows->number = ++windows->n_opened;
}

static void close_window(struct leak_probes *probes)
{
	struct windows *windows = &probes->windows;

	*(volatile uint32_t *)windows->number = 0;
	windows->open_ns += clock_now_ns() - windows->opened_ns;
	visit_found(probes, detach_after_window);
}

/* Returns a random gap, from 1/2 to 3/2 of the average. */
static uint64_t random_gap(const struct windows *windows)
{
	uint32_t random = UINT32_MAX / 2;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return windows->gap_ns / 2 + (uint64_t)((double)windows->gap_ns * random / UINT32_MAX);
}

/*
 * Returns when the next window begins; the previous one should have ended at end_ns. With many
 * files, detaching takes longer than a gap: the next window then waits as long as the detaching
 * took.
 */
static uint64_t end_of_gap(const struct windows *windows, uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), at_ns = end_ns + random_gap(windows);
	uint64_t first_ns = now_ns + (now_ns - end_ns);

	return at_ns > first_ns ? at_ns : first_ns;
}

/* Sets the timer to at_ns on CLOCK_MONOTONIC; expires at once if that has passed. */
static int set_timer(const struct windows *windows, uint64_t at_ns)
{
	struct itimerspec spec = { .it_value = clock_timer_time(at_ns) };

	return timerfd_settime(windows->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct leak_probes *probes = arg;
	struct windows *windows = &probes->windows;
	uint64_t expirations, now_ns = clock_now_ns();

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	if (window_is_open(windows)) {
		close_window(probes);
		set_timer(windows, end_of_gap(windows, now_ns));
	} else {
		open_window(probes);
		set_timer(windows, windows->opened_ns + WINDOW_NS);
	}
	return LOOP_GO;
}

int leak_probes_begin(struct leak_probes *probes)
{
	struct windows *windows = &probes->windows;
	struct loop *loop = probes->run->loop;
	int err;

	if (!windows->gap_ns)
		return 0;
	windows->number = map_memory(probes->run, ".data.window");
	if (!windows->number)
		return -EIO;
	windows->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (windows->timer_fd < 0)
		return msg_errno(-errno, "timer: setup failed");
	err = loop_watch(loop, windows->timer_fd, on_timer, probes);
	if (!err)
		err = loop_make_urgent(loop, windows->timer_fd);
	if (!err)
		err = set_timer(windows, clock_now_ns() + random_gap(windows));
	return err ? msg_errno(err, "timer: watch failed") : 0;
}

static void end_windows(struct leak_probes *probes)
{
	if (probes->windows.timer_fd >= 0)
		close(probes->windows.timer_fd);
	probes->windows.timer_fd = -1;
	if (window_is_open(&probes->windows))
		close_window(probes);
}

/*
 * Prints the windows' share of time. Totals are not extrapolated: probes slow the program down, so
 * it makes fewer calls in a window than outside.
 */
void leak_probes_print(const struct leak_probes *probes)
{
	const struct windows *windows = &probes->windows;
	const struct leak_options *options = probes->run->options;
	double duration_ns = (double)(probes->run->end_ns - probes->run->start_ns);
	char sample[32] = "";

	if (!windows->gap_ns)
		return;
	if (!windows->n_opened) {
		msg_warn("--duty-cycle: no window has begun, no allocation was traced");
		return;
	}
	if (options->sample > 1)
		snprintf(sample, sizeof(sample), ", one address in %u", options->sample);
	msg_info("allocations traced for %.1f %% of the time, in %u window%s%s (only blocks of "
		 "these windows are shown)",
		 100 * (double)windows->open_ns / duration_ns, windows->n_opened,
		 windows->n_opened == 1 ? "" : "s", sample);
}

/* ---- processes ---- */

static int prepare_programs(struct uprobes_programs *programs, bool by_thread)
{
	int err = by_thread ? uprobes_prepare_mode(programs, UPROBES_PERF)
			    : uprobes_prepare(programs);

	return err && by_thread ? msg_errno(err, "uprobes: attach failed") : err;
}

struct leak_probes *leak_probes_new(const struct run *run, const struct uprobes_programs *programs,
				    const struct allocators_request *request, bool for_all,
				    bool by_thread)
{
	struct leak_probes *probes = mem_zalloc(1, sizeof(*probes));

	probes->run = run;
	probes->programs = *programs;
	probes->request = *request;
	probes->for_all = for_all;
	probes->windows.timer_fd = -1;
	if (!prepare_programs(&probes->programs, by_thread) && !prepare_windows(probes))
		return probes;
	leak_probes_free(probes);
	return NULL;
}

static struct probed_process *find_process(const struct leak_probes *probes, pid_t pid)
{
	return idmap_find(&probes->processes, (uint64_t)pid);
}

const struct probed_process *leak_probes_find(const struct leak_probes *probes, pid_t pid)
{
	return probes ? find_process(probes, pid) : NULL;
}

static struct probed_process *find_or_add(struct leak_probes *probes, pid_t pid)
{
	struct probed_process *process = find_process(probes, pid);

	if (process)
		return process;
	process = mem_zalloc(1, sizeof(*process));
	process->pid = pid;
	process->found = probes->for_all ? &probes->common : mem_zalloc(1, sizeof(*process->found));
	idmap_add(&probes->processes, (uint64_t)pid, process);
	return process;
}

static struct uprobe_point make_point(const struct allocators *found,
				      const struct alloc_function *f)
{
	return (struct uprobe_point){
		.fd = found->files[f->file].fd,
		.offset = f->offset + f->place.offset,
		.cookie = f->kind,
		.wants_return = alloc_kind_traits(f->kind)->wants_return,
		.is_brief = f->kind == ALLOC_FREE || f->kind == ALLOC_DELETE,
	};
}

static void note_function(struct leak_probes *probes, const struct alloc_file *file,
			  const struct alloc_function *f, int err)
{
	if (err) {
		msg_warn("%s of %s: can't be probed: %s", f->name, file->path, strerror(-err));
		return;
	}
	probes->n_functions++;
	msg_debug("%s of %s: probed at +%u (%s)", f->name, file->path, f->place.offset,
		  probe_kind_name(f->place.kind));
}

static bool file_has_malloc(const struct allocators *found, size_t file)
{
	for (size_t i = 0; i < found->n_functions; i++)
		if (found->functions[i].file == file && found->functions[i].kind == ALLOC_MALLOC)
			return true;
	return false;
}

/*
 * Returns true for functions that are not probed. Operators of the C++ library call malloc() and
 * free(), where probes suffice; an allocator's own operators are probed. But an exception thrown
 * through a function with a probed return ends the program: so operator new is probed only in the
 * mode that can skip a single return, see may_throw() in memleak.bpf.c.
 */
static bool is_left_out(const struct leak_probes *probes, const struct allocators *found,
			const struct alloc_function *f)
{
	if (f->kind != ALLOC_NEW && f->kind != ALLOC_DELETE)
		return false;
	if (f->kind == ALLOC_NEW && probes->programs.mode != UPROBES_SESSION)
		return true;
	return !file_has_malloc(found, f->file);
}

/*
 * Returns true for functions that can't be probed. Not left to the kernel: an old one might accept
 * the probe and break the program.
 */
static bool is_refused(const struct alloc_function *f)
{
	return f->place.kind == PROBE_REFUSED;
}

/* Warns of functions from index `first` on that can't be probed. */
static void warn_of_refused(const struct leak_probes *probes, const struct allocators *found,
			    size_t first)
{
	for (size_t i = first; i < found->n_functions; i++) {
		const struct alloc_function *f = &found->functions[i];

		if (is_refused(f) && !is_left_out(probes, found, f))
			msg_warn("%s of %s: can't be probed: no suitable instruction at its entry",
				 f->name, found->files[f->file].path);
	}
}

/* Functions to be probed together, and their probe points. */
struct batch {
	const struct alloc_function **functions;
	struct uprobe_point *points;
	size_t n;
};

/* Returns true if a kind is probed in windows; kinds that may free a block are always probed. */
static bool is_in_windows(const struct leak_probes *probes, enum alloc_kind kind)
{
	return probes->windows.gap_ns && kind < ALLOC_MMAP && kind != ALLOC_REALLOC &&
	       kind != ALLOC_REALLOCARRAY;
}

/* Collects functions of one file, from index `first` on, probed in windows or permanently. */
static struct batch choose_functions(const struct leak_probes *probes,
				     const struct allocators *found, size_t first, bool in_windows)
{
	size_t most = found->n_functions - first, file = found->functions[first].file;
	struct batch batch = {
		.functions = mem_zalloc(most, sizeof(struct alloc_function *)),
		.points = mem_zalloc(most, sizeof(struct uprobe_point)),
	};

	for (size_t i = first; i < found->n_functions && found->functions[i].file == file; i++) {
		const struct alloc_function *f = &found->functions[i];

		if (is_in_windows(probes, f->kind) != in_windows || is_left_out(probes, found, f) ||
		    is_refused(f))
			continue;
		batch.functions[batch.n] = f;
		batch.points[batch.n++] = make_point(found, f);
	}
	return batch;
}

/* Attaches a batch. Returns 0, or -errno if no point could be attached, even between windows. */
static int attach_batch(struct leak_probes *probes, const struct probed_process *process,
			struct alloc_file *file, const struct batch *batch, bool in_windows)
{
	pid_t pid = probes->for_all ? 0 : process->anchor ? process->anchor : process->pid;
	struct uprobes *links = uprobes_attach(&probes->programs, pid, batch->points, batch->n);
	struct file_probes *at = file->probes;
	int err = links ? 0 : -errno;

	file->stays_open = in_windows || !probes->for_all;
	if (err)
		return err;
	if (!at)
		at = file->probes = mem_zalloc(1, sizeof(*at));
	if (!in_windows) {
		at->links = links;
		return 0;
	}
	at->pid = pid;
	at->n_points = batch->n;
	at->points = mem_zalloc(batch->n, sizeof(*at->points));
	memcpy(at->points, batch->points, batch->n * sizeof(*at->points));
	if (window_is_open(&probes->windows))
		at->window_links = links;
	else
		uprobes_detach(links); /* was attached only to detect failures */
	return 0;
}

/* Prints one hint if functions could not be probed because of a limit. */
static void hint_at_limit(const struct batch *batch)
{
	const char *hint = NULL;
	char text[128];

	for (size_t i = 0; !hint && i < batch->n; i++)
		if (limit_is_reached(batch->points[i].err))
			hint = limit_hint(batch->points[i].err, text, sizeof(text));
	if (hint)
		msg_hint("%s", hint);
}

/* Probes functions of a file, from index `first` on. Returns 1, 0 if there are none, or -errno. */
static int probe_file(struct leak_probes *probes, const struct probed_process *process,
		      size_t first, bool in_windows)
{
	const struct allocators *found = process->found;
	struct alloc_file *file = &found->files[found->functions[first].file];
	struct batch batch = choose_functions(probes, found, first, in_windows);
	int err = batch.n ? attach_batch(probes, process, file, &batch, in_windows) : 0;

	for (size_t i = 0; i < batch.n; i++) {
		if (err && !batch.points[i].err)
			batch.points[i].err = err;
		note_function(probes, file, batch.functions[i], batch.points[i].err);
	}
	if (!err)
		hint_at_limit(&batch);
	free(batch.functions);
	free(batch.points);
	return err ? err : batch.n > 0;
}

/*
 * Probes a process's functions from index `first` on: those for windows, or all others. Returns 0,
 * or -errno if none could be attached; -ESRCH also if some could not because of an exec.
 */
static int probe_some(struct leak_probes *probes, const struct probed_process *process,
		      size_t first, bool in_windows)
{
	const struct allocators *found = process->found;
	bool is_any_attached = false, is_in_exec = false;
	int err = 0;

	for (size_t i = first; i < found->n_functions; i++) {
		size_t file = found->functions[i].file;
		int result;

		if (found->files[file].fd < 0 ||
		    (i > first && file == found->functions[i - 1].file))
			continue;
		result = probe_file(probes, process, i, in_windows);
		is_any_attached |= result > 0;
		is_in_exec |= result == -ESRCH;
		err = result < 0 ? result : err;
	}
	return is_in_exec ? -ESRCH : is_any_attached ? 0 : err;
}

/* Probes functions from `first` on; freeing ones first: each recorded block's free must be seen. */
static int probe_functions(struct leak_probes *probes, const struct probed_process *process,
			   size_t first)
{
	int err = probe_some(probes, process, first, false);

	return err || !probes->windows.gap_ns ? err : probe_some(probes, process, first, true);
}

/*
 * Finds the thread by which the kernel identifies the process's memory: the main one or, if each
 * probe has its own event, any. Returns false if there is none.
 */
static bool find_anchor(const struct leak_probes *probes, struct probed_process *process)
{
	pid_t live = process_live_task(process->pid);

	if (probes->for_all)
		return true;
	if (probes->programs.mode == UPROBES_PERF)
		process->anchor = live;
	else if (live != process->pid)
		msg_warn("process %d: libraries loaded from now on are not probed: its main thread "
			 "has exited",
			 process->pid);
	return process->anchor || live == process->pid;
}

/* ---- dropping probes ---- */

static void drop_links(struct leak_probes *probes, struct uprobes *links)
{
	if (!links)
		return;
	*MEM_APPEND(probes->closing, probes->n_closing, probes->closing_cap) = links;
}

static void drop_probes(struct alloc_file *file, void *arg)
{
	struct file_probes *at = file->probes;

	if (!at)
		return;
	drop_links(arg, at->links);
	drop_links(arg, at->window_links);
	free(at->points);
	free(at);
	file->probes = NULL;
}

static void drop_all(struct leak_probes *probes, struct allocators *found)
{
	for (size_t i = 0; i < found->n_files; i++)
		drop_probes(&found->files[i], probes);
}

/* Closes dropped links, one by one, until n_left are left or most_ns have passed. */
static void close_links(struct leak_probes *probes, size_t n_left, uint64_t most_ns)
{
	uint64_t begin_ns = clock_now_ns();

	while (probes->n_closing > n_left && clock_now_ns() - begin_ns < most_ns)
		if (!uprobes_detach_one(probes->closing[probes->n_closing - 1]))
			probes->n_closing--;
}

/* ---- searching and probing ---- */

/* Returns true if probes are not bound: a thread other than the main one has called exec. */
static bool needs_new_probes(const struct probed_process *process)
{
	const struct allocators *found = process->found;
	bool needs = process->is_unbound;

	for (size_t i = 0; !needs && i < found->n_files; i++) {
		const struct file_probes *at = found->files[i].probes;

		needs = at && at->links && !uprobes_are_bound(at->links);
	}
	return needs;
}

/*
 * Probes all functions again after an exec by a thread other than the main one, mostly before the
 * new program has mapped its libraries. Closes dropped links first if there are many, for a limited
 * time.
 */
static int probe_again(struct leak_probes *probes, struct probed_process *process)
{
	int err;

	if (process_has_ended(process->pid) || process_live_task(process->pid) != process->pid)
		return 0;
	msg_debug("process %d: exec by a thread, probed again", process->pid);
	drop_all(probes, process->found);
	process->anchor = process->anchor ? process->pid : 0;
	err = probe_functions(probes, process, 0);
	process->is_unbound = err == -ESRCH; /* during the next exec */
	close_links(probes, CLOSING_MAX, CLOSE_NS);
	return err;
}

/* Probes functions found by a search, from index `first` on. */
static int probe_new(struct leak_probes *probes, struct probed_process *process, size_t first)
{
	int err;

	if (!find_anchor(probes, process))
		return -ESRCH;
	warn_of_refused(probes, process->found, first);
	err = probe_functions(probes, process, first);
	process->is_unbound |= err == -ESRCH;
	return err;
}

int leak_probes_add(struct leak_probes *probes, pid_t pid)
{
	struct probed_process *process = find_or_add(probes, pid);
	int err = needs_new_probes(process) ? probe_again(probes, process) : 0;
	uint64_t begin_ns = clock_now_ns();
	int n = allocators_scan(process->found, pid, &probes->request);

	if (!process_has_ended(pid))
		process->searched_ns = begin_ns;
	probes->has_changed = true;
	process->had_ended = process->has_exited = false;
	if (n > 0)
		n = probe_new(probes, process, process->found->n_functions - (size_t)n);
	allocators_close(process->found);
	return n ? n : err;
}

/* Returns true if the thread that holds the probes has exited, or has been replaced by an exec. */
static bool has_lost_anchor(const struct probed_process *process)
{
	pid_t pid = process->pid, anchor = process->anchor;

	return anchor && !process_has_ended(pid) &&
	       (anchor == pid ? process_live_task(pid) != pid : process_has_ended(anchor));
}

size_t leak_probes_count(const struct leak_probes *probes)
{
	return probes->n_functions;
}

/* ---- release ---- */

void leak_probes_detach(struct leak_probes *probes)
{
	if (!probes)
		return;
	end_windows(probes);
	visit_found(probes, drop_all);
	close_links(probes, 0, UINT64_MAX);
}

static void leave_file(struct alloc_file *file, void *arg)
{
	msg_debug("%s: no longer mapped by any process", file->path);
	drop_probes(file, arg);
}

static void release_files(struct leak_probes *probes, struct allocators *found)
{
	probes->has_changed |= allocators_release(found, leave_file, probes);
}

/*
 * Removes probes from files that no process maps, now and at the last search: probes occupy the
 * disk space of a deleted file.
 */
static void release_unmapped(struct leak_probes *probes)
{
	const struct probed_process *process;
	uint64_t now_ns = clock_now_ns();

	if (!probes->has_changed || now_ns - probes->released_ns < RELEASE_NS)
		return;
	probes->released_ns = now_ns;
	probes->has_changed = false;
	for (size_t at = 0; (process = idmap_next(&probes->processes, &at));)
		if (!process->has_exited)
			allocators_mark(process->found, process->pid);
	visit_found(probes, release_files);
}

/* Returns true if the anchor was lost at the last tick, too: not only during an exec. */
static bool stays_lost(struct probed_process *process)
{
	bool was_lost = process->was_lost;

	process->was_lost = has_lost_anchor(process);
	return process->was_lost && was_lost;
}

enum loop_verdict leak_probes_tick(struct leak_probes *probes)
{
	struct probed_process *process;
	pid_t lost = 0;

	release_unmapped(probes);
	close_links(probes, 0, CLOSE_NS);
	for (size_t at = 0; (process = idmap_next(&probes->processes, &at));)
		if (stays_lost(process))
			lost = process->pid;
	if (!lost)
		return LOOP_GO;
	msg_warn("process %d: detached: the thread that its probes were bound to has exited "
		 "(blocks freed at the very end are still shown)",
		 lost);
	return LOOP_STOP;
}

bool leak_probes_end(struct leak_probes *probes, pid_t pid, const struct maps *maps)
{
	struct probed_process *process = find_process(probes, pid);
	bool is_newer = false;

	if (!process)
		return false;
	process->has_exited = probes->has_changed = true;
	for (size_t i = 0; maps && !is_newer && i < maps->count; i++)
		is_newer = maps->items[i].time_ns > process->searched_ns;
	return is_newer && !allocators_are_probed(process->found, maps);
}

static void free_process(struct probed_process *process, struct leak_probes *probes)
{
	if (process->found != &probes->common) {
		drop_all(probes, process->found);
		allocators_free(process->found);
		free(process->found);
	}
	free(process);
}

/*
 * Frees a process that had exited at the last report. Others stay: this report may lack their last
 * blocks, which are in the next one.
 */
static bool is_kept(void *value, void *arg)
{
	struct probed_process *process = value;

	if (process->had_ended) {
		free_process(process, arg);
		return false;
	}
	process->had_ended = process_has_ended(process->pid);
	return true;
}

void leak_probes_release(struct leak_probes *probes)
{
	idmap_keep(&probes->processes, is_kept, probes);
}

void leak_probes_free(struct leak_probes *probes)
{
	struct probed_process *process;

	if (!probes)
		return;
	leak_probes_detach(probes);
	for (size_t at = 0; (process = idmap_next(&probes->processes, &at));)
		free_process(process, probes);
	idmap_free(&probes->processes, NULL);
	allocators_free(&probes->common);
	free(probes->closing);
	free(probes);
}
