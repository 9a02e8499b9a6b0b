// SPDX-License-Identifier: GPL-2.0-only
/* Threads and goroutines at one moment; see snapshot.h. */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "abi/filter.h"
#include "abi/locks.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/peek.h"
#include "dump/snapshot.h"
#include "modules/lock_names.h"
#include "modules/lock_owners.h"
#include "modules/target.h"
#include "process/processes.h"
#include "process/procstate.h"
#include "process/syscalls.h"
#include "runtimes/go/goroutines.h"
#include "runtimes/runtime.h"
#include "runtimes/runtimes.h"
#include "stacks/resolver.h"
#include "stacks/runtime_frames.h"
#include "unwind/unwind_procs.h"
#include "unwind/unwind_remote.h"

/* ---- walks ---- */

/*
 * Walks stacks of threads that don't run, with unwind tables in this process's own memory: without
 * BPF, and without stopping anything. /proc has only the instruction and the stack pointer of
 * such a thread, so a stack ends early where a frame needs another register.
 */

#define WALKED_MAPPINGS_MAX 65536

struct walker {
	struct unwind_backing backing;
	struct unwind_tables *tables;
	struct unwind_mapping *mappings;
	struct unwind_procs *procs;
	bool lines;			  /* lines of managed functions are requested */
	pid_t pid;			  /* process whose threads are walked */
	struct runtime_instance instance; /* file NULL: no managed runtime */
	struct runtime_process process;
};

/* ---- memory of the tables ---- */

static struct unwind_shard *new_shard(uint32_t n, void *arg)
{
	(void)n;
	(void)arg;
	return mem_zalloc(1, sizeof(struct unwind_shard));
}

static void drop_shard(uint32_t n, struct unwind_shard *shard, void *arg)
{
	(void)n;
	(void)arg;
	free(shard);
}

/* Creates a walker; processes is borrowed. lines: of managed code, too. Freed by walker_free(). */
static struct walker *walker_new(struct processes *processes, bool lines)
{
	struct walker *walker = mem_zalloc(1, sizeof(*walker));
	struct unwind_backing *backing = &walker->backing;

	walker->lines = lines;
	backing->rules = mem_zalloc(UNWIND_MAX_RULES, sizeof(*backing->rules));
	backing->pages = mem_zalloc(UNWIND_MAX_PAGES, sizeof(*backing->pages));
	backing->patterns = mem_zalloc(UNWIND_MAX_PATTERNS, sizeof(*backing->patterns));
	backing->max_pages = UNWIND_MAX_PAGES;
	backing->new_shard = new_shard;
	backing->drop_shard = drop_shard;
	walker->mappings = mem_zalloc(WALKED_MAPPINGS_MAX, sizeof(*walker->mappings));
	walker->tables = unwind_tables_new(backing);
	walker->procs =
		unwind_procs_new(processes, walker->tables, walker->mappings, WALKED_MAPPINGS_MAX);
	return walker;
}

static void end_runtime(struct walker *walker)
{
	if (walker->instance.state)
		walker->instance.file->code->release(&walker->instance);
	free(walker->instance.file);
	walker->instance = (struct runtime_instance){};
}

static void walker_free(struct walker *walker)
{
	end_runtime(walker);
	unwind_procs_free(walker->procs);
	unwind_tables_free(walker->tables);
	free((void *)walker->backing.rules);
	free((void *)walker->backing.pages);
	free((void *)walker->backing.patterns);
	free(walker->mappings);
	free(walker);
}

/* ---- managed runtimes ---- */

/* Finds a process's runtime, if its frames can be walked. False: there is none. */
static bool find_runtime(struct walker *walker, struct maps *maps)
{
	struct runtime_instance *instance = &walker->instance;

	for (size_t i = 0; i < maps->count; i++) {
		struct mapped *m = &maps->items[i];
		struct file *file = m->name->ino ? mapped_file(maps, m, walker->pid) : NULL;

		if (!file || !file->is_elf)
			continue;
		if (!instance->thread_bytes)
			instance->thread_bytes = runtime_thread_bytes(&file->elf);
		if (instance->file)
			continue;
		instance->file = runtime_recognize(&file->elf);
		if (instance->file)
			instance->bias = m->start - elfsegs_vaddr(&file->segs, m->offset);
	}
	return instance->file && !instance->file->refused;
}

