// SPDX-License-Identifier: GPL-2.0-only
/* Threads that stall; see thread_stalls.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "process/procstate.h"
#include "process/syscalls.h"
#include "process/thread_stalls.h"

#define NAME_AT		6    /* /proc/PID/status begins with "Name:", a tab, and the name */
#define COMM_MAX	64   /* a name of 15 bytes, escaped by the kernel */
#define FRAME_BYTES	1024 /* larger than the frame of musl's pthread_cond_timedwait() */
#define LOCKED		2    /* value of a contended mutex of glibc, and of the Go runtime */
#define SEMAPHORE_EMPTY UINT32_MAX

/* A thread at one moment, from /proc. */
struct moment {
	char comm[COMM_MAX], state; /* state: letter as in proc_pid_status(5) */
	uint64_t sleeps, preemptions;
	uint64_t ran_ns;
};

/* A thread's time since it last slept, got a CPU, or stopped sleeping. */
struct stretch {
	bool is_asleep;
	uint64_t switches; /* count of context switches, the same since start_ns: see update() */
	uint64_t ran_ns;
	uint64_t start_ns, start_ran_ns;
	bool is_judged;
	uint64_t pass; /* last pass in which the thread was alive */
};

/* ---- reading ---- */

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* False: the thread has ended. */
static bool read_moment(struct moment *moment, pid_t pid, pid_t tid)
{
	char *text = thread_file(pid, tid, "status");
	const char *state = text ? strstr(text, "\nState:\t") : NULL;
	struct thread_times times;

	*moment = (struct moment){};
	if (state) {
		snprintf(moment->comm, sizeof(moment->comm), "%.*s",
			 (int)strcspn(text + NAME_AT, "\n"), text + NAME_AT);
		moment->state = state[strlen("\nState:\t")];
		moment->sleeps = number_after(state, "\nvoluntary_ctxt_switches:");
		moment->preemptions = number_after(state, "\nnonvoluntary_ctxt_switches:");
		if (moment->state == 'R' && thread_times_read(&times, pid, tid))
			moment->ran_ns = times.ran_ns;
	}
	free(text);
	return state;
}

/* ---- calls ---- */

/*
 * Distinguishes mutexes from conditions and semaphores, in which pools wait for work. For a
 * contended mutex, glibc and the Go runtime call FUTEX_WAIT with the value 2; musl, and glibc for
 * robust mutexes, with the owner's number and FUTEX_WAITERS. musl's conditions wait with a 2, too,
 * but in their own stack frame, and its semaphores with -1.
 */
static bool waits_for_mutex(const uint64_t *args, uint64_t sp)
{
	uint32_t value = (uint32_t)args[2];

	switch (args[1] & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		return (value == LOCKED && args[0] - sp >= FRAME_BYTES) ||
		       (value & FUTEX_WAITERS && value & FUTEX_TID_MASK &&
			value != SEMAPHORE_EMPTY);
	default:
		return false;
	}
}

uint64_t thread_mutex(const struct thread_call *call)
{
	const char *name = syscall_name(call->abi, call->number);

	if (!name || (strcmp(name, "futex") != 0 && strcmp(name, "futex_time64") != 0))
		return 0;
	return waits_for_mutex(call->args, call->sp) ? call->args[0] : 0;
}

