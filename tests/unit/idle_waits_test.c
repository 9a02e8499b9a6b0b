// SPDX-License-Identifier: GPL-2.0-only
/* Which waits are those of threads without work. */
#include "output/profile.h"
#include "stacks/idle_waits.h"
#include "unit.h"

/*
 * Returns true if a stack is idle: user frames, "-", kernel frames ("main;read;-;schedule"). A
 * function of Python is "get@queue.py".
 */
static bool is_idle(const char *stack)
{
	enum frame_kind kind = FRAME_USER;
	struct frame frames[32];
	const struct frame *list[32];
	char text[512], *next = text;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", stack);
	while (next && n < 32) {
		char *file = strsep(&next, ";");
		const char *name = strsep(&file, "@");

		if (!strcmp(name, "-")) {
			kind = FRAME_KERNEL;
			continue;
		}
		frames[n] = (struct frame){ .name = name, .kind = file ? FRAME_RUNTIME : kind };
		frames[n].file = file;
		list[n] = &frames[n];
		n++;
	}
	return idle_wait_find(list, n);
}

TEST(waits_are_idle_or_at_work)
{
	/* event loops at rest */
	CHECK(is_idle("main;aeMain;aeProcessEvents;epoll_wait;-;do_syscall_64;schedule"));
	CHECK(is_idle("main;aeMain;aeProcessEvents;aeApiPoll;epoll_wait"));
	CHECK(is_idle("g_main_loop_run;[libglib-2.0.so.0+0x5a1b8];poll;[libc.so.6+0x10]"));
	CHECK(is_idle("uv_run;uv__io_poll;__GI_epoll_pwait"));
	CHECK(is_idle("ServerLoop;PostmasterMain;ServerLoop;WaitEventSetWait;epoll_wait"));
	/* handlers that wait */
	CHECK(!is_idle("main;aeMain;aeProcessEvents;readQuery;epoll_wait"));
	CHECK(!is_idle("main;aeMain;aeProcessEvents;[liblua5.1.so+0x10];epoll_wait"));
	CHECK(!is_idle("PostgresMain;LockAcquire;ProcSleep;WaitLatch;WaitEventSetWait;epoll_wait"));
	CHECK(is_idle("PostgresMain;secure_read;WaitEventSetWait;epoll_wait"));
	/* other calls and other programs */
	CHECK(!is_idle("main;aeMain;aeProcessEvents;fsync"));
	CHECK(!is_idle("main;epoll_wait"));
	CHECK(!is_idle("epoll_wait"));
	CHECK(!is_idle(""));
	CHECK(!is_idle("main;aeMain"));
	/* pools at rest */
	CHECK(is_idle("clone;bioProcessBackgroundJobs;pthread_cond_wait;[libc.so.6+0x1]"));
	CHECK(is_idle("worker;uv_cond_wait;pthread_cond_wait;__futex_abstimed_wait_common"));
	CHECK(!is_idle("worker;run_job;pthread_cond_wait"));
}

