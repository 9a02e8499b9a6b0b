/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detects waits for futexes from the registers with which a task entered the kernel: a task that
 * sleeps in futex(2) waits for the lock at its first argument, and a waker that released the lock
 * is in futex(2), too. So only scheduler events are needed. (include/uapi/linux/futex.h)
 */
#ifndef FUTEX_BPF_H
#define FUTEX_BPF_H

#include "abi/locks.h"
#include "lib/filter.bpf.h"

#define FUTEX_COMMANDS 32 /* upper limit of command numbers */
#define FUTEX_COMMAND  0x7f
#define FUTEX_PRIVATE  0x80

#define FUTEX_LOCK_PI  6
#define FUTEX_LOCK_PI2 13

/* Waiting commands, as bits: WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2. */
#define FUTEX_WAITS (1U << 0 | 1U << FUTEX_LOCK_PI | 1U << 9 | 1U << 11 | 1U << FUTEX_LOCK_PI2)

/* Waking commands: WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET, CMP_REQUEUE_PI. */
#define FUTEX_WAKES (1U << 1 | 1U << 3 | 1U << 4 | 1U << 5 | 1U << 7 | 1U << 10 | 1U << 12)

#define NR_FUTEX_WAITV	 449 /* since 5.16; the next three calls since 6.7 */
#define NR_FUTEX_WAKE	 454
#define NR_FUTEX_WAIT	 455
#define NR_FUTEX_REQUEUE 456

/* Offset of the address in struct futex_waitv. */
#define FUTEX_WAITV_ADDR 8

#define FUTEX_PAGE_MASK 0xfff

#define FUTEX_OWNER_DIED 0x40000000

#define SIGKILL 9

static __always_inline bool futex_is_one_of(__u64 op, __u32 commands)
{
	op &= FUTEX_COMMAND;
	return op < FUTEX_COMMANDS && (commands >> op & 1);
}

static __always_inline void lock_begin(struct lock_wait *wait, __u64 addr, __u8 kind)
{
	*wait = (struct lock_wait){ .addr = addr, .kind = kind };
}

static __always_inline bool futex_begin_wait(struct lock_wait *wait, const struct user_call *call)
{
	__u64 op = call->args[1] & FUTEX_COMMAND;

	if (!futex_is_one_of(op, FUTEX_WAITS))
		return false;
	lock_begin(wait, call->args[0],
		   op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 ? LOCK_FUTEX_PI : LOCK_FUTEX);
	wait->is_private = !!(call->args[1] & FUTEX_PRIVATE);
	return true;
}

/*
 * Records a wait for a list of futexes by its first lock or, since another task's memory can't be
 * read, by the list's address.
 */
static __always_inline void futex_begin_list(struct lock_wait *wait, const struct user_call *call,
					     bool is_current)
{
	__u64 addr = 0;

	if (is_current)
		bpf_probe_read_user(&addr, sizeof(addr),
				    (void *)(call->args[0] + FUTEX_WAITV_ADDR));
	lock_begin(wait, addr ? addr : call->args[0], LOCK_FUTEX_ANY);
}

/* Finds the futex that a sleeping task waits for. Returns false if there is none. */
static __always_inline bool futex_find_wait(struct task_struct *task, struct lock_wait *wait,
					    bool is_current)
{
	struct user_call call;

	if (task_is_kthread(task) || !user_call_read(task, &call))
		return false;
	if (call.number == NR_FUTEX)
		return futex_begin_wait(wait, &call);
	if (call.number == NR_FUTEX_WAIT)
		lock_begin(wait, call.args[0], LOCK_FUTEX);
	else if (call.number == NR_FUTEX_WAITV)
		futex_begin_list(wait, &call, is_current);
	else
		return false;
	return true;
}

/*
 * Returns true if addr may be the wait's lock: processes may map a shared lock at different
 * addresses, but at the same offset in a page.
 */
