// SPDX-License-Identifier: GPL-2.0-only
/* Makes the report from counts per lock; see lock_report.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/locks.h"
#include "abi/waits.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/lock_names.h"
#include "modules/lock_owners.h"
#include "locks/lock_report.h"
#include "locks/lock_table.h"
#include "modules/kernelnames.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/features.h"
#include "run/loss.h"
#include "run/ringbuf.h"
#include "stacks/stacks.h"
#include "symbols/ksyms.h"

struct counted {
	struct lock_key key;
	struct lock_sum sum;
	pid_t tid; /* thread that still waits; 0: the waits have ended */
};

/* Counts from which a report is made. */
struct counted_list {
	struct counted *items;
	size_t count, cap;
};

struct locks {
	struct map_pair tables;
	struct ringbuf *news;
	struct lock_names *names;
	struct lock_table *table;    /* table of the current report */
	struct lock_waiter *waiters; /* threads that still wait */
	size_t n_waiters, max_waiters;
};

static const struct locks fresh = {
	.tables = { .slot = "lock_tables", .first = "lock_table" },
};

DEFINE_STATE(struct locks, locks_of, lock_report_module)

/* ---- before load ---- */

static void leave_out_kernels(const struct run *run)
{
	program_leave_out(run, "locks_contention_begin");
	program_leave_out(run, "locks_contention_end");
	map_leave_out(run, "lock_cpus");
	msg_warn("kernel locks: not shown: Linux %s has no contention tracepoints (needs 5.19)",
		 run->system.release);
}

static int configure_locks(struct run *run)
{
	struct lock_settings settings = { .has_turns = run_has_turns(run) };
	const struct btf *types = object_types(run);

	if (!types)
		return -EINVAL;
	settings.kernel = features_tracepoint(types, "contention_begin");
	if (!settings.kernel)
		leave_out_kernels(run);
	map_pair_configure(run, &locks_of(run)->tables, stacks_entries(run), settings.has_turns);
	loss_name_option(run, "stack-storage-size");
	return map_set_settings(run, ".rodata.locks", &settings, sizeof(settings));
}

/* ---- while tracing ---- */

static int on_news(void *ctx, void *data, size_t size)
{
	const struct lock_news *news = data;
	struct locks *locks = ctx;
	pid_t pid = (pid_t)news->tgid;

	if (size < sizeof(*news))
		return 0;
	lock_names_find(locks->names, pid, news->generation, news->addr, news->is_private);
	lock_names_find(locks->names, pid, news->generation, lock_kind_base(news->addr, NULL),
			news->is_private);
	return 0;
}

static int start_locks(struct run *run)
{
	struct locks *locks = locks_of(run);

	locks->names = lock_names_new(stacks_processes(run), run_given(run, "no-demangle"));
	locks->news = ringbuf_watch(run, "lock_news", on_news, locks);
	return locks->news ? 0 : -EIO;
}

static void finish_locks(struct run *run)
{
	struct locks *locks = locks_of(run);

	ringbuf_close(locks->news);
	lock_table_free(locks->table);
	free(locks->waiters);
	lock_names_free(locks->names);
}

const struct module lock_report_module = {
	.state = DEFAULTS(fresh),
	.configure = configure_locks,
	.start = start_locks,
	.finish = finish_locks,
};

/* ---- names in the kernel ---- */

static void name_symbol(struct lock_names *names, const struct ksyms *ksyms, uint64_t addr)
{
	struct lock_name *lock = lock_names_find_kernels(names, addr);
	struct ksym sym;

	if (lock->symbol || !ksyms_find(ksyms, addr, &sym))
		return;
	lock->symbol = mem_strdup(sym.name);
	lock->start = sym.start;
	lock->vaddr = addr;
}

/* Sets the symbols of kernel locks that are variables. */
static void name_symbols(struct run *run, const struct counted_list *list)
{
	struct kernelnames *kernelnames = stacks_kernelnames(run);
	uint64_t *addrs = mem_zalloc(list->count + 1, sizeof(*addrs));
	struct ksyms *ksyms = NULL;
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		if (lock_is_kernels(list->items[i].key.lock.kind))
			addrs[n++] = list->items[i].key.lock.addr;
	if (n && kernelnames)
		ksyms = kernelnames_for(kernelnames, addrs, n);
	for (size_t i = 0; ksyms && i < list->count; i++)
		if (lock_is_kernels(list->items[i].key.lock.kind))
			name_symbol(locks_of(run)->names, ksyms, list->items[i].key.lock.addr);
	if (ksyms)
		ksyms_free(ksyms);
	free(addrs);
}

static const struct lock_name *find_kernels_lock(struct run *run, const struct lock_key *key)
{
	struct lock_name *lock = lock_names_find_kernels(locks_of(run)->names, key->lock.addr);
	size_t n;
	const struct frame *const *frames = stacks_frames(run, key->stack.kernel_id, &n);
	const char *function;

	if (lock->symbol || lock->function || !frames)
		return lock;
	function = lock_kind_user(frames, n);
	lock->function = function ? mem_strdup(function) : NULL;
	return lock;
}

/* ---- the report ---- */

struct reading {
	struct run *run;
	map_visit_fn *visit;
	void *arg;
};

static void collect(const void *key, const void *sum, void *arg)
{
	struct counted_list *list = arg;
	struct counted *counted;

	counted = MEM_APPEND(list->items, list->count, list->cap);
	memcpy(&counted->key, key, sizeof(counted->key));
	memcpy(&counted->sum, sum, sizeof(counted->sum));
	counted->tid = (pid_t)counted->key.stack.tid;
	counted->key.stack.tid = 0; /* threads of a process have one row */
}

