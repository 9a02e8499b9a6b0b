// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of idle waits; see idle_waits.h.
 *
 * A system call does not show why a thread waits: in epoll_wait() it may wait for a lock (as a
 * backend of postgres does). Its caller decides: a function that waits for the next piece of work.
 * The caller is searched for only near the wait: further out it is a loop that runs a handler, and
 * the handler waits for something of its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "output/profile.h"
#include "stacks/idle_waits.h"

#define LIBC_FRAMES 4  /* maximum number of libc's internal frames below the called function */
#define VIA_FRAMES  14 /* maximum number of frames between the wait and the loop */

/* Functions of libc that idle threads wait in, by the names that callers and symbols use. */
static const char *const waits[] = {
	"accept",
	"accept4",
	"clock_nanosleep",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"io_getevents",
	"nanosleep",
	"new_sem_wait_slow64",
	"poll",
	"ppoll",
	"pselect",
	"pthread_clockjoin_ex",
	"pthread_cond_clockwait",
	"pthread_cond_timedwait",
	"pthread_cond_wait",
	"select",
	"sem_clockwait",
	"sem_timedwait",
	"sem_wait",
	"sigsuspend",
	"sigtimedwait",
	"sigwait",
	"sigwaitinfo",
};

struct idle_loop {
	const char *function;
	const char *reason;
	/* Prefixes of frames between function and wait; "!PREFIX": of others. NULL: none. */
	const char *const *via;
};

#define VIA(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *const glib_via[] = {
	"[libglib-",
	"g_main_context_",
	"g_poll",
	NULL,
};

static const char *const java_via[] = {
	"!Monitor::lock",
	"Monitor::",
	"os::Plat",
	"Platform",
	"PosixSemaphore::",
	"os::signal_wait",
	"java.lang.",
	"!java.util.concurrent.locks.AbstractQueuedSynchronizer.",
	"java.util.concurrent.",
	"org.apache.tomcat.util.threads.TaskQueue.",
	"org.eclipse.jetty.util.BlockingArrayQueue.",
	"jdk.internal.misc.Unsafe.park",
	"sun.misc.Unsafe.park",
	"Unsafe_Park",
	"Parker::park",
	"JVM_MonitorWait",
	"ObjectSynchronizer::wait",
	"ObjectMonitor::wait",
	NULL,
};

static const char *const java_nio_via[] = {
	"sun.nio.ch.",
	"java.nio.",
	"Java_sun_nio_ch_",
	"io.netty.channel.nio.",
	"org.eclipse.jetty.io.ManagedSelector",
	NULL,
};

static const char *const postgres_via[] = {
	"[postgres", "ServerLoop", "WaitEventSetWait", "WaitLatch", NULL,
};

static const char *const python_via[] = {
	"[python",
	"[libpython",
	"Py",
	"_Py",
	"method_vectorcall_",
	"cfunction_vectorcall_",
	"_queue_SimpleQueue_",
	"call_function",
	"function_code_fastcall",
	"[_queue.",
	"[select.",
	"lock_PyThread_",
	"acquire_timed",
	"Condition.wait (threading.py)",
	"_PollLikeSelector.select (selectors.py)",
	"EpollSelector.select (selectors.py)",
	"select_",
	NULL,
};

