// SPDX-License-Identifier: GPL-2.0-only
/* Processes that have a managed runtime; see runtime_frames.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "abi/runtimes.h"
#include "abi/stack.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/target.h"
#include "process/watch.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "run/run.h"
#include "runtimes/runtimes.h"
#include "stacks/runtime_frames.h"
#include "stacks/stack_memory.h"
#include "unwind/unwind_remote.h"

/* ---- programs that begin ---- */

/*
 * Learns which starting programs have a runtime. A script may run for only a few milliseconds, less
 * than the delay for which events are batched:
 *
 * 1. BPF reports that a process starts a program (bpf/runtimes/runtime_state.bpf.h), unless earlier
 *    processes of the program had no runtime.
 * 2. For some milliseconds, all events are handled at once: the process maps its libraries.
 * 3. The loader records if the program has a runtime.
 */

#define HURRY_NS (5 * NS_PER_MS)

struct runtime_programs {
	struct ringbuf *begins;
	int kinds_fd;
	struct loop *loop;
	struct watch *watch;
	bool (*has_runtime)(pid_t pid, void *arg);
	void *arg;
	struct runtime_begin latest[64]; /* ring of the latest programs without a runtime so far */
	size_t n_latest;		 /* number of programs added so far */
};

static void learn(const struct runtime_programs *programs, const struct runtime_program *program,
		  uint32_t kind)
{
	bpf_map_update_elem(programs->kinds_fd, program, &kind,
			    kind == RUNTIME_NEVER ? BPF_NOEXIST : BPF_ANY);
}

static int on_begin(void *ctx, void *data, size_t size)
{
	struct runtime_programs *programs = ctx;
	const struct runtime_begin *begin = data;

	(void)size;
	loop_hurry(programs->loop, HURRY_NS);
	watch_read(programs->watch);
	if (programs->has_runtime((pid_t)begin->tgid, programs->arg)) {
		learn(programs, &begin->program, RUNTIME_SOME);
		return 0;
	}
	learn(programs, &begin->program, RUNTIME_NEVER);
	programs->latest[programs->n_latest++ % ARRAY_SIZE(programs->latest)] = *begin;
	return 0;
}

/* Notes that the process has a runtime. */
static void programs_found(struct runtime_programs *programs, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs->latest); i++)
		if (programs->latest[i].tgid == (uint64_t)pid)
			learn(programs, &programs->latest[i].program, RUNTIME_SOME);
}

static void programs_close(struct runtime_programs *programs)
{
	if (!programs)
		return;
	ringbuf_close(programs->begins);
	free(programs);
}

/*
 * Opens the ring buffer of programs. The watch is borrowed, and read before has_runtime() is
 * called. NULL, printed, if the ring buffer can't be opened.
 */
static struct runtime_programs *programs_watch(struct run *run, struct watch *watch,
					       bool (*has_runtime)(pid_t pid, void *arg), void *arg)
{
	struct runtime_programs *programs = mem_zalloc(1, sizeof(*programs));

	programs->kinds_fd = bpf_map__fd(map_find(run, "runtime_programs"));
	programs->loop = run->loop;
	programs->watch = watch;
	programs->has_runtime = has_runtime;
	programs->arg = arg;
	programs->begins = ringbuf_watch(run, "runtime_begins", on_begin, programs);
	if (programs->begins && !ringbuf_make_urgent(programs->begins))
		return programs;
	programs_close(programs);
	return NULL;
}

/* ---- frames ---- */

/*
 * Ratio of the time for which a process has been starting to that until its next description: some
 * never start.
 */
#define STARTING_RATIO 10

/* Properties of a file, attached to its struct file. */
struct part {
	struct runtime_file *runtime; /* NULL: not a runtime's file */
	uint32_t thread_bytes;	      /* size of struct pthread; 0: not a C library */
};

struct process_entry {
	struct hashlink link;
	bool is_starting;		  /* no layout yet: describe() returned -EAGAIN */
	uint64_t since_ns;		  /* time of its first description */
	uint64_t again_ns;		  /* time of its next description */
	struct runtime_instance instance; /* file: valid as long as the published mappings */
	struct runtime_process process;
	struct unwind_run rows;	  /* rules of the process's own code */
	unsigned int n_misses[2]; /* stacks without functions; with some, but cut */
};

