// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls, counted when they return. Counting needs only sys_exit: the number is in the
 * registers. exit() and exit_group() don't return; they are counted when the task dies. Durations
 * and calls in flight also need sys_enter and a state per task.
 *
 * If the number is the only key, counting a call is one addition in this CPU's array.
 */
/* Typed if the kernel can (see compat.bpf.h): the other branch is dead code. */
#define TASK_READ(task, field) (HAS_TYPED_CURRENT ? (task)->field : BPF_CORE_READ(task, field))

#include "abi/call_record.h"
#include "lib/filter.bpf.h"
#include "abi/hist.h"
#include "lib/ksyms.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/table.bpf.h"

struct task_state {
	__u64 began_ns; /* start of the current call; 0: no call, or not traced */
	__s32 number;
	__u16 abi;
	bool from_before; /* the call began before tracing */
	bool is_known;	  /* the task entered or left a call while traced */
};

#include "sched/task_state.bpf.h"

#define MAX_ERRNO 4095

const volatile struct call_settings settings SEC(".rodata.calls");

/* The iterator's record: only one iterator runs. */
struct call_flight flight SEC(".data.flight") = {};

MAP_PERCPU_ARRAY(call_counts, struct call_counts, 1);

TABLE_WITH_TURNS(call_table, struct call_key, __u64, 16384);
TABLE_WITH_TURNS(call_time_table, struct call_key, struct call_times, 16384);

MAP_PERCPU_ARRAY(call_cells, struct call_cell, SET_BY_LOADER);

__u64 call_turn SEC(".data.turn") = CALL_FIRST_TURN;

/* Names of processes, which may have exited when the table is printed. */
MAP_LRU(call_labels, __u32, struct call_label, 16384);

const struct call_times no_times = { .min_ns = ~0ULL };

struct call {
	__s32 number;
	__u16 abi;
	__u16 error;
	__u64 began_ns; /* start of the call; 0: unknown */
	bool is_unseen; /* see CALL_UNSEEN */
};

/* ---- which call ---- */

static __always_inline bool number_is_fork(__s32 number)
{
	return number == NR_FORK || number == NR_VFORK || number == NR_CLONE || number == NR_CLONE3;
}

/* Returns true for forks: the new task leaves the call, too, with 0, which no parent gets. */
static __always_inline bool call_is_fork(const struct call *call)
{
	if (call->abi == CALL_COMPAT)
		return call->number == NR_COMPAT_FORK || call->number == NR_COMPAT_VFORK ||
		       call->number == NR_COMPAT_CLONE || call->number == NR_CLONE3;
	return number_is_fork(call->number & ~NR_X32_BIT);
}

static __always_inline bool call_is_exit(__s32 number, __u16 abi)
{
	if (abi == CALL_COMPAT)
		return number == NR_COMPAT_EXIT || number == NR_COMPAT_EXIT_GROUP;
	number &= ~NR_X32_BIT;
	return number == NR_EXIT || number == NR_EXIT_GROUP;
}

static __always_inline bool call_is_wanted(const struct call *call)
{
	if (settings.only_numbers && call->number != settings.numbers[call->abi & 1])
		return false;
	if (settings.error)
		return call->error == settings.error;
	return !settings.only_failed || call->error;
}

static __always_inline bool task_is_wanted(struct task_struct *task)
{
	struct task_struct *parent;

	if (!filter_task(task))
		return false;
	if (!settings.ppid)
		return true;
	parent = BPF_CORE_READ(task, real_parent);
	if (filter.pidns_inum)
		return pid_in_namespace(BPF_CORE_READ(parent, group_leader, thread_pid)) ==
		       settings.ppid;
	return (__u32)BPF_CORE_READ(parent, tgid) == settings.ppid;
}

/* ---- counting ---- */

/*
 * Counts a call in the array; returns false if its number is too large. No atomics: if these
 * programs can be preempted (7.x), the kernel skips and counts (run/loss.c) nested runs on the CPU.
 */
static __always_inline bool count_in_array(const struct call *call)
{
	__u32 zero = 0, index = call->abi * CALLS_PER_ABI + (__u32)call->number;
	struct call_counts *counts;

	if ((__u32)call->number >= CALLS_PER_ABI || index >= CALL_ABIS * CALLS_PER_ABI)
		return false;
	counts = bpf_map_lookup_elem(&call_counts, &zero);
	if (counts)
		counts->calls[index]++;
	return true;
}

static __always_inline bool is_last_thread(struct task_struct *task)
{
	return !BPF_CORE_READ(task, signal, live.counter);
}

