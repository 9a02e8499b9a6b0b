// SPDX-License-Identifier: GPL-2.0-only
/* Probes on allocators, process by process; see leak_probes.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "abi/filter.h"
#include "base/clock.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/leak_options.h"
#include "memleak/leak_probes.h"
#include "process/cgroups.h"
#include "process/procstate.h"
#include "run/bpfmap.h"

/* ---- leak windows ---- */

#define WINDOW_NS (50 * NS_PER_MS) /* attaching takes 1 % of it */

/* Probe points of one process, or of all. */
struct window_part {
	pid_t pid;
	struct uprobe_point *points;
	size_t n;
	struct uprobes *links; /* NULL: not attached */
};

struct leak_windows {
	const struct run *run;
	struct uprobes_programs programs;
	uint64_t gap_ns;  /* between two, on average */
	int timer_fd;	  /* -1: not begun, or ended */
	uint32_t *number; /* BPF's number of the open window; 0: none is open */
	uint32_t n_opened;
	uint64_t opened_ns, open_ns; /* start of the window, and total length of all windows */
	struct window_part **parts;
	size_t n_parts, parts_cap;
	bool has_failed; /* to attach some */
};

struct leak_windows *leak_windows_new(const struct run *run, uint32_t percent)
{
	struct leak_windows *windows = mem_zalloc(1, sizeof(*windows));

	windows->run = run;
	windows->gap_ns = WINDOW_NS * (100 - percent) / percent;
	windows->timer_fd = -1;
	return windows;
}

/*
 * Called once the attach mode is known. 0, or -ENOTSUP, printed, if probes are attached one by one,
 * which takes too long.
 */
static int leak_windows_prepare(struct leak_windows *windows,
				const struct uprobes_programs *programs)
{
	windows->programs = *programs;
	if (programs->mode != UPROBES_PERF)
		return 0;
	return msg_error(
		"--duty-cycle: no uprobe.multi links (needs Linux 6.10 and a live main thread)");
}

/* ---- parts ---- */

static bool is_open(const struct leak_windows *windows)
{
	return windows->number && *windows->number;
}

static void free_part(struct window_part *part)
{
	uprobes_detach(part->links);
	for (size_t i = 0; i < part->n; i++)
		if (!i || part->points[i].fd != part->points[i - 1].fd)
			close(part->points[i].fd);
	free(part->points);
	free(part);
}