static __always_inline bool futex_is_same(const struct lock_wait *wait, __u64 addr)
{
	return !((wait->addr ^ addr) & FUTEX_PAGE_MASK);
}

static __always_inline bool call_is_exit(const struct user_call *call)
{
	return call->number == NR_EXIT || call->number == NR_EXIT_GROUP;
}

/* Returns true if exit of the process, exec or a signal kills the task (fatal_signal_pending()). */
static __always_inline bool task_is_killed(struct task_struct *task)
{
	return TASK_READ(task, pending.signal.sig[0]) & 1UL << (SIGKILL - 1);
}

/*
 * Returns true if the current task, which is exiting, releases the lock that a task waits for: a
 * join, a lock with priority inheritance, or a robust lock, which the kernel marks before it wakes
 * up a waiter. The mark in another process can't be read: a shared lock counts as released.
 */
static __always_inline bool futex_is_released_by_exit(struct task_struct *task,
						      const struct lock_wait *wait)
{
	__u32 word = 0;

	if (wait->kind == LOCK_FUTEX_PI ||
	    futex_is_same(wait, (__u64)BPF_CORE_READ(current_task(), clear_child_tid)))
		return true;
	if (TASK_READ(task, tgid) != bpf_get_current_pid_tgid() >> 32)
		return !wait->is_private;
	return !bpf_probe_read_user(&word, sizeof(word), (void *)wait->addr) &&
	       word & FUTEX_OWNER_DIED;
}

/*
 * Returns true if the current task, in a system call, is interrupted: an interrupt's stack is not
 * the task's, which has the user's registers at its top. Not inlined: since 6.13 only frames of
 * less than 64 bytes are on the kernel's stack. The helper turns the pointers into numbers, which
 * may be subtracted.
 */
static __noinline bool current_is_interrupted(void)
{
	__u64 numbers[2], pointers[2];

	pointers[0] = (__u64)current_user_registers();
	pointers[1] = (__u64)pointers;
	bpf_probe_read_kernel(numbers, sizeof(numbers), pointers);
	return numbers[0] - numbers[1] >= THREAD_BYTES;
}

/*
 * Returns true if the current task releases the lock that a task waits for; false if it sends a
 * signal, or a timer interrupts it. An exiting process ends all its waits and releases no lock. The
 * addresses aren't compared: after FUTEX_REQUEUE a waiter is woken up at another one than it
 * passed.
 */
static __always_inline bool futex_is_released(struct task_struct *task,
					      const struct lock_wait *wait)
{
	struct user_call call;

	if (task_is_killed(task) || current_is_interrupted() ||
	    !user_call_read(current_task(), &call))
		return false;
	if (call.number == NR_FUTEX)
		return futex_is_one_of(call.args[1], FUTEX_WAKES);
	if (call_is_exit(&call))
		return futex_is_released_by_exit(task, wait);
	return call.number == NR_FUTEX_WAKE || call.number == NR_FUTEX_REQUEUE;
}

/*
 * Returns true if a wakeup of the waiting task matters. A kernel lock may need several wakeups
 * until the task gets it: the last waker released it.
 */
static __always_inline bool lock_wakes_up(const struct lock_wait *wait)
{
	return wait->addr && (lock_is_kernels(wait->kind) || wait->end == LOCK_END_UNSEEN);
}

static __always_inline void lock_give_up(struct lock_wait *wait)
{
	wait->end = LOCK_END_GIVEN_UP;
	wait->waker_tgid = 0;
	__builtin_memset(wait->waker_comm, 0, sizeof(wait->waker_comm));
}

/* Records the current task as the waker of a waiting one. */
static __always_inline void lock_note_waker(struct task_struct *task, struct lock_wait *wait)
{
	if (!lock_is_kernels(wait->kind) && !futex_is_released(task, wait)) {
		lock_give_up(wait);
		return;
	}
	wait->end = LOCK_END_RELEASED;
	wait->waker_tgid = current_tgid();
	bpf_get_current_comm(wait->waker_comm, sizeof(wait->waker_comm));
}

#endif
