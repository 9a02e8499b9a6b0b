// SPDX-License-Identifier: GPL-2.0-only
/* Processes that run Python; see python_frames.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "abi/python.h"
#include "abi/stack.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/target.h"
#include "process/watch.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "run/run.h"
#include "runtimes/python_layout.h"
#include "runtimes/python_place.h"
#include "stacks/python_frames.h"
#include "stacks/stack_memory.h"
#include "unwind/unwind_remote.h"

/* ---- python programs ---- */

/*
 * Programs that begin and may run Python: their processes are looked at in time for scripts of some
 * milliseconds, also while events are batched. BPF reports each program
 * (bpf/runtimes/python_state.bpf.h), except those whose earlier processes were never a Python.
 * Libraries are mapped after a program has begun: for some milliseconds, all events are handled at
 * once.
 */

#define HURRY_NS (5 * NS_PER_MS)

struct python_programs {
	struct ringbuf *begins;
	int kinds_fd;
	struct loop *loop;
	struct watch *watch;
	bool (*has_python)(pid_t pid, void *arg);
	void *arg;
	struct python_begin latest[64]; /* that were no Python yet */
	size_t n_latest;		/* all that there have been */
};

static void learn(const struct python_programs *programs, const struct python_program *program,
		  uint32_t kind)
{
	bpf_map_update_elem(programs->kinds_fd, program, &kind,
			    kind == PYTHON_NEVER ? BPF_NOEXIST : BPF_ANY);
}

static int on_begin(void *ctx, void *data, size_t size)
{
	struct python_programs *programs = ctx;
	const struct python_begin *begin = data;

	(void)size;
	loop_hurry(programs->loop, HURRY_NS);
	watch_read(programs->watch);
	if (programs->has_python((pid_t)begin->tgid, programs->arg)) {
		learn(programs, &begin->program, PYTHON_SOME);
		return 0;
	}
	learn(programs, &begin->program, PYTHON_NEVER);
	programs->latest[programs->n_latest++ % ARRAY_SIZE(programs->latest)] = *begin;
	return 0;
}

/* Notes that the process runs Python. */
static void python_programs_found(struct python_programs *programs, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs->latest); i++)
		if (programs->latest[i].tgid == (uint64_t)pid)
			learn(programs, &programs->latest[i].program, PYTHON_SOME);
}

static void python_programs_close(struct python_programs *programs)
{
	if (!programs)
		return;
	ringbuf_close(programs->begins);
	free(programs);
}

/*
 * The watch, which is read before has_python() is called, and has_python() remain the caller's.
 * NULL, printed, if the ring buffer can't be opened.
 */
static struct python_programs *python_programs_watch(struct run *run, struct watch *watch,
						     bool (*has_python)(pid_t pid, void *arg),
						     void *arg)
{
	struct python_programs *programs = mem_zalloc(1, sizeof(*programs));

	programs->kinds_fd = bpf_map__fd(map_find(run, "python_programs"));
	programs->loop = run->loop;
	programs->watch = watch;
	programs->has_python = has_python;
	programs->arg = arg;
	programs->begins = ringbuf_watch(run, "python_begins", on_begin, programs);
	if (programs->begins && !ringbuf_make_urgent(programs->begins))
		return programs;
	python_programs_close(programs);
	return NULL;
}

/* ---- python frames ---- */

/* The Python build of a file, attached to its struct file. */
struct build {
	bool is_python;
	struct python_file python;
	/* for a C library: size of struct pthread; 0: another file, or unknown */
	uint32_t thread_bytes;
	int32_t place; /* offset of thread states in earlier processes; 0: not yet known */
};

struct process_entry {
	struct hashlink link;
	struct python_process process;
	struct build *build; /* lives as long as the published tables */
	uint64_t serial;
	int32_t place;	       /* 0: not yet known */
	unsigned int n_misses; /* stacks without Python frames */
};