/* Copies points, with descriptors of its own, one per file. 0 or -errno. */
static int copy_points(struct window_part *part, const struct uprobe_point *points, size_t n)
{
	int fd = -1;

	part->points = mem_zalloc(n, sizeof(*points));
	for (; part->n < n; part->n++) {
		if (!part->n || points[part->n].fd != points[part->n - 1].fd)
			fd = fcntl(points[part->n].fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		part->points[part->n] = points[part->n];
		part->points[part->n].fd = fd;
	}
	return 0;
}

static struct window_part *make_part(const struct leak_windows *windows, pid_t pid,
				     struct uprobe_point *points, size_t n)
{
	struct window_part *part = mem_zalloc(1, sizeof(*part));
	int err;

	part->pid = pid;
	part->links = uprobes_attach(&windows->programs, pid, points, n);
	err = part->links ? copy_points(part, points, n) : -errno;
	if (!err)
		return part;
	free_part(part);
	errno = -err;
	return NULL;
}

/* Attaches once even if no window is open, so that failures are reported at once. */
static struct window_part *leak_windows_add(struct leak_windows *windows, pid_t pid,
					    struct uprobe_point *points, size_t n)
{
	struct window_part *part = make_part(windows, pid, points, n);

	if (!part)
		return NULL;
	if (!is_open(windows)) {
		uprobes_detach(part->links);
		part->links = NULL;
	}
	windows->parts = mem_grow(windows->parts, windows->n_parts, &windows->parts_cap,
				  sizeof(struct window_part *));
	windows->parts[windows->n_parts++] = part;
	return part;
}

/* Removes these points; NULL does nothing. */
static void leak_windows_drop(struct leak_windows *windows, struct window_part *part)
{
	size_t i = 0;

	if (!part)
		return;
	while (windows->parts[i] != part)
		i++;
	windows->parts[i] = windows->parts[--windows->n_parts];
	free_part(part);
}

/* ---- windows ---- */

/* Parts of an exited process can't be attached any more; other failures are reported, once. */
static void attach_parts(struct leak_windows *windows)
{
	for (size_t i = 0; i < windows->n_parts; i++) {
		struct window_part *part = windows->parts[i];

		part->links = uprobes_attach(&windows->programs, part->pid, part->points, part->n);
		if (part->links || errno == ESRCH)
			continue;
		if (!windows->has_failed)
			msg_errno(-errno, "uprobes: attach in a --duty-cycle window failed");
		windows->has_failed = true;
	}
}

static void detach_parts(struct leak_windows *windows)
{
	for (size_t i = 0; i < windows->n_parts; i++) {
		uprobes_detach(windows->parts[i]->links);
		windows->parts[i]->links = NULL;
	}
}

/* Calls count from here on, all of them: the probes are there. */
static void open_window(struct leak_windows *windows)
{
	attach_parts(windows);
	windows->opened_ns = clock_now_ns();
	*(volatile uint32_t *)windows->number = ++windows->n_opened;
}

static void close_window(struct leak_windows *windows)
{
	*(volatile uint32_t *)windows->number = 0;
	windows->open_ns += clock_now_ns() - windows->opened_ns;
	detach_parts(windows);
}

/* Returns a random length, from half of the usual one to three halves. */
static uint64_t random_gap(const struct leak_windows *windows)
{
	uint32_t random = UINT32_MAX / 2;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return windows->gap_ns / 2 + (uint64_t)((double)windows->gap_ns * random / UINT32_MAX);
}

/* At a moment of the clock, or now if that has passed: detaching takes a while. */
static int set_timer(const struct leak_windows *windows, uint64_t at_ns)
{
	struct itimerspec spec = { .it_value = clock_timer_time(at_ns) };

	return timerfd_settime(windows->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct leak_windows *windows = arg;
	uint64_t expirations, now_ns = clock_now_ns();

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	if (is_open(windows)) {
		close_window(windows);
		set_timer(windows, now_ns + random_gap(windows));
	} else {
		open_window(windows);
		set_timer(windows, windows->opened_ns + WINDOW_NS);
	}
	return LOOP_GO;
}

int leak_windows_begin(struct leak_windows *windows)
{
	int err;

	windows->number = map_memory(windows->run, ".data.window");
	if (!windows->number)
		return -EIO;
	windows->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (windows->timer_fd < 0)
		return msg_errno(-errno, "timer: setup failed");
	err = loop_watch(windows->run->loop, windows->timer_fd, on_timer, windows);
	if (!err)
		err = loop_make_urgent(windows->run->loop, windows->timer_fd);
	if (!err)
		err = set_timer(windows, clock_now_ns() + random_gap(windows));
	return err ? msg_errno(err, "timer: watch failed") : 0;
}

/* Nothing is attached any more. */
static void leak_windows_end(struct leak_windows *windows)
{
	if (windows->timer_fd >= 0)
		close(windows->timer_fd);
	windows->timer_fd = -1;
	if (is_open(windows))
		close_window(windows);
}

/* ---- the end ---- */

/*
 * Totals can't be extrapolated: a program makes fewer calls in a window than in the same time
 * outside of it, as the probes slow it down.
 */
void leak_windows_print(const struct leak_windows *windows)
{
	const struct leak_options *options = windows->run->options;
	double duration_ns = (double)(windows->run->end_ns - windows->run->start_ns);
	char sample[32] = "";

	if (!windows->n_opened) {
		msg_warn("--duty-cycle: no window has begun, no allocation was traced");
		return;
	}
	if (options->sample > 1)
		snprintf(sample, sizeof(sample), ", one address in %u", options->sample);
	msg_info("allocations traced for %.1f %% of the time, in %u window%s%s (only their blocks "
		 "are shown)",
		 100 * (double)windows->open_ns / duration_ns, windows->n_opened,
		 windows->n_opened == 1 ? "" : "s", sample);
}

void leak_windows_free(struct leak_windows *windows)
{
	if (!windows)
		return;
	leak_windows_end(windows);
	free(windows->parts);
	free(windows);
}

/* ---- leak probes ---- */

#define CLOSING_NS (50 * NS_PER_MS)

/* Probes in a file. */
struct file_probes {
	struct uprobes *links;	  /* all the time; NULL: none */
	struct window_part *part; /* in windows; NULL: none */
};

struct probed_process {
	pid_t pid;
	char comm[TASK_COMM_LEN];
	uint64_t cgroup_id;	  /* 0: unknown */
	pid_t anchor;		  /* the thread that its probes are bound to; 0: none */
	struct allocators *found; /* allocators shared by all processes, or its own */
	bool has_exited;
	bool had_ended; /* set if it had exited when the last report was done */
};

struct leak_probes {
	struct uprobes_programs programs;
	struct allocators_request request;
	bool for_all;
	struct leak_windows *windows; /* NULL: all functions are probed all the time */

	struct idmap processes;	  /* by pid */
	struct allocators common; /* for_all: of all of them */

	/* links of files that were released: leak_probes_close_some() */
	struct uprobes **closing;
	size_t n_closing, closing_cap;
	bool has_changed; /* since the last release of files, so that some may be unused */

	size_t n_functions;
};

static int prepare_programs(struct uprobes_programs *programs, bool by_thread)
{
	int err = by_thread ? uprobes_prepare_mode(programs, UPROBES_PERF)
			    : uprobes_prepare(programs);

	return err && by_thread ? msg_errno(err, "uprobes: attach failed") : err;
}

struct leak_probes *leak_probes_new(const struct uprobes_programs *programs,
				    const struct allocators_request *request, bool for_all,
				    bool by_thread, struct leak_windows *windows)
{
	struct leak_probes *probes = mem_zalloc(1, sizeof(*probes));

	probes->programs = *programs;
	probes->request = *request;
	probes->for_all = for_all;
	probes->windows = windows;
	if (!prepare_programs(&probes->programs, by_thread) &&
	    (!windows || !leak_windows_prepare(windows, &probes->programs)))
		return probes;
	leak_probes_free(probes);
	return NULL;
}

static struct probed_process *find_process(const struct leak_probes *probes, pid_t pid)
{
	return idmap_find(&probes->processes, (uint64_t)pid);
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
 * The C++ library's operators call malloc() and free(), and probes there are enough. The operators
 * of an allocator are probed. But an exception that is thrown through a function whose return is
 * probed ends the program: so operator new is probed only in the mode that can leave out a single
 * return, see may_throw() in memleak.bpf.c.
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

/* Decided here, not by the kernel: an old one might accept such a probe, and break the program. */
static bool is_refused(const struct allocators *found, const struct alloc_function *f)
{
	if (f->place.kind != PROBE_REFUSED)
		return false;
	msg_warn("%s of %s: can't be probed: no suitable instruction at its entry", f->name,
		 found->files[f->file].path);
	return true;
}

/* Functions to be probed together, with a point for each. */
struct batch {
	const struct alloc_function **functions;
	struct uprobe_point *points;
	size_t n;
};

/* Functions that free, too, are probed all the time: they may free a recorded block. */
static bool is_in_windows(const struct leak_probes *probes, enum alloc_kind kind)
{
	return probes->windows && kind < ALLOC_MMAP && kind != ALLOC_REALLOC &&
	       kind != ALLOC_REALLOCARRAY;
}

/*
 * Chooses, of the functions from number `first` on in the first one's file, those that are probed
 * in windows, or the rest.
 */
static struct batch choose_functions(const struct leak_probes *probes,
				     const struct allocators *found, size_t first, bool in_windows)
{
	size_t most = found->n_functions - first, file = found->functions[first].file;
	struct batch batch = {
		.functions = mem_zalloc(most, sizeof(struct alloc_function *)),
		.points = mem_zalloc(most, sizeof(struct uprobe_point)),
	};

	for (size_t i = first; i < found->n_functions; i++) {
		const struct alloc_function *f = &found->functions[i];

		if (f->file != file || is_in_windows(probes, f->kind) != in_windows ||
		    is_left_out(probes, found, f) || is_refused(found, f))
			continue;
		batch.functions[batch.n] = f;
		batch.points[batch.n++] = make_point(found, f);
	}
	return batch;
}

/* Attaches points. 0, or -errno if none could be attached. */
static int attach_batch(struct leak_probes *probes, const struct probed_process *process,
			struct alloc_file *file, const struct batch *batch, bool in_windows)
{
	pid_t pid = probes->for_all ? 0 : process->anchor ? process->anchor : process->pid;
	struct file_probes at = {};

	if (in_windows)
		at.part = leak_windows_add(probes->windows, pid, batch->points, batch->n);
	else
		at.links = uprobes_attach(&probes->programs, pid, batch->points, batch->n);
	if (!at.part && !at.links)
		return -errno;
	if (!file->probes)
		file->probes = mem_zalloc(1, sizeof(*file->probes));
	if (in_windows)
		file->probes->part = at.part;
	else
		file->probes->links = at.links;
	return 0;
}

/* Reports once that functions could not be probed because of a limit. */
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

/*
 * Probes the functions of a file from number `first` on: 1, or 0 if there are none, or -errno as
 * above.
 */
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
 * Probes the process's functions from number `first` on: those probed in windows, or the rest. 0,
 * or -errno if none could be attached.
 */
static int probe_some(struct leak_probes *probes, const struct probed_process *process,
		      size_t first, bool in_windows)
{
	const struct allocators *found = process->found;
	bool is_any_attached = false;
	int err = 0;

	for (size_t i = first; i < found->n_functions; i++) {
		int result;

		if (i > first && found->functions[i].file == found->functions[i - 1].file)
			continue;
		result = probe_file(probes, process, i, in_windows);
		is_any_attached |= result > 0;
		err = result < 0 ? result : err;
	}
	return is_any_attached ? 0 : err;
}

/* Functions that free come first: no block is recorded whose end would be missed. */
static int probe_functions(struct leak_probes *probes, const struct probed_process *process,
			   size_t first)
{
	int err = probe_some(probes, process, first, false);

	return err || !probes->windows ? err : probe_some(probes, process, first, true);
}

/*
 * The kernel finds a process by the memory of a thread: of the main one, or where each probe has an
 * event of its own, of any. False: no such thread.
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

int leak_probes_add(struct leak_probes *probes, pid_t pid)
{
	struct probed_process *process = find_or_add(probes, pid);
	uint64_t cgroup_id = cgroup_of_process(pid);
	int n = allocators_scan(process->found, pid, &probes->request);

	probes->has_changed = true;
	process->had_ended = process->has_exited = false;
	process_comm(pid, process->comm, sizeof(process->comm));
	process->cgroup_id = cgroup_id ? cgroup_id : process->cgroup_id;
	if (n > 0 && find_anchor(probes, process))
		n = probe_functions(probes, process, process->found->n_functions - (size_t)n);
	allocators_close(process->found);
	return n;
}

static void visit_anchor(void *value, void *arg)
{
	const struct probed_process *process = value;
	pid_t pid = process->pid, anchor = process->anchor;

	if (anchor && !process_has_ended(pid) &&
	    (anchor == pid ? process_live_task(pid) != pid : process_has_ended(anchor)))
		*(pid_t *)arg = pid;
}

pid_t leak_probes_lost(const struct leak_probes *probes)
{
	pid_t lost = 0;

	idmap_visit(&probes->processes, visit_anchor, &lost);
	return lost;
}

bool leak_probes_found(const struct leak_probes *probes, pid_t pid)
{
	const struct probed_process *process = find_process(probes, pid);

	return process && process->found->n_functions;
}

bool leak_probes_has(const struct leak_probes *probes, pid_t pid)
{
	return find_process(probes, pid);
}

const char *leak_probes_comm(const struct leak_probes *probes, pid_t pid)
{
	const struct probed_process *process = probes ? find_process(probes, pid) : NULL;

	return process && *process->comm ? process->comm : NULL;
}

uint64_t leak_probes_cgroup(const struct leak_probes *probes, pid_t pid)
{
	const struct probed_process *process = probes ? find_process(probes, pid) : NULL;

	return process ? process->cgroup_id : 0;
}

size_t leak_probes_count(const struct leak_probes *probes)
{
	return probes->n_functions;
}

/* ---- letting go ---- */

static void drop_probes(struct alloc_file *file, void *arg)
{
	const struct leak_probes *probes = arg;

	if (!file->probes)
		return;
	leak_windows_drop(probes->windows, file->probes->part);
	uprobes_detach(file->probes->links);
	free(file->probes);
	file->probes = NULL;
}

static void detach_from(struct allocators *found, struct leak_probes *probes)
{
	for (size_t i = 0; i < found->n_files; i++)
		drop_probes(&found->files[i], probes);
}

static void visit_to_detach(void *value, void *arg)
{
	detach_from(((struct probed_process *)value)->found, arg);
}

void leak_probes_detach(struct leak_probes *probes)
{
	if (!probes)
		return;
	if (probes->windows)
		leak_windows_end(probes->windows);
	detach_from(&probes->common, probes);
	idmap_visit(&probes->processes, visit_to_detach, probes);
	while (probes->n_closing)
		uprobes_detach(probes->closing[--probes->n_closing]);
}

/* Its links are closed later. Until then what runs there is counted twice if it is probed again. */
static void leave_file(struct alloc_file *file, void *arg)
{
	struct leak_probes *probes = arg;

	msg_debug("%s: no longer mapped by any process", file->path);
	if (!file->probes)
		return;
	probes->closing = mem_grow(probes->closing, probes->n_closing, &probes->closing_cap,
				   sizeof(struct uprobes *));
	probes->closing[probes->n_closing++] = file->probes->links;
	file->probes->links = NULL;
	drop_probes(file, probes);
}

static void visit_to_mark(void *value, void *arg)
{
	const struct probed_process *process = value;

	(void)arg;
	if (!process->has_exited)
		allocators_mark(process->found, process->pid);
}

static void release_files(struct allocators *found, struct leak_probes *probes)
{
	probes->has_changed |= allocators_release(found, leave_file, probes);
}

static void visit_to_release(void *value, void *arg)
{
	const struct probed_process *process = value;
	struct leak_probes *probes = arg;

	if (process->found != &probes->common)
		release_files(process->found, probes);
}

void leak_probes_release_files(struct leak_probes *probes)
{
	if (!probes->has_changed)
		return;
	probes->has_changed = false;
	idmap_visit(&probes->processes, visit_to_mark, NULL);
	release_files(&probes->common, probes);
	idmap_visit(&probes->processes, visit_to_release, probes);
}

void leak_probes_close_some(struct leak_probes *probes)
{
	uint64_t begin_ns = clock_now_ns();

	while (probes->n_closing && clock_now_ns() - begin_ns < CLOSING_NS)
		if (!uprobes_detach_one(probes->closing[probes->n_closing - 1]))
			probes->n_closing--;
}

void leak_probes_end(struct leak_probes *probes, pid_t pid)
{
	struct probed_process *process = find_process(probes, pid);

	if (!process)
		return;
	process->has_exited = probes->has_changed = true;
}

static void free_process(struct probed_process *process, struct leak_probes *probes)
{
	if (process->found != &probes->common) {
		detach_from(process->found, probes);
		allocators_free(process->found);
		free(process->found);
	}
	free(process);
}

/* The current report may lack its last blocks; the next one has them. */
static bool is_kept(void *value, void *arg)
{
	struct probed_process *process = value;
	struct leak_probes *probes = arg;

	if (process->had_ended) {
		free_process(process, probes);
		return false;
	}
	process->had_ended = process_has_ended(process->pid);
	return true;
}

void leak_probes_release(struct leak_probes *probes)
{
	idmap_keep(&probes->processes, is_kept, probes);
}

static void visit_to_free(void *value, void *arg)
{
	free_process(value, arg);
}

void leak_probes_free(struct leak_probes *probes)
{
	if (!probes)
		return;
	leak_probes_detach(probes);
	idmap_visit(&probes->processes, visit_to_free, probes);
	idmap_free(&probes->processes, NULL);
	allocators_free(&probes->common);
	free(probes->closing);
	free(probes);
}