static void begin_runtime(struct walker *walker, struct maps *maps)
{
	const struct runtime_code *code;

	walker->instance.pid = walker->pid;
	walker->instance.lines = walker->lines;
	walker->process = (struct runtime_process){};
	if (!find_runtime(walker, maps)) {
		end_runtime(walker);
		return;
	}
	code = walker->instance.file->code;
	walker->process.kind = walker->instance.file->kind;
	if (!code->walk || code->describe(&walker->instance, &walker->process))
		end_runtime(walker);
}

/* Prepares tables for a process, whose threads are walked next. maps: borrowed, NULL: none. */
static void walker_begin(struct walker *walker, pid_t pid, struct maps *maps)
{
	struct unwind_process slice;

	walker->pid = pid;
	end_runtime(walker);
	unwind_procs_update(walker->procs, pid, 0, &slice);
	if (maps)
		begin_runtime(walker, maps);
}

/*
 * Returns the managed runtime of the process whose threads are walked; NULL: pid is another
 * process, or has no runtime.
 */
static struct runtime_instance *walker_runtime(pid_t pid, void *arg)
{
	struct walker *walker = arg;

	return walker->instance.file && walker->pid == pid ? &walker->instance : NULL;
}

/*
 * Finds the thread pointer of a thread of the GNU C library on x86-64: the kernel knows the address
 * of the robust list, which is in struct pthread (nptl/descr.h), as is a pointer to the latter.
 * 0: unknown.
 */
static uint64_t find_thread_base(pid_t pid, pid_t tid)
{
	enum { LIST = 0x2e0, SELF = 0x10 };
	struct robust_list_head *list = NULL;
	uint64_t base, self;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &list, &size) || !list)
		return 0;
	base = (uint64_t)(uintptr_t)list - LIST;
	return peek_all(pid, base + SELF, &self, sizeof(self)) && self == base ? base : 0;
}

/* Returns true if frames are found by the thread pointer, not on the native stack. */
static bool needs_base(const struct walker *walker)
{
	return !(RUNTIME_BIT(walker->process.kind) & RUNTIME_ON_STACK);
}

static size_t walk_user(struct walker *walker, struct unwind_thread *thread,
			const struct runtime_definer *definer, uint64_t *words, int *reason)
{
	struct unwind_mappings mappings = unwind_procs_published(walker->procs, walker->pid);
	struct native_frames frames = {};
	struct unwind_view view = { .pid = walker->pid,
				    .tables = mappings.count ? walker->tables : NULL,
				    .mappings = mappings.items,
				    .n_mappings = mappings.count,
				    .framed = frames.framed,
				    .sps = frames.sps,
				    .bps = frames.bps };
	size_t n;

	if (walker->instance.file) {
		view.runtime = &walker->process;
		view.leave = walker->instance.file->code->leave;
	}
	thread->regs.thread_base = find_thread_base(walker->pid, (pid_t)thread->tid);
	n = unwind_walk_thread(&view, thread, words, STACK_DEPTH, reason);
	if (!walker->instance.file || *reason == UNWIND_RAN_ON ||
	    (needs_base(walker) && !thread->regs.thread_base))
		return n;
	return runtime_frames_append(&walker->process, walker->lines, thread, definer, &frames, n,
				     words, reason);
}

/*
 * Walks a thread's user stack, with the functions of a managed runtime: passes their definitions to
 * definer. words: STACK_WORDS elements. Returns their number, 0 for a thread of the kernel.
 * *reason: enum unwind_reason, UNWIND_RAN_ON if the thread has run since thread->arrivals was read.
 */
static size_t walker_walk(struct walker *walker, struct unwind_thread *thread,
			  const struct runtime_definer *definer, uint64_t *words, int *reason)
{
	size_t n = 0;

	*reason = UNWIND_NO_STACK;
	if (thread->regs.ip)
		n = walk_user(walker, thread, definer, words, reason);
	if (unwind_count_arrivals(thread->tgid, thread->tid) != thread->arrivals)
		*reason = UNWIND_RAN_ON;
	return n;
}