struct python_frames {
	const struct run *run;
	struct processes *processes;
	struct hashtable entries;
	int processes_fd;
	struct python_programs *programs;
	struct python_settings settings;
	pid_t late_pid; /* first process whose Python is unsupported because of its age; 0: none */
	uint32_t late_version;
	bool late_is_one_of_many;
};

/* ---- before load ---- */

int python_frames_configure(struct run *run, const struct python_settings *settings)
{
	static const char *const maps[] = { "python_processes", "python_sent", "python_walks",
					    "python_programs", "python_begins" };

	for (size_t i = 0; !settings->wanted && i < sizeof(maps) / sizeof(*maps); i++)
		map_leave_out(run, maps[i]);
	if (settings->wanted) {
		bpf_map__set_max_entries(map_find(run, "python_processes"),
					 bpf_map__max_entries(map_find(run, "unwind_processes")));
		map_fill_on_demand(run, "python_processes");
		bpf_map__set_max_entries(map_find(run, "python_walks"),
					 bpf_map__max_entries(map_find(run, "stack_scratch")));
	}
	return map_set_settings(run, ".rodata.python", settings, sizeof(*settings));
}

/* ---- entries ---- */

void python_frames_free(struct python_frames *frames)
{
	if (!frames)
		return;
	python_programs_close(frames->programs);
	hashtable_free(&frames->entries, hashlink_free, NULL);
	free(frames);
}

static struct process_entry *find_entry(const struct python_frames *frames, pid_t pid)
{
	struct hashlink *link = hashtable_first(&frames->entries, hash_pid(pid));

	return link ? container_of(link, struct process_entry, link) : NULL; /* one pid, one hash */
}

static struct process_entry *add_entry(struct python_frames *frames, pid_t pid)
{
	struct process_entry *entry = mem_zalloc(1, sizeof(*entry));

	entry->process.pid = pid;
	hashtable_add(&frames->entries, &entry->link, hash_pid(pid));
	return entry;
}

static bool has_entry(pid_t pid, void *arg)
{
	return find_entry(arg, pid);
}

struct python_frames *python_frames_new(struct run *run, struct watch *watch,
					const struct python_settings *settings)
{
	struct python_frames *frames = mem_zalloc(1, sizeof(*frames));

	frames->run = run;
	frames->processes = watch_processes(watch);
	frames->settings = *settings;
	frames->processes_fd = bpf_map__fd(map_find(run, "python_processes"));
	frames->programs = python_programs_watch(run, watch, has_entry, frames);
	if (frames->programs)
		return frames;
	python_frames_free(frames);
	return NULL;
}

/* Also called for processes without a layout from here: a child inherits its parent's. */
void python_frames_forget(struct python_frames *frames, pid_t pid)
{
	struct process_entry *entry = find_entry(frames, pid);

	bpf_map_delete_elem(frames->processes_fd, &pid);
	if (!entry)
		return;
	hashtable_remove(&frames->entries, &entry->link);
	free(entry);
}

void python_frames_visit(const struct python_frames *frames,
			 bool (*is_wanted)(pid_t pid, void *arg),
			 void (*visit)(pid_t pid, void *arg), void *arg)
{
	map_visit_pids(frames->processes_fd, is_wanted, visit, arg);
}

/* ---- files ---- */

static struct build *read_build(const struct file *file)
{
	struct build *build = mem_zalloc(1, sizeof(*build));

	build->is_python = file->is_elf && !python_file_read(&build->python, &file->elf);
	if (build->is_python)
		msg_debug("%s: Python %u.%u%s%s", file->name, build->python.version >> 24,
			  build->python.version >> 16 & 255,
			  build->python.refused ? ", not supported: " : "",
			  build->python.refused ? build->python.refused : "");
	if (file->is_elf)
		build->thread_bytes = python_thread_bytes(&file->elf);
	return build;
}

/* NULL: not open yet. */
static struct build *build_of(struct file *file)
{
	struct file_part *part = &file->parts[FILE_PYTHON];

	if (!part->data && file->fd >= 0)
		*part = (struct file_part){ read_build(file), free };
	return part->data;
}