struct runtime_frames {
	struct run *run;
	struct processes *processes;
	struct unwind_tables *tables;
	struct hashtable entries;
	int processes_fd;
	struct runtime_programs *programs;
	struct runtime_settings settings;
	const char *const *walkers; /* see struct stacks_spec */
	uint32_t refused;	    /* kinds that can't be loaded */
	bool has_described;	    /* see runtime_frames_take_described() */
	pid_t late_pid; /* first process of a kind for which BPF is not loaded; 0: none */
	char late_title[sizeof(((struct runtime_file *)NULL)->title)];
	bool late_is_one_of_many;
};

/* ---- before load ---- */

int runtime_frames_configure(struct run *run, const struct runtime_settings *settings)
{
	static const char *const maps[] = { "runtime_processes", "runtime_sent", "runtime_walks",
					    "runtime_programs", "runtime_begins" };

	for (size_t i = 0; !settings->watched && i < ARRAY_SIZE(maps); i++)
		map_leave_out(run, maps[i]);
	if (settings->watched) {
		bpf_map__set_max_entries(map_find(run, "runtime_processes"),
					 bpf_map__max_entries(map_find(run, "unwind_processes")));
		map_fill_on_demand(run, "runtime_processes");
		bpf_map__set_max_entries(map_find(run, "runtime_walks"),
					 bpf_map__max_entries(map_find(run, "stack_scratch")));
	}
	return map_set_settings(run, ".rodata.runtimes", settings, sizeof(*settings));
}

/* ---- entries ---- */

static void release_state(struct runtime_instance *instance)
{
	if (instance->state)
		instance->file->code->release(instance);
	instance->state = NULL;
}

static void free_entry(const struct runtime_frames *frames, struct process_entry *entry)
{
	release_state(&entry->instance);
	unwind_tables_remove(frames->tables, &entry->rows, clock_now_ns());
	free(entry);
}

void runtime_frames_free(struct runtime_frames *frames)
{
	if (!frames)
		return;
	programs_close(frames->programs);
	for_each_element(struct process_entry, entry, next, link, &frames->entries)
		free_entry(frames, entry);
	hashtable_free(&frames->entries, NULL);
	free(frames);
}

static struct process_entry *find_entry(const struct runtime_frames *frames, pid_t pid)
{
	/* Distinct pids have distinct hashes. */
	return HASHTABLE_FIRST(struct process_entry, link, &frames->entries, hash_pid(pid));
}

static struct process_entry *add_entry(struct runtime_frames *frames, pid_t pid)
{
	struct process_entry *entry = mem_zalloc(1, sizeof(*entry));

	entry->instance.pid = pid;
	hashtable_add(&frames->entries, &entry->link, hash_pid(pid));
	return entry;
}

static bool has_entry(pid_t pid, void *arg)
{
	return find_entry(arg, pid);
}

struct runtime_frames *runtime_frames_new(struct run *run, struct watch *watch,
					  struct unwind_tables *tables,
					  const struct runtime_settings *settings,
					  const char *const *walkers, bool keeps_programs)
{
	struct runtime_frames *frames = mem_zalloc(1, sizeof(*frames));

	frames->run = run;
	frames->processes = watch_processes(watch);
	frames->tables = tables;
	frames->settings = *settings;
	frames->walkers = walkers;
	frames->refused = keeps_programs ? RUNTIME_ALL : 0;
	frames->processes_fd = bpf_map__fd(map_find(run, "runtime_processes"));
	frames->programs = programs_watch(run, watch, has_entry, frames);
	if (frames->programs)
		return frames;
	runtime_frames_free(frames);
	return NULL;
}

/* Drops a process, even one without an entry: BPF copies a parent's layout to its child. */
void runtime_frames_forget(struct runtime_frames *frames, pid_t pid)
{
	struct process_entry *entry = find_entry(frames, pid);

	bpf_map_delete_elem(frames->processes_fd, &pid);
	if (!entry)
		return;
	hashtable_remove(&frames->entries, &entry->link);
	free_entry(frames, entry);
}

void runtime_frames_visit(const struct runtime_frames *frames,
			  bool (*is_wanted)(pid_t pid, void *arg),
			  void (*visit)(pid_t pid, void *arg), void *arg)
{
	map_visit_pids(frames->processes_fd, is_wanted, visit, arg);
}

/* ---- files ---- */

static void free_part(void *data)
{
	struct part *part = data;

	free(part->runtime);
	free(part);
}

static struct part *read_part(const struct file *file)
{
	struct part *part = mem_zalloc(1, sizeof(*part));
	const struct runtime_file *runtime;