/* ---- threads ---- */

#define KERNEL_DEPTH 64

struct thread_state {
	pid_t pid, tid;
	char comm[TASK_COMM_LEN + 1];
	char state; /* letter as in proc_pid_stat(5): 'R', 'S', 'D', ...; '?': unknown */
	struct thread_call call;
	bool is_denied;	 /* the tool may not read the call and the registers */
	bool is_off_cpu; /* not running; `thread` has its registers, unless it is a kernel thread */
	struct unwind_thread thread;
	bool has_kernel; /* the kernel stack could be read */
	size_t n_kernel; /* names of the kernel stack's functions, leaf first */
	char *kernel[KERNEL_DEPTH];
};

/* Parses "tid (comm) S ...": the name may contain anything. */
static bool read_stat(struct thread_state *t)
{
	char *text = thread_file(t->pid, t->tid, "stat"), *open = text ? strchr(text, '(') : NULL;
	char *close = text ? strrchr(text, ')') : NULL;
	bool is_good = open && close && open < close && close[1] == ' ';

	if (is_good) {
		*close = 0;
		snprintf(t->comm, sizeof(t->comm), "%s", open + 1);
		t->state = close[2];
	}
	free(text);
	return is_good && t->state != 'Z' && t->state != 'X';
}

/* Parses lines like "[<0>] futex_wait_queue+0x60/0x90". */
static void read_kernel(struct thread_state *t)
{
	char *text = thread_file(t->pid, t->tid, "stack"), *rest = text, *line, *name;

	t->has_kernel = text;
	while (t->n_kernel < KERNEL_DEPTH && (line = strsep(&rest, "\n"))) {
		name = strchr(line, ' ');
		if (!name)
			continue;
		name[1 + strcspn(name + 1, "+ ")] = 0;
		t->kernel[t->n_kernel++] = mem_strdup(name + 1);
	}
	free(text);
}

/*
 * Reads a thread's state. False: it has ended. The rest of the state belongs to one wait only if
 * thread.arrivals is still the thread's count of arrivals afterwards. Freed with
 * thread_state_free().
 */
static bool thread_state_read(struct thread_state *t, pid_t pid, pid_t tid)
{
	*t = (struct thread_state){ .pid = pid, .tid = tid };
	t->thread = (struct unwind_thread){ .tgid = (uint32_t)pid, .tid = (uint32_t)tid };
	t->thread.arrivals = unwind_count_arrivals((uint32_t)pid, (uint32_t)tid);
	if (!read_stat(t))
		return false;
	t->is_denied = !thread_call_read(&t->call, pid, tid);
	t->is_off_cpu = t->call.is_off_cpu;
	t->thread.regs.sp = t->call.sp;
	t->thread.regs.ip = t->call.pc;
	read_kernel(t);
	return !t->is_denied || read_stat(t);
}

static void thread_state_free(struct thread_state *t)
{
	for (size_t i = 0; i < t->n_kernel; i++)
		free(t->kernel[i]);
	t->n_kernel = 0;
}

/* Returns the address of the futex that the thread waits for; 0: none. is_private: see futex(2). */
static uint64_t thread_state_futex(const struct thread_state *t, bool *is_private)
{
	if (t->call.number != SYS_futex || t->call.abi != CALL_NATIVE)
		return 0;
	*is_private = t->call.args[1] & FUTEX_PRIVATE_FLAG;
	return t->call.args[0];
}

#define MAPPINGS_MAX   (1u << 20)
#define SWEEP_MAX_NS   (5 * NS_PER_S)
#define ATTEMPTS       3
#define GOROUTINE_MARK "[goroutine: "
#define TEXT_BYTES     64

/* Goroutines with equal stacks and states. */
struct group {
	uint64_t stack_id; /* 0: no stack */
	char state[TEXT_BYTES];
	uint64_t count, first_id;
	uint64_t since_ns; /* start of the longest wait, as in struct go_goroutine; 0: unknown */
};

/* Facts about a process, for the report. */
struct taken {
	pid_t pid;
	char comm[TASK_COMM_LEN + 1];
	size_t n_threads;
	bool is_go;
	const char *why_none; /* reason why there are no goroutines; NULL: they were read */
	struct go_sweep sweep;
};