/* Functions of C++ are without their arguments, those of Python with their file. */
static const struct idle_loop loops[] = {
	/* event loops: wait for the next event of any source */
	{ "BaseEventLoop._run_once (base_events.py)", "asyncio: the event loop", python_via },
	{ "aeMain", "redis, valkey: the event loop",
	  VIA("[redis", "[valkey", "aeProcessEvents", "aeApiPoll") },
	{ "aeProcessEvents", "redis, valkey: the event loop", VIA("aeApiPoll") },
	{ "ev_run", "libev: the event loop", VIA("[libev.so", "epoll_poll", "linuxaio_poll") },
	{ "event_base_loop", "libevent: the event loop", VIA("[libevent", "epoll_dispatch") },
	{ "g_main_context_iteration", "GLib: the main loop", glib_via },
	{ "g_main_loop_run", "GLib: the main loop", glib_via },
	{ "ngx_process_events_and_timers", "nginx: a worker without requests",
	  VIA("ngx_epoll_process_events", "ngx_poll_process_events", "[nginx") },
	{ "sd_event_run", "systemd: the event loop", VIA("[libsystemd", "sd_event_wait") },
	{ "sd_event_wait", "systemd: the event loop", VIA("[libsystemd", "process_epoll") },
	{ "uv_run", "libuv (node): the event loop", VIA("uv__io_poll") },

	/* servers that wait for a client, or for a child */
	{ "BaseServer.serve_forever (socketserver.py)", "python: no request", python_via },
	{ "ApplyLauncherMain", "postgres: no subscription to start", postgres_via },
	{ "AutoVacLauncherMain", "postgres: no vacuum is due", postgres_via },
	{ "BackgroundWriterMain", "postgres: nothing to write", postgres_via },
	{ "CheckpointerMain", "postgres: no checkpoint is due", postgres_via },
	{ "PostmasterMain", "postgres: no connection to accept", postgres_via },
	{ "StartAutoVacLauncher", "postgres: no vacuum is due", postgres_via },
	{ "WalWriterMain", "postgres: nothing to write", postgres_via },
	{ "secure_read", "postgres: the client sends nothing", postgres_via },
	{ "handle_connections_sockets", "mariadb: no connection to accept" },
	{ "ngx_master_process_cycle", "nginx: no child has ended" },

	/* pools: wait for the next piece of work */
	{ "Queue.get (queue.py)", "python: a queue is empty", python_via },
	{ "_queue_SimpleQueue_get", "python: a queue is empty", python_via },
	{ "_worker (thread.py)", "python: a pool without work", python_via },
	{ "bioProcessBackgroundJobs", "redis, valkey: no background job" },
	{ "g_async_queue_pop", "GLib: a queue is empty", VIA("[libglib-", "g_cond_wait") },
	{ "g_async_queue_timeout_pop", "GLib: a queue is empty", VIA("[libglib-", "g_cond_wait") },
	{ "start_thread", "jemalloc: nothing to give back", VIA("[libjemalloc") },
	{ "uv_cond_wait", "libuv (node): a pool without work" },
	{ "uv_sem_wait", "libuv (node): a thread without work" },

	/* Java's event loops, servers and pools, by its functions */
	{ "io.netty.channel.nio.NioEventLoop.run", "netty: the event loop", java_nio_via },
	{ "io.netty.channel.nio.NioIoHandler.run", "netty: the event loop", java_nio_via },
	{ "java.lang.ref.ReferenceQueue.remove", "java: no reference to clear", java_via },
	{ "java.util.TimerThread.mainLoop", "java: no task is due", java_via },
	{ "java.util.concurrent.ForkJoinPool.awaitWork", "java: a pool without work", java_via },
	{ "java.util.concurrent.ThreadPoolExecutor.getTask", "java: a pool without work",
	  java_via },
	{ "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
	  "tomcat: a pool without work", java_via },
	{ "org.apache.tomcat.util.net.NioEndpoint$Poller.run", "tomcat: no request", java_nio_via },
	{ "org.eclipse.jetty.io.ManagedSelector$SelectorProducer.select", "jetty: the event loop",
	  java_nio_via },
	{ "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll",
	  "jetty: a pool without work", java_via },
	{ "sun.net.httpserver.ServerImpl$Dispatcher.run", "java: no request", java_nio_via },
	{ "sun.nio.ch.Net.accept", "java: no connection to accept", java_nio_via },

	/* the JVM's own threads, by libjvm.so's function names */
	{ "CallJavaMainInNewThread", "java: the first thread, whose work another one does" },
	{ "CompileQueue::get", "java: nothing to compile", java_via },
	{ "G1ConcurrentMarkThread::run_service", "java: nothing to collect", java_via },
	{ "G1ConcurrentRefineThread::run_service", "java: nothing to collect", java_via },
	{ "G1PrimaryConcurrentRefineThread::wait_for_completed_buffers", "java: nothing to collect",
	  java_via },
	{ "G1ServiceThread::sleep_before_next_cycle", "java: no task is due", java_via },
	{ "G1ServiceThread::wait_for_task", "java: no task is due", java_via },
	{ "GangWorker::loop", "java: nothing to collect", java_via },
	{ "JVM_WaitForReferencePendingList", "java: no reference to clear", java_via },
	{ "MonitorDeflationThread::monitor_deflation_thread_entry", "java: no monitor to deflate",
	  java_via },
	{ "NMethodSweeper::sweeper_loop", "java: no code to remove", java_via },
	{ "NotificationThread::notification_thread_entry", "java: no notification", java_via },
	{ "ServiceThread::service_thread_entry", "java: no event", java_via },
	{ "VMThread::wait_for_operation", "java: no operation to execute", java_via },
	{ "WatcherThread::sleep", "java: no task is due", java_via },
	{ "WorkerThread::run", "java: nothing to collect", java_via },
	{ "signal_thread_entry", "java: no signal", java_via },
};