static bool is_python(const struct build *build)
{
	return build && build->is_python && !build->python.refused;
}

static bool is_old(const struct build *build)
{
	return build->python.layout.eval_begin;
}

static bool is_walked(const struct python_frames *frames, const struct build *build)
{
	return is_python(build) && (frames->settings.old || !is_old(build));
}

struct preloading {
	const struct python_frames *frames; /* NULL: not wanted */
	bool has_python;
};

static void preload_file(struct file *file, void *arg)
{
	struct preloading *preloading = arg;

	preloading->has_python |=
		preloading->frames && is_walked(preloading->frames, build_of(file));
}

bool python_frames_preload(const struct python_frames *frames, struct processes *processes,
			   pid_t pid)
{
	struct preloading preloading = { frames, false };

	processes_preload_files(processes, pid, preload_file, &preloading);
	return preloading.has_python;
}

static bool has_old(struct processes *processes, pid_t pid)
{
	struct maps *maps = processes_read(processes, pid, clock_now_ns());
	bool found = false;

	for (size_t i = 0; maps && i < maps->count && !found; i++) {
		struct file *file = mapped_file(maps, &maps->items[i], pid);
		const struct build *build = file ? build_of(file) : NULL;

		found = is_python(build) && is_old(build);
	}
	maps_release(maps);
	return found;
}

bool python_frames_preload_old(const struct run *run, struct processes *processes,
			       const pid_t *pids, size_t n)
{
	size_t i = 0;

	if (target_lists_pids(run)) {
		pids = target_pids(run);
		n = target_n_pids(run);
	}
	while (i < n && !has_old(processes, pids[i]))
		i++;
	return i < n;
}

static struct build *build_at(const struct maps *maps, size_t i)
{
	struct file *file = maps->items[i].file;

	return file ? build_of(file) : NULL;
}

/* Finds pthread_self() relative to the thread pointer. False: the C library isn't there yet. */
static bool find_self(const struct maps *maps, const struct build *python, int32_t *self_offset)
{
	*self_offset = 0;
	if (!python->python.has_threads_below)
		return true;
	for (size_t i = 0; i < maps->count && !*self_offset; i++) {
		const struct build *build = build_at(maps, i);

		if (build)
			*self_offset = -(int32_t)build->thread_bytes;
	}
	return *self_offset;
}

/* False: the process runs no Python, or no supported one. */
static bool find_python(const struct maps *maps, struct python_process *process,
			struct build **found)
{
	for (size_t i = 0; maps && i < maps->count; i++) {
		const struct mapped *m = &maps->items[i];

		if (!m->file || !is_python(build_of(m->file)))
			continue;
		*found = build_of(m->file);
		process->python = &(*found)->python;
		process->bias = m->start - elfsegs_vaddr(&m->file->segs, m->offset);
		return find_self(maps, *found, &process->self_offset);
	}
	return false;
}

/* ---- processes ---- */

static void publish(const struct python_frames *frames, struct process_entry *entry, int32_t place)
{
	struct python_layout layout = entry->build->python.layout;

	entry->place = place;
	if (place)
		entry->build->place = place;
	layout.code_type += entry->process.bias;
	layout.runtime = entry->process.python->runtime + entry->process.bias;
	if (layout.eval_begin)
		layout.eval_begin += entry->process.bias;
	layout.state_offset = place;
	layout.self_offset = entry->process.self_offset;
	layout.serial = entry->serial;
	bpf_map_update_elem(frames->processes_fd, &entry->process.pid, &layout, BPF_ANY);
	stack_memory_forget(frames->run);
}

/*
 * Uses the offset of other processes, if known; a wrong one leads to no frames. Without one, a
 * process has frames as long as it has a single thread.
 */
static void begin(const struct python_frames *frames, struct process_entry *entry)
{
	int32_t place = entry->build->place;
	bool has_threads;

	if (!place)
		place = python_place_find(&entry->process, 0, &has_threads);
	publish(frames, entry, place);
}