static void add_waiter(struct locks *locks, const struct counted *counted,
		       const struct lock_name *lock, const char *kind)
{
	const struct lock_key *key = &counted->key;
	struct lock_waiter *w;

	w = MEM_APPEND(locks->waiters, locks->n_waiters, locks->max_waiters);
	*w = (struct lock_waiter){ .pid = (pid_t)key->stack.tgid,
				   .tid = counted->tid,
				   .addr = key->lock.addr,
				   .user_id = key->stack.user_id,
				   .lock = lock,
				   .kind = kind };
	memcpy(w->comm, key->stack.comm, TASK_COMM_LEN);
}

static bool is_shown(const struct run *run, const struct lock_key *key)
{
	char comm[TASK_COMM_LEN + 1] = {};

	memcpy(comm, key->stack.comm, TASK_COMM_LEN);
	return !(key->stack.remark == (WAIT_AT_START | WAIT_AT_END) &&
		 run_given(run, "without-throughout")) &&
	       stacks_show(run, comm, key->stack.user_id);
}

static void hand_on(const struct reading *reading, const struct counted *counted,
		    const struct lock_name *lock, const char *kind)
{
	char *mark = lock_name_mark(lock, kind);
	struct stacks_value value = {
		.value = counted->sum.total_ns,
		.columns = { counted->sum.runnable_ns, counted->sum.count },
		.group = mark,
	};

	reading->visit(&counted->key.stack, &value, reading->arg);
	free(mark);
}

static void report_one(const struct reading *reading, const struct counted *counted)
{
	static const struct stacks_value nothing;
	struct locks *locks = locks_of(reading->run);
	const struct lock_key *key = &counted->key;
	const struct lock_name *lock;
	size_t n = 0;
	const struct frame *const *frames = stacks_frames(reading->run, key->stack.user_id, &n);
	const char *kind = lock_kind_name(key->lock.kind, frames, frames ? n : 0);

	lock = lock_is_kernels(key->lock.kind)
		       ? find_kernels_lock(reading->run, key)
		       : lock_names_find(locks->names, (pid_t)key->stack.tgid, key->lock.generation,
					 lock_kind_base(key->lock.addr, kind),
					 key->lock.is_private);
	if (!counted->sum.total_ns) { /* a continuing wait, not yet long enough */
		reading->visit(&key->stack, &nothing, reading->arg);
		return;
	}
	if (is_shown(reading->run, key))
		lock_table_add(locks->table, lock, kind, key, &counted->sum);
	if (counted->tid)
		add_waiter(locks, counted, lock, kind);
	hand_on(reading, counted, lock, kind);
}

/* Reads the counts. Resolves new locks first, while their processes are alive. */
static int read_locks(struct run *run, map_visit_fn *visit, void *arg)
{
	struct reading reading = { run, visit, arg };
	struct locks *locks = locks_of(run);
	struct counted_list list = {};
	int err = map_pair_read(run, &locks->tables, collect, &list);

	lock_table_free(locks->table);
	locks->table = lock_table_new();
	locks->n_waiters = 0;
	if (!run->is_peek)
		lock_names_begin_report(locks->names);
	ringbuf_read(locks->news);
	name_symbols(run, &list);
	for (size_t i = 0; !err && i < list.count; i++)
		report_one(&reading, &list.items[i]);
	free(list.items);
	return err;
}

static size_t append_frames(struct run *run, uint64_t id, const struct frame **frames, size_t n,
			    size_t max)
{
	size_t n_more;
	const struct frame *const *more = stacks_frames(run, id, &n_more);

	for (size_t i = 0; more && i < n_more && n < max; i++)
		frames[n++] = more[i];
	return n;
}

/*
 * Collects a waker's frames, root first; for user-space locks, kernel frames only if there are no
 * user frames.
 */
static size_t waker_stack(const struct lock_name *lock, uint64_t waker_id,
			  const struct frame **frames, size_t max, void *arg)
{
	const uint64_t *words = stacks_waker(arg, waker_id);
	size_t n = words ? append_frames(arg, words[0], frames, 0, max) : 0;

	if (words && (!n || lock->is_kernels))
		n = append_frames(arg, words[1], frames, n, max);
	return n;
}

static const struct frame *const *owner_stack(uint64_t user_id, size_t *n, void *arg)
{
	return stacks_frames(arg, user_id, n);
}

static struct lock_style style_of(struct run *run)
{
	return (struct lock_style){ run_given(run, "waker") ? waker_stack : NULL, run };
}

static void print_owners(struct run *run, bool is_json)
{
	const struct locks *locks = locks_of(run);

	lock_owners_find(locks->waiters, locks->n_waiters);
	lock_owners_print(run->out, is_json, locks->waiters, locks->n_waiters, owner_stack, run);
}

static void write_text(struct run *run)
{
	struct lock_style style = style_of(run);

	lock_table_print(run->out, locks_of(run)->table, &style);
	print_owners(run, false);
}

static void append_json(struct run *run)
{
	struct lock_style style = style_of(run);

	lock_table_print_json(run->out, locks_of(run)->table, &style);
	print_owners(run, true);
}

const struct stacks_source lock_source = {
	.read = read_locks,
	.write_text = write_text,
	.append_json = append_json,
	.adds_up = true,
};