/* Main functions of idle kernel threads, which call schedule(), directly or indirectly. */
static const struct idle_loop kernel_threads[] = {
	{ "add_hwgenerator_randomness", "enough randomness" },
	{ "devtmpfs_work_loop", "no device to make" },
	{ "devtmpfsd", "no device to make" },
	{ "hwrng_fillfn", "enough randomness" },
	{ "hwrng_msleep", "enough randomness" },
	{ "io_sq_thread", "io_uring: no request" },
	{ "io_wq_worker", "io_uring: no request" },
	{ "irq_thread", "no interrupt" },
	{ "irq_wait_for_interrupt", "no interrupt" },
	{ "kauditd_thread", "no audit record" },
	{ "kcompactd", "no memory to compact" },
	{ "kdamond_fn", "the next look at memory's use" },
	{ "kdamond_usleep", "the next look at memory's use" },
	{ "khugepaged", "no memory to merge" },
	{ "khugepaged_wait_work", "no memory to merge" },
	{ "kjournald2", "nothing to commit" },
	{ "ksm_scan_thread", "no memory to merge" },
	{ "kswapd", "enough memory" },
	{ "kswapd_try_to_sleep", "enough memory" },
	{ "kthreadd", "no thread to make" },
	{ "kthread_worker_fn", "no work" },
	{ "oom_reaper", "nobody to reap" },
	{ "rcu_gp_kthread", "no grace period" },
	{ "rcu_gp_fqs_loop", "a grace period's timer" },
	{ "rcu_nocb_gp_kthread", "no callback" },
	{ "rcu_tasks_kthread", "no callback" },
	{ "rcu_tasks_one_gp", "no callback" },
	{ "rescuer_thread", "no work" },
	{ "smpboot_thread_fn", "no work for this CPU" },
	{ "vhost_task_fn", "no request of a virtual machine" },
	{ "vhost_worker", "no request of a virtual machine" },
	{ "watchdog", "the next look for tasks that hang" },
	{ "worker_thread", "no work" },
	{ "xfsaild", "nothing to write" },
};