static __always_inline void label_process(struct task_struct *task, __u32 tgid)
{
	struct call_label label = { .has_ended = is_last_thread(task) };

	BPF_CORE_READ_INTO(&label.comm, task, group_leader, comm);
	bpf_map_update_elem(&call_labels, &tgid, &label, BPF_ANY);
}

static __always_inline void fill_key(struct call_key *key, const struct call *call,
				     struct task_struct *task)
{
	if (settings.by_process)
		key->tgid = task_tgid(task);
	if (settings.by_call) {
		key->number = call->number;
		key->abi = call->abi;
	}
	if (settings.by_error)
		key->error = call->error;
}

static __always_inline void count_in_table(const struct call *call, struct task_struct *task)
{
	void *table = TABLE_IN_USE(call_table, settings.has_turns);
	struct call_key key = {};
	__u64 *calls, first = 1;

	fill_key(&key, call, task);
	calls = bpf_map_lookup_elem(table, &key);
	if (!calls) {
		if (settings.by_process)
			label_process(task, key.tgid);
		if (!bpf_map_update_elem(table, &key, &first, BPF_NOEXIST))
			return;
		calls = bpf_map_lookup_elem(table,
					    &key); /* inserted by another CPU, or table full */
	}
	if (calls)
		__sync_fetch_and_add(calls, 1);
	else
		loss_count(LOSS_MAP_FULL, 1);
}

/* ---- durations ---- */

static __always_inline struct call_times *find_times(const struct call_key *key,
						     struct task_struct *task)
{
	void *table = TABLE_IN_USE(call_time_table, settings.has_turns);
	struct call_times *times = bpf_map_lookup_elem(table, key);

	if (times)
		return times;
	if (settings.by_process)
		label_process(task, key->tgid);
	bpf_map_update_elem(table, key, &no_times, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key);
}

static __always_inline void find_extremes(struct call_times *times, __u64 ns)
{
	if (times->min_ns > ns)
		times->min_ns = ns;
	if (times->max_ns < ns)
		times->max_ns = ns;
}

/* Counts a call in the table of durations. Returns its element; NULL: the table is full. */
static __always_inline struct call_times *count_in_times(const struct call_key *key, __u32 slot,
							 struct task_struct *task)
{
	struct call_times *times = find_times(key, task);

	if (times)
		__sync_fetch_and_add(&times->slots[slot & (HIST_SLOTS_PER_OCTAVE - 1)], 1);
	else
		loss_count(LOSS_MAP_FULL, 1);
	return times;
}

/*
 * Adds a duration. Not called for calls without a duration: the compiler turns an addition of 0
 * into an instruction that needs Linux 5.12.
 */
static __always_inline void add_time(struct call_times *times, __u64 ns)
{
	if (!times)
		return;
	__sync_fetch_and_add(&times->total_ns, ns);
	find_extremes(times, ns);
}

struct key_words {
	__u64 low, high;
};

static __always_inline struct key_words key_words(const struct call_key *key)
{
	struct key_words words;

	__builtin_memcpy(&words, key, sizeof(words));
	return words;
}

static __always_inline __u32 cell_place(struct key_words words)
{
	__u64 hash = (words.low ^ words.high * 0xbf58476d1ce4e5b9ULL) * 0x9e3779b97f4a7c15ULL;

	return hash >> (64 - settings.cell_bits);
}

static __always_inline bool cell_has_key(const struct call_cell *cell, struct key_words words)
{
	struct key_words own = key_words(&cell->key);

	return own.low == words.low && own.high == words.high;
}

static __always_inline void cell_take(struct call_cell *cell, const struct call_key *key,
				      __u64 turn, struct task_struct *task)
{
	cell->key = *key;
	__builtin_memset(&cell->times, 0, sizeof(cell->times));
	cell->times.min_ns = ~0ULL;
	cell->turn = turn;
	if (settings.by_process)
		label_process(task, key->tgid);
}

/* Returns the key's cell; NULL: other keys have both cells. */
static __always_inline struct call_cell *find_cell(const struct call_key *key,
						   struct task_struct *task)
{
	__u64 turn = settings.has_turns ? *(volatile __u64 *)&call_turn : CALL_FIRST_TURN;
	struct key_words words = key_words(key);
	__u32 place = cell_place(words);
	struct call_cell *cell;

	if (settings.has_turns)
		place |= (turn & 1) << settings.cell_bits;
	for (int i = 0; i < 2; i++, place ^= 1) {
		cell = bpf_map_lookup_elem(&call_cells, &place);
		if (!cell)
			return NULL;
		if (cell->turn != turn)
			cell_take(cell, key, turn, task);
		if (cell_has_key(cell, words))
			return cell;
	}
	return NULL;
}