	if (!file->is_elf)
		return part;
	part->thread_bytes = runtime_thread_bytes(&file->elf);
	part->runtime = runtime_recognize(&file->elf);
	runtime = part->runtime;
	if (runtime)
		msg_debug("%s: %s%s%s", file->name, runtime->title,
			  runtime->refused ? ", not supported: " : "",
			  runtime->refused ? runtime->refused : "");
	return part;
}

/* Returns the properties of a file; NULL: not open yet. */
static const struct part *part_of(struct file *file)
{
	struct file_part *part = &file->parts[FILE_RUNTIME];

	if (!part->data && file->fd >= 0)
		*part = (struct file_part){ read_part(file), free_part };
	return part->data;
}

/* Returns the runtime's description of a file; NULL: another file, or a refused version. */
static struct runtime_file *runtime_of(struct file *file)
{
	const struct part *part = file ? part_of(file) : NULL;

	return part && part->runtime && !part->runtime->refused ? part->runtime : NULL;
}

static bool is_walked(const struct runtime_frames *frames, const struct runtime_file *file)
{
	return frames->settings.kinds & RUNTIME_BIT(file->kind);
}

/* Returns true if BPF walks the file's runtime, or will once a process needs it. */
static bool may_be_walked(const struct runtime_frames *frames, const struct runtime_file *file)
{
	return is_walked(frames, file) || !(frames->refused & RUNTIME_BIT(file->kind));
}

struct preloading {
	const struct runtime_frames *frames; /* NULL: no runtimes are walked */
	bool has_runtime;
};

static void preload_file(struct file *file, void *arg)
{
	struct preloading *preloading = arg;
	const struct runtime_file *runtime = preloading->frames ? runtime_of(file) : NULL;

	preloading->has_runtime |= runtime && may_be_walked(preloading->frames, runtime);
}

bool runtime_frames_preload(const struct runtime_frames *frames, struct processes *processes,
			    pid_t pid)
{
	struct preloading preloading = { frames, false };

	processes_preload_files(processes, pid, preload_file, &preloading);
	return preloading.has_runtime;
}

static uint32_t kinds_in(struct processes *processes, pid_t pid)
{
	struct maps *maps = processes_read(processes, pid, clock_now_ns());
	uint32_t kinds = 0;

	for (size_t i = 0; maps && i < maps->count; i++) {
		const struct runtime_file *file =
			runtime_of(mapped_file(maps, &maps->items[i], pid));

		kinds |= file ? RUNTIME_BIT(file->kind) : 0;
	}
	maps_release(maps);
	return kinds;
}

uint32_t runtime_frames_find_kinds(const struct run *run, struct processes *processes,
				   const pid_t *pids, size_t n)
{
	uint32_t kinds = 0;

	if (target_lists_pids(run)) {
		pids = target_pids(run);
		n = target_n_pids(run);
	}
	for (size_t i = 0; i < n && kinds != RUNTIME_ALL; i++)
		kinds |= kinds_in(processes, pids[i]);
	return kinds;
}

static uint32_t find_thread_bytes(const struct maps *maps)
{
	uint32_t n_bytes = 0;

	for (size_t i = 0; i < maps->count && !n_bytes; i++) {
		const struct part *part = maps->items[i].file ? part_of(maps->items[i].file) : NULL;

		n_bytes = part ? part->thread_bytes : 0;
	}
	return n_bytes;
}

/* Finds the runtime of a process; false: none, or a refused version. */
static bool find_instance(const struct maps *maps, struct runtime_instance *instance)
{
	for (size_t i = 0; maps && i < maps->count; i++) {
		const struct mapped *m = &maps->items[i];

		instance->file = runtime_of(m->file);
		if (!instance->file)
			continue;
		instance->bias = m->start - elfsegs_vaddr(&m->file->segs, m->offset);
		instance->thread_bytes = find_thread_bytes(maps);
		return true;
	}
	return false;
}

/* ---- rules of code made at run time ---- */

static void append_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	cfi_append(arg, address, rule);
}