struct snapshot {
	struct processes *processes;
	struct resolver *resolver;
	struct walker *walker;
	struct profile *profile;
	struct lock_names *lock_names;
	struct taken *taken;
	size_t n_taken, taken_cap;
	struct lock_waiter *waiters;
	size_t n_waiters, waiters_cap;
	uint64_t n_threads, n_complete, n_cut, n_on_cpu, n_denied, n_without_kernel;

	/* state while a process is read */
	struct frame *frames;
	size_t n_frames, frames_cap;
	struct idmap groups;
	pid_t pid;
};

static const struct column columns[] = {
	{ "longest_ms", COLUMN_MOST },
	{ "first", COLUMN_LEAST },
	{},
};

struct snapshot *snapshot_new(bool lines)
{
	struct snapshot *s = mem_zalloc(1, sizeof(*s));
	struct resolver_options options = { .symbols = { .lines = lines },
					    .find_runtime = walker_runtime };

	s->processes = processes_new(&(struct processes_options){ .max_mappings = MAPPINGS_MAX });
	s->walker = walker_new(s->processes, lines);
	options.arg = s->walker;
	s->resolver = resolver_new(s->processes, &options);
	s->lock_names = lock_names_new(s->processes, false);
	s->profile = profile_new("threads", columns, NULL);
	return s;
}

void snapshot_free(struct snapshot *s)
{
	profile_free(s->profile);
	lock_names_free(s->lock_names);
	walker_free(s->walker);
	resolver_free(s->resolver);
	processes_free(s->processes);
	free(s->waiters);
	free(s->frames);
	free(s->taken);
	free(s);
}

/* ---- stacks ---- */

/* Defines a user stack. Returns its id. */
static uint64_t define_stack(struct snapshot *s, const uint64_t *words, size_t n, int reason)
{
	uint64_t hash = hash_add(hash_words(words, n), (uint64_t)s->pid) & ~STACK_ID_FOLDED;
	struct stack_def def = { .id = hash ? hash : 1,
				 .kind = STACK_USER,
				 .tgid = (uint32_t)s->pid,
				 .n_words = (uint16_t)n,
				 .reason = (uint16_t)reason,
				 .map_size = UINT64_MAX };

	memcpy(def.words, words, n * sizeof(*words));
	resolver_add(s->resolver, &def, sizeof(def));
	return def.id;
}

static void append_frame(struct snapshot *s, const struct frame *frame)
{
	*MEM_APPEND(s->frames, s->n_frames, s->frames_cap) = *frame;
}

static void append_user(struct snapshot *s, uint64_t stack_id)
{
	size_t n = 0;
	const struct frame *const *frames =
		stack_id ? resolver_frames(s->resolver, stack_id, &n) : NULL;

	for (size_t i = 0; frames && i < n; i++)
		append_frame(s, frames[i]);
}

static void add_sample(struct snapshot *s, struct sample *sample)
{
	sample->pid = (uint32_t)s->pid;
	sample->cpu = -1;
	sample->frames = s->frames;
	sample->n_frames = s->n_frames;
	profile_add(s->profile, sample);
}

/* ---- threads ---- */

static void define_function(const struct runtime_def *def, size_t size, void *arg)
{
	resolver_add_function(((struct snapshot *)arg)->resolver, def, size);
}

/*
 * Reads a thread's user stack; clears is_off_cpu if the thread has run since its state was read.
 * Returns the stack's id; 0: no stack, or the thread runs.
 */
static uint64_t read_user(struct snapshot *s, struct thread_state *t)
{
	const struct runtime_definer definer = { define_function, s };
	uint64_t words[STACK_WORDS];
	int reason = UNWIND_NO_STACK;
	size_t n = 0;

	if (t->is_off_cpu)
		n = walker_walk(s->walker, &t->thread, &definer, words, &reason);
	t->is_off_cpu &= reason != UNWIND_RAN_ON;
	if (!t->is_off_cpu || !n)
		return 0;
	s->n_complete += reason == UNWIND_COMPLETE;
	s->n_cut += reason != UNWIND_COMPLETE;
	return define_stack(s, words, n, reason);
}