static bool is_stall(const char *call, const uint64_t *args)
{
	static const char *const calls[] = { "connect", "flock",      "pwrite64", "sendfile",
					     "sendmsg", "sendto",     "splice",	  "write",
					     "writev",	"semtimedop", "semop",	  "sendmmsg",
					     "pwritev", "pwritev2",   "vmsplice" };

	if (!strcmp(call, "fcntl") || !strcmp(call, "fcntl64"))
		return args[1] == F_SETLKW || args[1] == F_OFD_SETLKW;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

/* Returns the name of the call in which a sleeping thread stalls; NULL: it doesn't. */
static const char *read_stall(pid_t pid, pid_t tid)
{
	struct thread_call call;
	const char *name;

	if (!thread_call_read(&call, pid, tid))
		return NULL;
	name = syscall_name(call.abi, call.number);
	return name && (thread_mutex(&call) || is_stall(name, call.args)) ? name : NULL;
}

/* ---- threads ---- */

static struct stretch *find_stretch(struct thread_stalls *stalls, pid_t tid)
{
	struct stretch *stretch = idmap_find(&stalls->threads, (uint64_t)tid);

	if (!stretch) {
		stretch = mem_zalloc(1, sizeof(*stretch));
		idmap_add(&stalls->threads, (uint64_t)tid, stretch);
	}
	stretch->pass = stalls->pass;
	return stretch;
}

/* Updates the stretch: begins a new one if the thread's state or counts have changed. */
static void update(struct stretch *stretch, const struct moment *moment, bool counts_cpu,
		   uint64_t now_ns)
{
	bool is_asleep = moment->state != 'R';
	uint64_t switches = moment->sleeps + (counts_cpu ? 0 : moment->preemptions);
	uint64_t ran_ns = counts_cpu ? 0 : moment->ran_ns;

	if (stretch->start_ns && stretch->is_asleep == is_asleep && stretch->switches == switches &&
	    stretch->ran_ns == ran_ns)
		return;
	*stretch = (struct stretch){
		.is_asleep = is_asleep,
		.switches = switches,
		.ran_ns = ran_ns,
		.start_ns = now_ns,
		.start_ran_ns = moment->ran_ns,
		.pass = stretch->pass,
	};
}

/* Describes what a thread has done for too long, freed by the caller; NULL: no stall. */
static char *judge(const struct moment *moment, pid_t pid, pid_t tid, uint64_t ms, uint64_t ran_ms)
{
	const char *call;

	switch (moment->state) {
	case 'R':
		ran_ms = ran_ms < ms ? ran_ms : ms;
		return mem_printf("on CPU %" PRIu64 " ms, runnable %" PRIu64 " ms", ran_ms,
				  ms - ran_ms);
	case 'D':
		return mem_strdup("uninterruptible sleep");
	case 'S':
		call = read_stall(pid, tid);
		return call ? mem_printf("blocked in %s", call) : NULL;
	default:
		return NULL;
	}
}

static void read_thread(struct thread_stalls *stalls, pid_t pid, pid_t tid, thread_stall_fn *found,
			void *arg)
{
	struct moment moment;
	struct stretch *stretch;
	uint64_t now_ns, ms;
	char *what, *text;

	if (!read_moment(&moment, pid, tid))
		return;
	now_ns = clock_now_ns();
	stretch = find_stretch(stalls, tid);
	update(stretch, &moment, stalls->counts_cpu, now_ns);
	if (stretch->is_judged || now_ns - stretch->start_ns < stalls->limit_ns)
		return;
	stretch->is_judged = true;
	ms = (now_ns - stretch->start_ns) / NS_PER_MS;
	what = judge(&moment, pid, tid, ms, (moment.ran_ns - stretch->start_ran_ns) / NS_PER_MS);
	if (!what)
		return;
	text = mem_printf("%s (%d) for %" PRIu64 " ms: %s", moment.comm, tid, ms, what);
	found(text, arg);
	free(text);
	free(what);
}

static bool is_alive(void *value, void *arg)
{
	const struct thread_stalls *stalls = arg;
	struct stretch *stretch = value;
	bool is_alive = stretch->pass == stalls->pass;

	if (!is_alive)
		free(stretch);
	return is_alive;
}

void thread_stalls_read(struct thread_stalls *stalls, const pid_t *pids, size_t n,
			thread_stall_fn *found, void *arg)
{
	stalls->pass++;
	for (size_t i = 0; i < n; i++) {
		size_t n_threads;
		pid_t *tids = thread_list(pids[i], &n_threads);

		for (size_t k = 0; k < n_threads; k++)
			read_thread(stalls, pids[i], tids[k], found, arg);
		free(tids);
	}
	idmap_keep(&stalls->threads, is_alive, stalls);
}

void thread_stalls_free(struct thread_stalls *stalls)
{
	idmap_free(&stalls->threads, free);
}