/* Replaces the rules of the process's own code; if they don't fit, the process has none. */
static void make_rows(const struct runtime_frames *frames, struct process_entry *entry)
{
	const struct runtime_code *code = entry->instance.file->code;
	struct unwind_run *run = &entry->rows;
	struct cfi_table table = {};

	if (!code->add_rows)
		return;
	unwind_tables_remove(frames->tables, run, clock_now_ns());
	*run = (struct unwind_run){};
	code->add_rows(&entry->instance, &entry->process,
		       &(struct runtime_rows){ append_row, &table });
	if (table.count)
		unwind_tables_add(frames->tables, &table, run);
	entry->process.rules = (struct runtime_table){
		.start = run->page_base << UNWIND_PAGE_SHIFT,
		.first_page = run->first_page,
		.n_pages = run->n_pages,
	};
	cfi_free(&table);
}

/* ---- processes ---- */

static void publish(struct runtime_frames *frames, struct process_entry *entry)
{
	entry->process.since_ns = clock_now_ns();
	frames->has_described |= frames->run->start_ns != 0;
	bpf_map_update_elem(frames->processes_fd, &entry->instance.pid, &entry->process, BPF_ANY);
	stack_memory_forget(frames->run);
}

bool runtime_frames_take_described(struct runtime_frames *frames)
{
	bool has_described = frames->has_described;

	frames->has_described = false;
	return has_described;
}

static void note_late(struct runtime_frames *frames, const struct runtime_instance *instance)
{
	frames->late_is_one_of_many |= frames->late_pid && frames->late_pid != instance->pid;
	if (frames->late_pid)
		return;
	frames->late_pid = instance->pid;
	memcpy(frames->late_title, instance->file->title, sizeof(frames->late_title));
}

void runtime_frames_print_late(const struct runtime_frames *frames)
{
	if (frames->late_pid)
		msg_info("%s (PID %d%s): started too late to resolve its functions (run the tool "
			 "again while it runs, or start it after --)",
			 frames->late_title, frames->late_pid,
			 frames->late_is_one_of_many ? " and others" : "");
}

/* Loads the programs again, with code that walks a file's runtime. */
static bool load_kind(struct runtime_frames *frames, const struct runtime_file *file)
{
	struct runtime_settings settings = frames->settings;
	int err;

	settings.kinds |= RUNTIME_BIT(file->kind);
	if (!may_be_walked(frames, file))
		return false;
	err = object_load_again(frames->run, frames->walkers, ".rodata.runtimes", &settings,
				sizeof(settings));
	if (err) {
		frames->refused |= RUNTIME_BIT(file->kind);
		msg_errno(err, "%s: load of its BPF programs failed", file->title);
		return false;
	}
	frames->settings = settings;
	msg_debug("%s: its BPF programs are loaded", file->title);
	return true;
}

/* Finds the runtime of a process; false: none, or BPF can't be loaded for its kind. */
static bool find_walked(struct runtime_frames *frames, const struct maps *maps,
			struct runtime_instance *instance)
{
	if (!find_instance(maps, instance))
		return false;
	if (is_walked(frames, instance->file) || load_kind(frames, instance->file))
		return true;
	note_late(frames, instance);
	return false;
}

bool runtime_frames_read(const struct runtime_frames *frames, pid_t pid,
			 struct runtime_process *process)
{
	return !bpf_map_lookup_elem(frames->processes_fd, &pid, process);
}

static bool is_same(const struct runtime_instance *a, const struct runtime_instance *b)
{
	return a->file == b->file && a->bias == b->bias && a->thread_bytes == b->thread_bytes;
}

static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	*process = (struct runtime_process){
		.kind = instance->file->kind,
		.serial = runtime_mix(clock_now_ns(), (uint64_t)instance->pid),
	};
	return instance->file->code->describe(instance, process);
}

/* Publishes a process's layout, unless the runtime is still starting. */
static void take_description(struct runtime_frames *frames, struct process_entry *entry,
			     const struct runtime_instance *instance,
			     const struct runtime_process *process, int err)
{
	uint64_t now_ns = clock_now_ns();

	if (!entry->is_starting || !is_same(&entry->instance, instance))
		entry->since_ns = now_ns;
	entry->again_ns = now_ns + (now_ns - entry->since_ns) / STARTING_RATIO;
	release_state(&entry->instance);
	entry->instance = *instance;
	entry->process = *process;
	memset(entry->n_misses, 0, sizeof(entry->n_misses));
	entry->is_starting = err;
	if (err) {
		bpf_map_delete_elem(frames->processes_fd, &instance->pid);
		return;
	}
	make_rows(frames, entry);
	publish(frames, entry);
	programs_found(frames->programs, instance->pid);
}