/* Kernel functions between a thread's main function and the context switch. */
static const char *const schedulers[] = {
	"__schedule",
	"__switch_to", /* older arm64 kernels don't place it in the scheduler's section */
	"schedule",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"schedule_idle",
	"schedule_preempt_disabled",
	"schedule_timeout",
	"schedule_timeout_idle",
	"schedule_timeout_interruptible",
	"schedule_timeout_uninterruptible",
	"usleep_range_state",
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * A function's arguments, or its file, may follow its name. Python before 3.11 does not name the
 * class of a method: "Queue.get (queue.py)" is "get (queue.py)".
 */
static bool is_function(const char *name, const char *function)
{
	size_t n = strlen(name), length = strlen(function);

	if (!strncmp(name, function, length))
		return strchr("( ", name[length]) != NULL;
	return n && n < length && function[length - n - 1] == '.' && name[n - 1] == ')' &&
	       !strcmp(name, function + length - n);
}

static const struct idle_loop *find_row(const char *name, const struct idle_loop *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_function(name, table[i].function))
			return &table[i];
	return NULL;
}

/*
 * Strips the decorations of libc's internal names: "__poll", "__GI_epoll_wait",
 * "__new_sem_wait_slow64.constprop.0".
 */
static const char *plain_name(const char *name, char *buf, size_t size)
{
	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3))
		return plain_name(name + 3, buf, size);
	snprintf(buf, size, "%.*s", (int)strcspn(name, "."), name);
	return buf;
}

/* Returns the outermost libc function that the thread waits in; n: none. */
static size_t find_wait(const struct frame *const *frames, size_t n)
{
	size_t found = n;
	char name[32];

	for (size_t i = n; i-- > 0 && n - i <= LIBC_FRAMES;)
		if (is_one_of(plain_name(frames[i]->name, name, sizeof(name)), waits,
			      ARRAY_SIZE(waits)))
			found = i;
	return found;
}

/* Returns a frame's name, for a function of a runtime with its file: names alone are ambiguous. */
static const char *full_name(const struct frame *frame, char *buf, size_t size)
{
	if (frame->kind != FRAME_RUNTIME || !frame->file)
		return frame->name;
	snprintf(buf, size, "%s (%s)", frame->name, path_last(frame->file));
	return buf;
}

static bool is_via(const struct idle_loop *loop, const struct frame *frame)
{
	char buf[128];
	const char *name = full_name(frame, buf, sizeof(buf));

	for (size_t i = 0; loop->via && loop->via[i]; i++) {
		bool is_other = *loop->via[i] == '!';
		const char *prefix = loop->via[i] + is_other;

		if (!strncmp(name, prefix, strlen(prefix)) || is_function(name, prefix))
			return !is_other;
	}
	return false;
}

/* Returns true if the loop itself waits: the frames between loop and wait belong to the loop. */
static bool waits_itself(const struct idle_loop *loop, const struct frame *const *inner, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_via(loop, inner[i]))
			return false;
	return true;
}

static const char *find_loop(const struct frame *const *frames, size_t wait)
{
	char buf[128];

	for (size_t i = wait; i-- > 0 && wait - i <= VIA_FRAMES;) {
		const struct idle_loop *loop =
			find_row(full_name(frames[i], buf, sizeof(buf)), loops, ARRAY_SIZE(loops));

		if (loop && waits_itself(loop, &frames[i + 1], wait - i - 1))
			return loop->reason;
	}
	return NULL;
}

static const char *find_kernel_thread(const struct frame *const *frames, size_t n)
{
	const struct idle_loop *row;
	char name[32];

	while (n > 0 && is_one_of(frames[n - 1]->name, schedulers, ARRAY_SIZE(schedulers)))
		n--;
	if (!n)
		return NULL;
	row = find_row(plain_name(frames[n - 1]->name, name, sizeof(name)), kernel_threads,
		       ARRAY_SIZE(kernel_threads));
	return row ? row->reason : NULL;
}

const char *idle_wait_find(const struct frame *const *frames, size_t n)
{
	size_t n_user = 0, wait;

	while (n_user < n && frames[n_user]->kind != FRAME_KERNEL)
		n_user++;
	if (!n_user)
		return find_kernel_thread(frames, n);
	wait = find_wait(frames, n_user);
	return wait < n_user ? find_loop(frames, wait) : NULL;
}