static void note_waiter(struct snapshot *s, const struct thread_state *t, uint64_t stack_id)
{
	bool is_private = false;
	uint64_t addr = thread_state_futex(t, &is_private);
	struct lock_waiter waiter = { .pid = t->pid, .tid = t->tid, .user_id = stack_id };
	const struct frame *const *frames;
	size_t n = 0;

	if (!addr || !stack_id)
		return;
	frames = resolver_frames(s->resolver, stack_id, &n);
	memcpy(waiter.comm, t->comm, sizeof(waiter.comm));
	waiter.addr = addr;
	waiter.kind = lock_kind_name(LOCK_FUTEX, frames, frames ? n : 0);
	waiter.lock = lock_names_find(s->lock_names, t->pid, 0, lock_kind_base(addr, waiter.kind),
				      is_private);
	*MEM_APPEND(s->waiters, s->n_waiters, s->waiters_cap) = waiter;
}

static void append_kernel(struct snapshot *s, const struct thread_state *t)
{
	for (size_t i = t->n_kernel; i-- > 0;)
		append_frame(s, &(struct frame){ .name = t->kernel[i], .kind = FRAME_KERNEL });
}

static void add_thread(struct snapshot *s, const struct thread_state *t, uint64_t stack_id)
{
	char call[TEXT_BYTES];
	struct sample sample = { .comm = t->comm,
				 .state = t->state,
				 .value = 1,
				 .columns = { COLUMN_ABSENT, (uint64_t)t->tid } };

	if (t->is_off_cpu && t->call.number >= 0)
		sample.remark = syscall_label(call, sizeof(call), t->call.abi, t->call.number);
	s->n_frames = 0;
	append_user(s, stack_id);
	if (t->is_off_cpu)
		append_kernel(s, t);
	add_sample(s, &sample);
	s->n_threads++;
	s->n_denied += t->is_denied;
	s->n_on_cpu += !t->is_off_cpu && !t->is_denied;
	s->n_without_kernel += t->is_off_cpu && !t->has_kernel;
	if (t->is_off_cpu)
		note_waiter(s, t, stack_id);
}

/* Reads a thread; again if it runs meanwhile. Returns false if it has ended. */
static bool take_thread(struct snapshot *s, pid_t tid)
{
	struct thread_state t;
	uint64_t stack_id = 0;

	for (int i = 0; i < ATTEMPTS && (!i || !t.is_off_cpu); i++) {
		if (i)
			thread_state_free(&t);
		if (!thread_state_read(&t, s->pid, tid))
			return false;
		stack_id = read_user(s, &t);
	}
	add_thread(s, &t, stack_id);
	thread_state_free(&t);
	return true;
}

static size_t take_threads(struct snapshot *s)
{
	size_t n, n_alive = 0;
	pid_t *tids = thread_list(s->pid, &n);

	for (size_t i = 0; i < n; i++)
		n_alive += take_thread(s, tids[i]);
	free(tids);
	return n_alive;
}

/* ---- goroutines ---- */

static struct group *find_group(struct snapshot *s, uint64_t stack_id, const char *state)
{
	uint64_t id = hash_add(stack_id, hash_text(state));
	struct group *group = idmap_find(&s->groups, id ? id : 1);

	if (group)
		return group;
	group = mem_zalloc(1, sizeof(*group));
	group->stack_id = stack_id;
	snprintf(group->state, sizeof(group->state), "%s", state);
	idmap_add(&s->groups, id ? id : 1, group);
	return group;
}

static void note_goroutine(const struct go_goroutine *g, void *arg)
{
	struct snapshot *s = arg;
	int reason = g->is_cut ? UNWIND_DEPTH : UNWIND_COMPLETE;
	struct group *group =
		find_group(s, g->n ? define_stack(s, g->words, g->n, reason) : 0, g->state);

	if (!group->count++ || g->id < group->first_id)
		group->first_id = g->id;
	if (g->waits_since_ns && (!group->since_ns || g->waits_since_ns < group->since_ns))
		group->since_ns = g->waits_since_ns;
}