/*
 * Returns true if programs have to be loaded for a process, but the first ones are not attached
 * yet: these would be attached beside the ones that replace them.
 */
static bool is_too_early(const struct runtime_frames *frames, const struct maps *maps)
{
	struct runtime_instance instance = {};

	return !frames->run->start_ns && find_instance(maps, &instance) &&
	       !is_walked(frames, instance.file) && may_be_walked(frames, instance.file);
}

bool runtime_frames_update(struct runtime_frames *frames, pid_t pid)
{
	const struct process *p = processes_find(frames->processes, pid);
	struct process_entry *entry = find_entry(frames, pid);
	struct runtime_instance instance = { .pid = pid, .lines = frames->settings.lines };
	struct runtime_process process;
	int err = 0;

	if (p && is_too_early(frames, p->published))
		return false;
	if (p && find_walked(frames, p->published, &instance)) {
		if (entry && is_same(&entry->instance, &instance) &&
		    runtime_frames_read(frames, pid, &process))
			return true;
		err = describe(&instance, &process);
		if (!err || err == -EAGAIN) {
			entry = entry ? entry : add_entry(frames, pid);
			take_description(frames, entry, &instance, &process, err);
			return true;
		}
	}
	if (entry || err)
		runtime_frames_forget(frames, pid);
	return true;
}

/* A forked process has no entry yet, only its parent's layout in BPF. */
struct runtime_instance *runtime_frames_find(struct runtime_frames *frames, pid_t pid)
{
	struct process_entry *entry = find_entry(frames, pid);
	struct runtime_process parents;

	if (!entry && runtime_frames_read(frames, pid, &parents)) {
		runtime_frames_update(frames, pid);
		entry = find_entry(frames, pid);
	}
	return entry && !entry->is_starting ? &entry->instance : NULL;
}

size_t runtime_frames_append(const struct runtime_process *process, bool lines,
			     const struct unwind_thread *thread,
			     const struct runtime_definer *definer,
			     const struct native_frames *native, size_t n, uint64_t *words,
			     int *reason)
{
	const struct runtime_code *code = runtime_code_of(process->kind);
	struct runtime_thread walked = { .tid = (pid_t)thread->tid,
					 .tgid = thread->tgid,
					 .base = thread->regs.thread_base,
					 .process = *process,
					 .lines = lines,
					 .is_complete = *reason == UNWIND_COMPLETE,
					 .sps = native->sps,
					 .bps = native->bps,
					 .framed = native->framed,
					 .n_native = n,
					 .definer = *definer };
	bool is_cut = false;

	if (!code)
		return n;
	n = code->walk(&walked, words, STACK_WORDS, &is_cut);
	if (is_cut && walked.is_complete)
		*reason = UNWIND_DEPTH;
	return n;
}

size_t runtime_frames_walk(const struct runtime_frames *frames, const struct unwind_thread *thread,
			   const struct runtime_definer *definer,
			   const struct native_frames *native, size_t n, uint64_t *words,
			   int *reason)
{
	struct runtime_process process;
	int native_reason = *reason;
	size_t n_all;

	if (!runtime_frames_read(frames, (pid_t)thread->tgid, &process))
		return n;
	n_all = runtime_frames_append(&process, frames->settings.lines, thread, definer, native, n,
				      words, reason);
	if (unwind_count_arrivals(thread->tgid, thread->tid) == thread->arrivals)
		return n_all;
	*reason = native_reason;
	return n;
}

/*
 * Searches at growing intervals while the runtime is starting, and after 1, 2, 4, 8 ... misses once
 * the layout is settled. Stacks with functions count apart: some threads never have any.
 */
void runtime_frames_miss(struct runtime_frames *frames, pid_t pid, bool has_functions)
{
	struct process_entry *entry = find_entry(frames, pid);
	const struct runtime_code *code;
	bool is_settled = false;
	unsigned int *n;

	if (!entry) {
		runtime_frames_find(frames, pid);
		return;
	}
	if (entry->is_starting) {
		if (clock_now_ns() >= entry->again_ns)
			runtime_frames_update(frames, pid);
		return;
	}
	code = entry->instance.file->code;
	n = &entry->n_misses[has_functions];
	if (!code->look_again || *n & (*n + 1)) {
		++*n;
		return;
	}
	if (code->look_again(&entry->instance, &entry->process, &is_settled)) {
		make_rows(frames, entry);
		publish(frames, entry);
	}
	*n += is_settled;
}