static void note_late(struct python_frames *frames, pid_t pid, const struct build *build)
{
	frames->late_is_one_of_many |= frames->late_pid && frames->late_pid != pid;
	if (frames->late_pid)
		return;
	frames->late_pid = pid;
	frames->late_version = build->python.version;
}

void python_frames_print_late(const struct python_frames *frames)
{
	if (frames->late_pid)
		msg_info("Python %u.%u (PID %d%s): started too late to resolve its functions (run "
			 "the tool again while it runs, or start it after --)",
			 frames->late_version >> 24, frames->late_version >> 16 & 255,
			 frames->late_pid, frames->late_is_one_of_many ? " and others" : "");
}

/* False: there is no Python, or one that is too old for the loaded BPF code. */
static bool find_walked(struct python_frames *frames, const struct maps *maps,
			struct python_process *process, struct build **found)
{
	if (!find_python(maps, process, found))
		return false;
	if (is_walked(frames, *found))
		return true;
	note_late(frames, process->pid, *found);
	return false;
}

/*
 * Reads the layout from BPF's map, which also has forked processes'. False: no Python, or
 * unsupported.
 */
static bool find_layout(const struct python_frames *frames, pid_t pid, struct python_layout *layout)
{
	return !bpf_map_lookup_elem(frames->processes_fd, &pid, layout);
}

void python_frames_update(struct python_frames *frames, pid_t pid)
{
	const struct process *p = processes_find(frames->processes, pid);
	struct process_entry *entry = find_entry(frames, pid);
	struct python_process process = { .pid = pid };
	struct build *build = NULL;
	struct python_layout known;

	if (!p || !find_walked(frames, p->published, &process, &build)) {
		if (entry)
			python_frames_forget(frames, pid);
		return;
	}
	if (entry && entry->build == build && entry->process.bias == process.bias &&
	    entry->process.self_offset == process.self_offset && find_layout(frames, pid, &known))
		return;
	if (!entry)
		entry = add_entry(frames, pid);
	entry->build = build;
	entry->process = process;
	entry->serial = python_mix(clock_now_ns(), (uint64_t)pid);
	entry->place = 0;
	entry->n_misses = 0;
	begin(frames, entry);
	python_programs_found(frames->programs, pid);
}

size_t python_frames_walk(const struct python_frames *frames, const struct unwind_thread *thread,
			  const struct python_definer *definer, const uint64_t *sps, size_t n,
			  uint64_t *words, int *reason)
{
	struct python_thread walked = { .tid = (pid_t)thread->tid,
					.tgid = thread->tgid,
					.base = thread->regs.thread_base,
					.lines = frames->settings.lines,
					.is_complete = *reason == UNWIND_COMPLETE,
					.sps = sps,
					.n_native = n,
					.definer = *definer };
	bool is_cut;
	size_t n_all;

	if (!find_layout(frames, (pid_t)thread->tgid, &walked.layout))
		return n;
	n_all = python_walk_remote(&walked, words, STACK_WORDS, &is_cut);
	if (unwind_count_arrivals(thread->tgid, thread->tid) != thread->arrivals)
		return n;
	if (is_cut && walked.is_complete)
		*reason = UNWIND_DEPTH;
	return n_all;
}

/*
 * Searches at growing intervals: threads need not run Python. Without threads, searching costs
 * little, and the first stack may be the last. A forked process has only its parent's layout in
 * BPF, which may lack the offset of thread states.
 */
void python_frames_miss(struct python_frames *frames, pid_t pid)
{
	struct process_entry *entry = find_entry(frames, pid);
	struct python_layout parents;
	bool has_threads;
	unsigned int n;
	int32_t place;

	if (!entry) {
		if (find_layout(frames, pid, &parents))
			python_frames_update(frames, pid);
		return;
	}
	n = entry->n_misses + 1;
	if (n & entry->n_misses) {
		entry->n_misses = n;
		return;
	}
	place = python_place_find(&entry->process, entry->place, &has_threads);
	if (has_threads)
		entry->n_misses = n;
	if (place && place != entry->place)
		publish(frames, entry, place);
}