static void add_group(struct snapshot *s, const struct group *group, const char *comm,
		      uint64_t now_ns)
{
	bool has_wait = group->since_ns && group->since_ns < now_ns;
	uint64_t wait_ms = has_wait ? (now_ns - group->since_ns) / NS_PER_MS : COLUMN_ABSENT;
	struct sample sample = { .comm = comm,
				 .value = group->count,
				 .columns = { wait_ms, group->first_id } };
	char *mark = mem_printf(GOROUTINE_MARK "%s]", group->state);

	s->n_frames = 0;
	append_frame(s, &(struct frame){ .name = mark, .kind = FRAME_MARK });
	append_user(s, group->stack_id);
	add_sample(s, &sample);
	free(mark);
}

static void take_goroutines(struct snapshot *s, struct maps *maps, struct taken *taken)
{
	struct go_goroutines *goroutines = NULL;
	const struct group *group;
	struct go_program *program;
	uint64_t now_ns;
	int err;

	program = go_program_open(s->pid, maps, &err);
	taken->is_go = program || err != -ENODATA;
	taken->why_none = "its table of functions can't be read";
	if (program)
		goroutines = go_goroutines_open(program, &taken->why_none);
	if (goroutines && go_goroutines_sweep(goroutines, SWEEP_MAX_NS, SIZE_MAX, &taken->sweep,
					      note_goroutine, s))
		taken->why_none = GO_NO_PROOF;
	now_ns = clock_now_ns();
	for (size_t at = 0; (group = idmap_next(&s->groups, &at));)
		add_group(s, group, taken->comm, now_ns);
	idmap_free(&s->groups, free);
	s->groups = (struct idmap){};
	go_goroutines_free(goroutines);
	go_program_close(program);
}

static bool is_taken(const struct snapshot *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_taken; i++)
		if (s->taken[i].pid == pid)
			return true;
	return false;
}

int snapshot_take(struct snapshot *s, pid_t pid)
{
	struct taken taken = { .pid = pid };
	struct maps *maps;

	if (is_taken(s, pid))
		return 0;
	if (target_check_pid((uint32_t)pid, false))
		return -ESRCH;
	if (process_comm(pid, taken.comm, sizeof(taken.comm)))
		return msg_errno(-ESRCH, "process %d", pid);
	s->pid = pid;
	maps = processes_read(s->processes, pid, clock_now_ns());
	walker_begin(s->walker, pid, maps);
	taken.n_threads = take_threads(s);
	if (maps)
		take_goroutines(s, maps, &taken);
	maps_release(maps);
	*MEM_APPEND(s->taken, s->n_taken, s->taken_cap) = taken;
	return 0;
}

/* ---- text ---- */

static bool is_goroutine(const struct sample *sample)
{
	return sample->n_frames && sample_frame(sample, 0)->kind == FRAME_MARK &&
	       !strncmp(sample_frame(sample, 0)->name, GOROUTINE_MARK, strlen(GOROUTINE_MARK));
}

static void print_frames(FILE *f, const struct sample *sample, size_t from)
{
	static const struct writer_style plain;

	for (size_t i = sample->n_frames; i-- > from;) {
		fputs("        ", f);
		writer_print_frame(f, sample_frame(sample, i), &plain, NULL);
		fputc('\n', f);
	}
	if (sample->n_frames <= from)
		fputs("        [no stack]\n", f);
}

static void print_thread(FILE *f, const struct sample *sample)
{
	fprintf(f, "    %" PRIu64 " %s of ", sample->value,
		sample->value == 1 ? "thread" : "threads");
	escape_print(f, escape_no_name(sample->comm), NULL);
	fprintf(f, ", state %c", sample->state);
	if (sample->remark)
		fprintf(f, ", in %s", sample->remark);
	fprintf(f, " (%stid %" PRIu64 ")\n", sample->value == 1 ? "" : "first ",
		sample->columns[1]);
	print_frames(f, sample, 0);
}

static void print_goroutine(FILE *f, const struct sample *sample)
{
	fprintf(f, "    %" PRIu64 " %s ", sample->value,
		sample->value == 1 ? "goroutine" : "goroutines");
	fputc('[', f);
	escape_print(f, sample_frame(sample, 0)->name + strlen(GOROUTINE_MARK), NULL);
	if (sample->columns[0] != COLUMN_ABSENT)
		fprintf(f, ", %sat least %.1f s", sample->value == 1 ? "" : "longest ",
			(double)sample->columns[0] / 1000);
	fprintf(f, " (%sgoroutine %" PRIu64 ")\n", sample->value == 1 ? "" : "first ",
		sample->columns[1]);
	print_frames(f, sample, 1);
}

