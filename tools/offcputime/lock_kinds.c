// SPDX-License-Identifier: GPL-2.0-only
/* Kinds of locks; see lock_kinds.h. */
#include <string.h>

#include "abi/locks.h"
#include "base/array.h"
#include "offcputime/lock_kinds.h"

#define LIBC_FRAMES 6 /* that the C library may have around the wait */

static const char condition[] = "condition";

/* Parts of the names of the functions that wait: of glibc, musl and C11's threads. */
static const struct {
	const char *part, *kind;
} functions[] = {
	{ "pthread_cond_", condition },	  { "cnd_wait", condition },
	{ "cnd_timedwait", condition },	  { "pthread_mutex_", "mutex" },
	{ "lll_lock_wait", "mutex" },	  { "mtx_lock", "mutex" },
	{ "mtx_timedlock", "mutex" },	  { "pthread_rwlock_", "rwlock" },
	{ "sem_wait", "semaphore" },	  { "sem_timedwait", "semaphore" },
	{ "sem_clockwait", "semaphore" }, { "pthread_barrier_wait", "barrier" },
	{ "pthread_join", "join" },	  { "pthread_timedjoin", "join" },
	{ "pthread_clockjoin", "join" },  { "thrd_join", "join" },
};

static const char *const kernel_names[LOCK_KINDS] = {
	[LOCK_FUTEX] = "futex",	     [LOCK_FUTEX_PI] = "pi-mutex",
	[LOCK_FUTEX_ANY] = "any-of", [LOCK_MUTEX] = "mutex",
	[LOCK_RWSEM] = "rwsem",	     [LOCK_PERCPU_RWSEM] = "percpu-rwsem",
	[LOCK_RTMUTEX] = "rtmutex",  [LOCK_SEMAPHORE] = "semaphore",
	[LOCK_SPIN] = "spin",	     [LOCK_RWLOCK] = "rwlock",
};

static const char *kind_of_function(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strstr(name, functions[i].part))
			return functions[i].kind;
	return NULL;
}

/* Uses the innermost user frames; user stacks have no kernel frames. */
static const char *kind_of_stack(const struct frame *const *frames, size_t n)
{
	for (size_t i = 0; i < n && i < LIBC_FRAMES; i++) {
		const struct frame *frame = frames[n - 1 - i];
		const char *kind = frame->name ? kind_of_function(frame->name) : NULL;

		if (kind)
			return kind;
	}
	return NULL;
}

const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n)
{
	const char *name = kind == LOCK_FUTEX ? kind_of_stack(frames, n) : NULL;

	if (name)
		return name;
	return kind < LOCK_KINDS ? kernel_names[kind] : kernel_names[LOCK_FUTEX];
}

bool lock_kind_is_condition(const char *name)
{
	return name == condition;
}

/* Beginnings of the names of the kernel's functions that take locks. */
static bool is_lock_code(const char *name)
{
	static const char *const beginnings[] = {
		"__mutex_",	  "mutex_",
		"__ww_mutex",	  "ww_mutex_",
		"rwsem_",	  "__rwsem_",
		"down_",	  "__down",
		"down",		  "_raw_",
		"__raw_",	  "do_raw_",
		"queued_",	  "native_queued_",
		"__pv_queued_",	  "pv_queued",
		"percpu_down_",	  "__percpu_down_",
		"__percpu_rwsem", "percpu_rwsem",
		"rt_mutex",	  "__rt_mutex",
		"rt_spin_",	  "rtlock_",
		"rt_read_",	  "rt_write_",
		"__rt_spin",	  "up_",
		"__up_",	  "osq_lock",
		"rwbase_",	  "__rwbase_",
		"contention_",	  "trace_contention",
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

const char *lock_kind_user(const struct frame *const *frames, size_t n)
{
	while (n > 0 && frames[n - 1]->name && is_lock_code(frames[n - 1]->name))
		n--;
	return n > 0 ? frames[n - 1]->name : NULL;
}