/*
 * Counts a call with a duration in its cell; returns false if it has none. No atomics: only one
 * program uses cells, and it never nests on a CPU.
 */
static __always_inline bool count_in_cell(const struct call_key *key, __u64 ns, __u32 slot,
					  struct task_struct *task)
{
	struct call_cell *cell = find_cell(key, task);

	if (!cell)
		return false;
	cell->times.slots[slot & (HIST_SLOTS_PER_OCTAVE - 1)]++;
	cell->times.total_ns += ns;
	find_extremes(&cell->times, ns);
	return true;
}

static __always_inline void count_with_time(const struct call *call, struct task_struct *task)
{
	struct call_key key = {};
	__u64 ns, fixed;
	__u32 slot;

	fill_key(&key, call, task);
	if (!call->began_ns) {
		key.octave = call->is_unseen ? CALL_UNSEEN : CALL_UNTIMED;
		count_in_times(&key, 0, task);
		return;
	}
	ns = bpf_ktime_get_ns() - call->began_ns;
	fixed = hist_scale(ns < HIST_MAX_NS ? ns : HIST_MAX_NS, settings.mult, settings.shift);
	key.octave = hist_octave_of(fixed);
	slot = hist_slot_of(fixed, key.octave);
	if (!count_in_cell(&key, ns, slot, task))
		add_time(count_in_times(&key, slot, task), ns);
}

static __always_inline void count_call(const struct call *call, struct task_struct *task)
{
	if (!call_is_wanted(call))
		return;
	if (settings.timed)
		count_with_time(call, task);
	else if (settings.by_process || settings.by_error || !count_in_array(call))
		count_in_table(call, task);
}

/* ---- a task's calls ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(syscount_enter, struct pt_regs *regs, long number)
{
	struct task_struct *task = current_task();
	struct task_state *state;

	if (!task_is_wanted(task))
		return 0;
	state = task_state_create(task);
	if (!state)
		return 0;
	state->number = (__s32)number;
	state->abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	state->from_before = false;
	state->is_known = true;
	state->began_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u16 error_of(const struct call *call, long result)
{
	if (call_restores_registers(call->number, call->abi == CALL_COMPAT, result))
		return 0;
	return result < 0 && result >= -MAX_ERRNO ? (__u16)-result : 0;
}

/* Arguments of the tracepoint sys_exit. */
struct exit_args {
	struct pt_regs *regs;
	long result;
};

static __always_inline struct exit_args exit_args(__u64 *ctx)
{
	return (struct exit_args){ (struct pt_regs *)ctx[0], (long)ctx[1] };
}

/*
 * Handles the common case in few instructions; returns false for the rest, which take the slow
 * path. Reads values as late as possible: each register that outlives a helper call must be saved.
 */
static __always_inline bool count_plainly(__u64 *ctx)
{
	__u32 zero = 0, number = call_number(exit_args(ctx).regs);
	struct task_struct *task = current_task();
	struct call_counts *counts;

	if (number >= CALLS_PER_ABI || task_is_compat(task))
		return false;
	if ((number_is_fork((__s32)number) && !exit_args(ctx).result) || !filter_task(task))
		return true;
	counts = bpf_map_lookup_elem(&call_counts, &zero);
	if (counts)
		counts->calls[number]++;
	return true;
}

/* Reads the call from the registers. Returns false for a new task's return from fork. */
static __always_inline bool read_call(struct call *call, struct exit_args *args,
				      struct task_struct *task)
{
	call->number = call_number(args->regs);
	call->abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	if (call->abi == CALL_COMPAT)
		args->result = (__s32)args->result;
	if (!args->result && call_is_fork(call))
		return false;
	if (call->number == -1 && call->abi == CALL_NATIVE && args->result != -ENOSYS)
		call->number = restoring_call_number(args->regs);
	return true;
}

static __noinline int count_at_length(__u64 *ctx)
{
	struct exit_args args = exit_args(ctx);
	struct task_struct *task = current_task();
	struct call call = {};

	if (!task_is_wanted(task) || !read_call(&call, &args, task))
		return 0;
	call.error = error_of(&call, args.result);
	count_call(&call, task);
	return 0;
}

SEC("tp_btf/sys_exit")
int syscount_exit(__u64 *ctx)
{
	if (settings.is_plain && count_plainly(ctx))
		return 0;
	return count_at_length(ctx);
}