TEST(waits_of_python_and_java_are_idle_or_at_work)
{
	/* with and without the class of a method, the names of a module's functions */
	CHECK(is_idle("Thread.run@threading.py;_worker@thread.py;[_queue.cpython-311.so+0x2c2d];"
		      "PyThread_acquire_lock_timed;sem_clockwait"));
	CHECK(is_idle("Queue.get@queue.py;Condition.wait@threading.py;lock_PyThread_acquire_lock;"
		      "acquire_timed;sem_wait"));
	CHECK(is_idle("get@queue.py;wait@threading.py;cfunction_vectorcall_FASTCALL;acquire_timed;"
		      "sem_wait"));
	CHECK(is_idle("_run_once@base_events.py;select@selectors.py;[select.so+0x10];epoll_wait"));
	CHECK(!is_idle("get@mine.py;wait@threading.py;acquire_timed;sem_wait"));
	CHECK(!is_idle("get@queue.py;recv@mine.py;poll"));
	CHECK(!is_idle("Mine.get@queue.py;[python3.11+0x10];poll"));
	/* the JVM's threads, whatever arguments their functions have; Java's */
	CHECK(is_idle("CompileQueue::get();Monitor::wait(long);os::PlatformMonitor::wait(long);"
		      "pthread_cond_timedwait"));
	CHECK(is_idle("CompileQueue::get(CompilerThread*);Monitor::wait(unsigned long);"
		      "PlatformMonitor::wait(unsigned long);pthread_cond_wait"));
	CHECK(!is_idle("CompileQueue::get_all();Monitor::wait(long);pthread_cond_wait"));
	CHECK(is_idle("java.util.concurrent.ThreadPoolExecutor.getTask;"
		      "java.util.concurrent.LinkedBlockingQueue.take;"
		      "java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;"
		      "Unsafe_Park;Parker::park(bool, long);pthread_cond_wait"));
	CHECK(!is_idle(
		"java.util.concurrent.ThreadPoolExecutor.getTask;"
		"java.util.concurrent.LinkedBlockingQueue.take;"
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire;"
		"java.util.concurrent.locks.LockSupport.park;Unsafe_Park;pthread_cond_wait"));
	CHECK(is_idle(
		"io.netty.channel.nio.NioEventLoop.run;io.netty.channel.nio.NioEventLoop.select;"
		"sun.nio.ch.SelectorImpl.select;sun.nio.ch.EPoll.wait;Java_sun_nio_ch_EPoll_wait;"
		"epoll_wait"));
	CHECK(!is_idle(
		"io.netty.channel.nio.NioEventLoop.run;Handler.read;sun.nio.ch.Net.poll;poll"));
	CHECK(!is_idle("java.util.concurrent.CountDownLatch.await;jdk.internal.misc.Unsafe.park;"
		       "Unsafe_Park;Parker::park(bool, long);pthread_cond_wait"));
}

TEST(kernel_threads_are_idle_or_at_work)
{
	CHECK(is_idle("-;ret_from_fork;kthread;worker_thread;schedule"));
	CHECK(is_idle("-;kthread;kcompactd.part.0;schedule_timeout;schedule;__schedule"));
	CHECK(is_idle("-;ret_from_fork_asm;kthreadd;schedule"));
	CHECK(is_idle("-;ret_from_fork;kthreadd;schedule;__schedule;__switch_to"));
	CHECK(is_idle("-;ret_from_fork;kthread;devtmpfsd;devtmpfs_work_loop;schedule;__schedule"));
	CHECK(is_idle("-;ret_from_fork;kthread;hwrng_fillfn;schedule_timeout;schedule"));
	CHECK(is_idle("-;kthread;hwrng_fillfn;add_hwgenerator_randomness;schedule_timeout"));
	CHECK(is_idle("-;kthread;kdamond_fn;usleep_range_state;schedule_hrtimeout_range"));
	CHECK(is_idle("-;ret_from_fork;kthread;ksm_scan_thread;schedule;__schedule"));
	CHECK(is_idle("-;ret_from_fork_asm;ret_from_fork;io_sq_thread;schedule"));
	CHECK(is_idle("-;ret_from_fork;io_wq_worker;schedule_timeout;schedule"));
	CHECK(is_idle("-;ret_from_fork;vhost_task_fn;schedule"));
	CHECK(!is_idle("-;ret_from_fork;io_wq_worker;io_worker_handle_work;io_read;schedule"));
	CHECK(is_idle("-;kthread;watchdog;schedule_timeout;schedule;__schedule"));
	CHECK(!is_idle("-;kthread;hwrng_fillfn;virtio_read;wait_for_completion;schedule"));
	CHECK(!is_idle("-;kthread;some_driver;usleep_range_state;schedule_hrtimeout_range"));
	CHECK(!is_idle("-;kthread;worker_thread;process_one_work;wb_workfn;schedule"));
	CHECK(!is_idle("-;schedule"));
	CHECK(!is_idle("main;-;worker_thread;schedule"));
}
