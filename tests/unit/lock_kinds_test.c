// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the kinds of locks: a futex's by its waiters; and the waiters of a kernel's lock. */
#include "abi/locks.h"
#include "modules/lock_names.h"
#include "unit.h"

#define MAX_FRAMES 16

/* Names root first, up to NULL. */
static size_t make_stack(const char *const *names, struct frame *frames, const struct frame **stack)
{
	size_t n = 0;

	for (; names[n]; n++) {
		frames[n] = (struct frame){ .name = names[n] };
		stack[n] = &frames[n];
	}
	return n;
}

static const char *kind_of(uint32_t kind, const char *const *names)
{
	const struct frame *stack[MAX_FRAMES];
	struct frame frames[MAX_FRAMES];
	size_t n = make_stack(names, frames, stack);

	return lock_kind_name(kind, stack, n);
}

static const char *user_of(const char *const *names)
{
	const struct frame *stack[MAX_FRAMES];
	struct frame frames[MAX_FRAMES];
	size_t n = make_stack(names, frames, stack);

	return lock_kind_user(stack, n);
}

#define STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(a_lock_s_kind_is_what_waits)
{
	/* a futex is what the c library waits in */
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "___pthread_mutex_lock", "__lll_lock_wait")),
		  "mutex");
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "pthread_cond_wait@@GLIBC_2.3.2",
					    "__futex_abstimed_wait_common")),
		  "condition");
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "__new_sem_wait_slow64.constprop.0")),
		  "semaphore");
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "pthread_rwlock_wrlock")), "rwlock");
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "__pthread_clockjoin_ex")), "join");
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("main", "syscall")), "futex");
	CHECK_STR(lock_kind_name(LOCK_FUTEX, NULL, 0), "futex");
	/* a function far out says nothing */
	CHECK_STR(kind_of(LOCK_FUTEX, STACK("pthread_mutex_lock", "a", "b", "c", "d", "e", "f")),
		  "futex");
	/* only conditions are conditions */
	CHECK_EQ(lock_kind_base(12, kind_of(LOCK_FUTEX, STACK("pthread_cond_timedwait"))), 8);
	CHECK_EQ(lock_kind_base(12, kind_of(LOCK_FUTEX, STACK("sem_wait"))), 12);
	CHECK_EQ(lock_kind_base(12, kind_of(LOCK_FUTEX_PI, STACK("pthread_cond_wait"))), 12);
	/* other kinds do not ask the stack */
	CHECK_STR(kind_of(LOCK_FUTEX_PI, STACK("pthread_mutex_lock")), "pi-mutex");
	CHECK_STR(kind_of(LOCK_FUTEX_ANY, STACK("main")), "any-of");
	CHECK_STR(kind_of(LOCK_MUTEX, STACK("pipe_write")), "mutex");
	CHECK_STR(kind_of(LOCK_RWSEM, STACK("pipe_write")), "rwsem");
	CHECK_STR(kind_of(LOCK_SPIN, STACK("pipe_write")), "spin");
	for (uint32_t kind = 0; kind < LOCK_KINDS; kind++)
		CHECK(kind_of(kind, STACK("main")));
	CHECK_STR(kind_of(LOCK_KINDS, STACK("main")), "futex");
}

TEST(the_kernels_own_code_for_locks_is_no_user_of_them)
{
	CHECK_STR(user_of(STACK("ksys_write", "vfs_write", "pipe_write", "mutex_lock",
				"__mutex_lock.constprop.0")),
		  "pipe_write");
	CHECK_STR(
		user_of(STACK("shmem_file_write_iter", "down_write", "rwsem_down_write_slowpath")),
		"shmem_file_write_iter");
	CHECK_STR(
		user_of(STACK("futex_wake", "_raw_spin_lock", "native_queued_spin_lock_slowpath")),
		"futex_wake");
	CHECK(!user_of(STACK("mutex_lock")));
}
