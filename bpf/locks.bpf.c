// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits counted per lock: waits for futexes (sched/futex.bpf.h) as they end, off CPU, and waits for
 * kernel locks between the events contention_begin and contention_end (since 5.19, commit
 * 16edd9b511a1).
 *
 * Counting itself takes locks of ring buffers and tables, whose contention must not be counted
 * while they are held: each program that takes them marks its CPU (lock_enter()). Programs may
 * interrupt each other: an interrupt may wake up a thread while a lock is being counted.
 */
#define STACK_NESTED
#define STACK_RECURS
#define WAITS_PER_LOCK
#include "abi/locks.h"
#include "lib/maps.bpf.h"
#include "sched/waits_visit.bpf.h"

const volatile struct lock_settings lock_settings SEC(".rodata.locks");

TABLE_WITH_TURNS(lock_table, struct lock_key, struct lock_sum, 65536);

MAP_RINGBUF(lock_news, 128 << 10);

MAP_PERCPU_ARRAY(lock_cpus, struct lock_cpu, 1);

static __always_inline struct lock_cpu *lock_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&lock_cpus, &zero);
}

/*
 * Marks this CPU as counting, until lock_leave(). No atomics: a program that interrupts this one
 * calls lock_leave() before this one continues.
 */
static __always_inline struct lock_cpu *lock_enter(void)
{
	struct lock_cpu *cpu = lock_settings.kernel ? lock_this_cpu() : NULL;

	if (cpu)
		cpu->n_inside++;
	barrier();
	return cpu;
}

static __always_inline void lock_leave(struct lock_cpu *cpu)
{
	barrier();
	if (cpu)
		cpu->n_inside--;
}

/* ---- counting ---- */

static __always_inline void lock_announce(const struct lock_key *key)
{
	const struct lock_wait *lock = &key->lock;
	struct lock_news news = { lock->addr, key->stack.tgid, lock->generation, lock->is_private };

	if (!lock_is_kernels(lock->kind))
		bpf_ringbuf_output(&lock_news, &news, sizeof(news), 0);
}

static __always_inline struct lock_sum *lock_find_sum(const struct lock_key *key)
{
	void *table = TABLE_IN_USE(lock_table, lock_settings.has_turns);
	struct lock_sum *sum = bpf_map_lookup_elem(table, key), none = {};

	if (sum)
		return sum;
	if (!bpf_map_update_elem(table, key, &none, BPF_NOEXIST))
		lock_announce(key);
	return bpf_map_lookup_elem(table, key); /* another CPU may have inserted the key */
}

static __always_inline void lock_count(const struct lock_key *key, __u64 ns, __u64 runnable_ns)
{
	struct lock_sum *sum = lock_find_sum(key);

	if (!ns)
		return; /* only the stacks are recorded, see wait_take() */
	if (!sum) {
		loss_count(LOSS_MAP_FULL, ns);
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->total_ns, ns);
	if (runnable_ns)
		__sync_fetch_and_add(&sum->runnable_ns, runnable_ns);
	if (sum->longest_ns < ns)
		sum->longest_ns = ns;
}

/* ---- locks of programs ---- */

static __always_inline bool wait_begin(struct task_struct *task, bool is_current)
{
	struct task_state *state = task_state_find(task);

	if (!state || !futex_find_wait(task, &state->lock.wait, is_current))
		return false;
	state->lock.wait.generation = TASK_READ(task, self_exec_id);
	return true;
}

/* Counts a wait. The kernel stack is omitted: it ends in futex(2). */
static __noinline void wait_count(struct task_struct *task, struct wait *wait,
				  enum kernel_stack kernel_stack)
{
	struct lock_key key = { .stack = wait->key, .lock = wait->lock.wait };