static void print_head(FILE *f, const struct taken *taken)
{
	escape_print(f, escape_no_name(taken->comm), NULL);
	fprintf(f, " (%d): %zu %s", taken->pid, taken->n_threads,
		taken->n_threads == 1 ? "thread" : "threads");
	if (taken->is_go && !taken->why_none)
		fprintf(f, ", %" PRIu64 " %s", taken->sweep.n,
			taken->sweep.n == 1 ? "goroutine" : "goroutines");
	fputc('\n', f);
}

static void print_process(struct snapshot *s, FILE *f, const struct taken *taken)
{
	print_head(f, taken);
	for (int goroutines = 0; goroutines < 2; goroutines++)
		for (size_t i = 0; i < profile_count(s->profile); i++) {
			const struct sample *sample = profile_sample(s->profile, i);

			if (sample->pid != (uint32_t)taken->pid ||
			    is_goroutine(sample) != goroutines)
				continue;
			(goroutines ? print_goroutine : print_thread)(f, sample);
		}
}

static const struct frame *const *stack_of(uint64_t user_id, size_t *n, void *arg)
{
	return resolver_frames(((struct snapshot *)arg)->resolver, user_id, n);
}

static void print_owners(struct snapshot *s, FILE *f, bool is_json)
{
	lock_owners_find(s->waiters, s->n_waiters);
	lock_owners_print(f, is_json, s->waiters, s->n_waiters, stack_of, s);
}

void snapshot_write_text(struct snapshot *s, FILE *f)
{
	profile_sort(s->profile);
	for (size_t i = 0; i < s->n_taken; i++)
		print_process(s, f, &s->taken[i]);
	print_owners(s, f, false);
}

void snapshot_write(struct snapshot *s, FILE *f, const struct writer *writer)
{
	static const struct writer_style plain;

	writer->write(f, s->profile, &plain);
	if (writer == &json_writer)
		print_owners(s, f, true);
}

/* ---- losses ---- */

static void print_lost_goroutines(const struct taken *taken)
{
	const struct go_sweep *sweep = &taken->sweep;

	if (taken->is_go && taken->why_none)
		msg_warn("process %d: goroutines are not shown: %s", taken->pid, taken->why_none);
	if (sweep->n > sweep->with_stack)
		msg_info("process %d: %llu of %llu goroutines without a stack: %llu running, %llu "
			 "changed while they were read, %llu incomplete",
			 taken->pid, (unsigned long long)(sweep->n - sweep->with_stack),
			 (unsigned long long)sweep->n, (unsigned long long)sweep->running,
			 (unsigned long long)sweep->changed, (unsigned long long)sweep->incomplete);
	if (sweep->unseen)
		msg_warn("process %d: %llu goroutines not read: time limit reached", taken->pid,
			 (unsigned long long)sweep->unseen);
}

void snapshot_print_losses(const struct snapshot *s)
{
	uint64_t n_stacks = s->n_complete + s->n_cut;

	for (size_t i = 0; i < s->n_taken; i++)
		print_lost_goroutines(&s->taken[i]);
	if (s->n_cut)
		msg_info("%llu of %llu user stacks of threads end early: registers are not known "
			 "from outside",
			 (unsigned long long)s->n_cut, (unsigned long long)n_stacks);
	if (s->n_on_cpu)
		msg_info("%llu of %llu threads without a stack: running",
			 (unsigned long long)s->n_on_cpu, (unsigned long long)s->n_threads);
	if (s->n_denied)
		msg_warn("%llu of %llu threads without a stack: access denied (needs "
			 "CAP_SYS_PTRACE)",
			 (unsigned long long)s->n_denied, (unsigned long long)s->n_threads);
	if (s->n_without_kernel)
		msg_info("%llu kernel stacks not read (needs root)",
			 (unsigned long long)s->n_without_kernel);
}