/* Returns true if the recorded call belongs to an earlier task: see task_slot_release(). */
static __always_inline bool is_new_task(const struct exit_args *args, struct task_struct *task)
{
	struct call call = {};

	if (args->result) /* true for most calls, which need nothing else */
		return false;
	call.number = call_number(args->regs);
	call.abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	return call_is_fork(&call);
}

/*
 * Reads the call that was recorded at its entry: after exec and sigreturn the registers hold
 * another number. Returns false if none was recorded: the call began before the task was traced, or
 * its entry was missed.
 */
static __always_inline bool end_tracked(struct call *call, struct exit_args *args,
					struct task_struct *task)
{
	struct task_state *state = task_state_create(task);

	if (!state)
		return false;
	call->is_unseen = state->is_known && !state->began_ns;
	state->is_known = true;
	if (!state->began_ns || is_new_task(args, task))
		return false;
	call->number = state->number;
	call->abi = state->abi;
	if (call->abi == CALL_COMPAT)
		args->result = (__s32)args->result;
	call->began_ns = state->from_before ? 0 : state->began_ns;
	state->began_ns = 0;
	return true;
}

/* Drops the recorded call of a task that left the filter during the call. */
static __always_inline int forget_call(struct task_struct *task)
{
	struct task_state *state = filter.tests || settings.ppid ? task_state_find(task) : NULL;

	if (state)
		*state = task_state_fresh;
	return 0;
}

/* Counts a call at its end, if the current call of each task is recorded. */
SEC("tp_btf/sys_exit")
int syscount_exit_tracked(__u64 *ctx)
{
	struct exit_args args = exit_args(ctx);
	struct task_struct *task = current_task();
	struct call call = {};

	if (!task_is_wanted(task))
		return forget_call(task);
	if (!end_tracked(&call, &args, task) && !read_call(&call, &args, task))
		return 0;
	call.error = error_of(&call, args.result);
	count_call(&call, task);
	return 0;
}

/* Counts a dying task's exit call. Labels a dying process with its last name. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(syscount_process_exit, struct task_struct *task)
{
	struct call call = {};
	__s32 number;

	if (!task_is_wanted(task))
		return 0;
	call.abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	if (user_call_number(task, &number) && call_is_exit(number, call.abi)) {
		call.number = number;
		count_call(&call, task);
	}
	if (settings.by_process && is_last_thread(task))
		label_process(task, task_tgid(task));
	return 0;
}

/* ---- calls in flight ---- */

static __always_inline bool task_makes_calls(struct task_struct *task)
{
	return !task_is_kthread(task) && !TASK_READ(task, exit_state);
}

/* Records calls in flight when tracing begins. */
static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
	__s32 number;

	if (state->began_ns || !task_makes_calls(task) || !task_is_wanted(task) ||
	    !user_call_number(task, &number))
		return;
	state->number = number;
	state->abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	state->from_before = true;
	state->began_ns = bpf_ktime_get_ns();
}

/*
 * Fills `flight` with the task's current call, by its registers and, for the start time, its state.
 * Returns false if it is in no call.
 */
static __always_inline bool find_flight(struct task_struct *task)
{
	struct task_state *state;
	__s32 number;

	if (!user_call_number(task, &number))
		return false;
	flight.number = number;
	flight.abi = task_is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	flight.began_ns = 0;
	state = settings.tracked ? task_state_find(task) : NULL;
	if (state && !state->from_before)
		flight.began_ns = state->began_ns;
	return true;
}

/*
 * Returns how long a task has been off CPU, or 0: the time from its last arrival on a CPU to that
 * of the current task, by the scheduler's clock, which differs from bpf_ktime_get_ns()'s.
 */
static __always_inline __u64 time_off_cpu(struct task_struct *task)
{
	__u64 came, now;

	if (task_is_on_cpu(task))
		return 0;
	came = task_last_arrival(task);
	now = task_last_arrival(current_task());
	return came && now > came ? now - came : 0;
}

static __always_inline void take_flight_stack(struct task_struct *task)
{
	long bytes = 0;

	if (settings.with_stacks)
		bytes = bpf_get_task_stack(task, flight.words, sizeof(flight.words), 0);
	flight.n_words = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

SEC("iter/task")
int syscount_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || !task_makes_calls(task) || !task_is_wanted(task))
		return 0;
	if (!find_flight(task))
		return 0;
	if (settings.only_numbers && flight.number != settings.numbers[flight.abi & 1])
		return 0;
	flight.tgid = task_tgid(task);
	flight.tid = task_tid(task);
	flight.off_cpu_ns = time_off_cpu(task);
	task_comm(task, flight.comm);
	take_flight_stack(task);
	bpf_seq_write(ctx->meta->seq, &flight, sizeof(flight));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