	stack_key_owner(&key.stack, task);
	if (wait->key.remark & WAIT_AT_END) /* the loader finds the lock's owner */
		key.stack.tid = task_tid(task);
	lock_count(&key, wait->ns, wait->runnable_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(locks_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct lock_cpu *cpu = lock_enter();

	wait_switch(ctx, preempt, prev, next);
	lock_leave(cpu);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(locks_waking, struct task_struct *task)
{
	struct task_state *state = task_state_find(task);
	struct lock_cpu *cpu;

	if (!state || !lock_wakes_up(&state->lock.wait))
		return 0;
	lock_note_waker(task, &state->lock.wait);
	if (wait_settings.waker) {
		cpu = lock_enter();
		state->waking_id = waker_intern(ctx);
		lock_leave(cpu);
	}
	if (!state->off_ns) /* the task waits for a kernel lock, or is about to sleep */
		state->waker_id = state->waking_id;
	return 0;
}

/* ---- locks of the kernel ---- */

/* include/trace/events/lock.h */
#define LCB_F_SPIN   (1U << 0)
#define LCB_F_READ   (1U << 1)
#define LCB_F_WRITE  (1U << 2)
#define LCB_F_RT     (1U << 3)
#define LCB_F_PERCPU (1U << 4)
#define LCB_F_MUTEX  (1U << 5)

/* Returns the kind of a kernel lock. A mutex whose waiter spins first is still a mutex. */
static __always_inline __u8 lock_kernel_kind(__u32 flags)
{
	if (flags & LCB_F_MUTEX)
		return LOCK_MUTEX;
	if (flags & LCB_F_SPIN)
		return flags & (LCB_F_READ | LCB_F_WRITE) ? LOCK_RWLOCK : LOCK_SPIN;
	if (flags & LCB_F_RT)
		return LOCK_RTMUTEX;
	if (flags & LCB_F_PERCPU)
		return LOCK_PERCPU_RWSEM;
	return flags & (LCB_F_READ | LCB_F_WRITE) ? LOCK_RWSEM : LOCK_SEMAPHORE;
}

static __always_inline bool lock_kind_spins(__u8 kind)
{
	return kind == LOCK_SPIN || kind == LOCK_RWLOCK;
}

/* Starts a spinning wait. Reserves the slot first: an interrupt that also spins uses the next. */
static __always_inline void lock_begin_spin(struct lock_cpu *cpu, __u64 addr, __u8 kind)
{
	__u32 at = cpu->n_spins < LOCK_SPINS ? cpu->n_spins : 0; /* full: end events were missed */
	struct lock_spin *spin = &cpu->spins[at & (LOCK_SPINS - 1)];

	cpu->n_spins = at + 1;
	barrier();
	spin->addr = addr;
	spin->kind = kind;
	spin->began_ns = bpf_ktime_get_ns();
}

static __always_inline bool lock_waits_for_kernels(const struct lock_wait *wait, __u64 addr)
{
	return wait->addr == addr && lock_is_kernels(wait->kind);
}

/*
 * Records the start of a sleeping wait. Ignores repeated events: a mutex has one when the thread
 * begins to spin, and one when it goes to sleep.
 */
static __always_inline void lock_begin_sleep(struct task_struct *task, __u64 addr, __u8 kind)
{
	struct task_state *state = task_state_find(task);

	if (!state || lock_waits_for_kernels(&state->lock.wait, addr))
		return;
	state->waker_id = 0;
	lock_begin(&state->lock.wait, addr, kind);
	state->lock.began_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/contention_begin")
int BPF_PROG(locks_contention_begin, void *addr, unsigned int flags)
{
	struct task_struct *task = current_task();
	struct lock_cpu *cpu = lock_this_cpu();
	__u8 kind = lock_kernel_kind(flags);

	if (!cpu || cpu->n_inside || !filter_task(task))
		return 0;
	if (lock_kind_spins(kind))
		lock_begin_spin(cpu, (__u64)addr, kind);
	else
		lock_begin_sleep(task, (__u64)addr, kind);
	return 0;
}

static __always_inline bool lock_end_spin(struct lock_cpu *cpu, __u64 addr, struct lock_state *lock)
{
	for (__u32 n = LOCK_SPINS; n > 0; n--) {
		struct lock_spin *spin = &cpu->spins[n - 1];

		if (n > cpu->n_spins || spin->addr != addr)
			continue;
		lock_begin(&lock->wait, addr, spin->kind);
		lock->began_ns = spin->began_ns;
		cpu->n_spins = n - 1;
		return true;
	}
	return false;
}

static __always_inline bool lock_end_sleep(struct task_struct *task, __u64 addr,
					   struct lock_state *lock, __u64 *waker_id)
{
	struct task_state *state = task_state_find(task);

	if (!state || !lock_waits_for_kernels(&state->lock.wait, addr))
		return false;
	*lock = state->lock;
	*waker_id = state->waker_id;
	state->lock.wait.addr = 0;
	return true;
}

static __always_inline void lock_count_kernels(void *ctx, struct task_struct *task,
					       const struct lock_state *lock, __u64 waker_id)
{
	__u64 ns = bpf_ktime_get_ns() - lock->began_ns;
	struct lock_key key = { .stack.waker_id = waker_id, .lock = lock->wait };

	if (!ns || ns < wait_settings.min_ns || ns > wait_settings.max_ns)
		return;
	key.stack.user_id = stack_intern_user_typed(ctx, task);
	key.stack.kernel_id = stack_intern_kernel_current(ctx);
	stack_key_owner(&key.stack, task);
	lock_count(&key, ns, 0);
}

SEC("tp_btf/contention_end")
int BPF_PROG(locks_contention_end, void *addr, int result)
{
	struct task_struct *task = current_task();
	struct lock_cpu *cpu = lock_this_cpu();
	struct lock_state lock = {};
	__u64 waker_id = 0;

	if (!cpu || !filter_task(task))
		return 0;
	if (cpu->n_inside) {
		loss_count(LOSS_NESTED, 0);
		return 0;
	}
	if (!lock_end_spin(cpu, (__u64)addr, &lock) &&
	    !lock_end_sleep(task, (__u64)addr, &lock, &waker_id))
		return 0;
	if (result < 0) { /* a signal, not a waker, ended the wait */
		lock_give_up(&lock.wait);
		waker_id = 0;
	}
	cpu->n_inside++;
	lock_count_kernels(ctx, task, &lock, waker_id);
	lock_leave(cpu);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
