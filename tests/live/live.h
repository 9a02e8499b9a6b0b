/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live tests: each runs tools as a user does, on workloads that print what they did, and compares
 * the tools' output with that. They need root and a kernel with BTF, but no shell and no other
 * programs, and don't judge success by the clock.
 *
 * After each test, its processes are ended and its strings freed. A test also fails if a tool ran
 * into the timeout, or left a process running or a BPF program loaded.
 *
 * Environment: TRACELETS_BIN is the folder of the tools ("build"), TRACELETS_WORK the folder of the
 * workloads ("build/tests/work").
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void live_begin_test(void);
int live_end_test(void); /* returns the number of complaints, all printed */

#ifndef LIVE_LIBRARY /* live.c itself has no tests */
#define UNIT_BEFORE() live_begin_test()
#define UNIT_AFTER()  live_end_test()
#include "../unit/unit.h"
#endif

/* Returns `small` if TRACELETS_SMALL is set, as in emulated machines, else `full`. */
int at_size(int full, int small);

/* ---- processes ---- */

/* A tool or a workload, running or ended. out and err: the text printed so far; NULL: none. */
struct proc {
	struct proc *next;
	char *name;
	pid_t pid;
	int pid_fd, in_fd, out_fd, err_fd; /* -1: closed */
	char *out, *err;
	size_t out_bytes, err_bytes;
	bool is_tool, has_ended;
	int status;	  /* exit status, or minus the signal that ended it; -1000: timeout */
	uint64_t peak_kb; /* peak of resident memory, once the process has exited by itself */
	uint64_t cpu_ms;  /* CPU time used, once the process has exited by itself */
};

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Runs in the child between fork and exec; false: the child exits with status SETUP_FAILED. */
typedef bool setup_fn(void *arg);

#define SETUP_FAILED 99

/* Starts a tool; its standard input is /dev/null. setup may be NULL. */
struct proc *tool_launch_in(setup_fn *setup, void *arg, const char *const argv[]);

/* Starts a tool with -v, and waits until it reports that it is attached, or exits. */
struct proc *tool_start_argv(const char *const argv[]);

/* Run a tool until it exits. tool_run_argv() requires status 0. */
struct proc *tool_try_argv(setup_fn *setup, void *arg, const char *const argv[]);
struct proc *tool_run_argv(setup_fn *setup, void *arg, const char *const argv[]);

#define tool_launch(...)	  tool_launch_in(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_start(...)		  tool_start_argv(ARGV(__VA_ARGS__))
#define tool_try(...)		  tool_try_argv(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_try_in(fn, arg, ...) tool_try_argv(fn, arg, ARGV(__VA_ARGS__))
#define tool_run(...)		  tool_run_argv(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_run_in(fn, arg, ...) tool_run_argv(fn, arg, ARGV(__VA_ARGS__))

/* Returns argv with "-p PID" inserted after the tool's name. */
const char *const *argv_on(const struct proc *work, const char *const argv[]);

#define tool_start_on(work, ...) tool_start_argv(argv_on(work, ARGV(__VA_ARGS__)))
#define tool_run_on(work, ...)	 tool_run_argv(NULL, NULL, argv_on(work, ARGV(__VA_ARGS__)))

/* Returns memleak's error if this kernel lacks a feature that it needs; NULL: none. */
const char *memleak_lacks(void);

/* Wait until the tool exits, which must be with status 0; tool_stop() sends SIGINT first. */
void tool_finish(struct proc *p);
void tool_stop(struct proc *p);

/* Starts a workload and waits until it is ready and blocked. */
struct proc *work_start_argv(const char *const argv[]);
#define work_start(...) work_start_argv(ARGV(__VA_ARGS__))

/* Starts a workload from a given path; setup may be NULL. */
struct proc *work_start_in(setup_fn *setup, void *arg, const char *path, const char *const argv[]);

void work_go(struct proc *p);

/* Like fork(), with that pid; -1: in use, or not permitted. */
pid_t fork_as(pid_t pid);

/* Waits for the workload's "@done", and until all its threads are blocked again. */
void work_wait_done(struct proc *p);

/* Calls work_go(), then work_wait_done(). */
void work_do(struct proc *p);

/* Waits until all threads of the process sleep and have no more context switches. */
void wait_until_blocked(pid_t pid);

/* Waits until a tool whose next report is far away has handled all that it was sent. */
void tool_settle(struct proc *tool);

/* The same of a tool that never sleeps for long: until its main thread has slept 50 times. */
void tool_settle_awake(struct proc *tool);

/* Waits until the process has printed text, to stdout or stderr; false: it exited first. */
bool proc_wait_for(struct proc *p, const char *text);

/* Reads the processes' output for ms milliseconds, or until this process exits. */
void proc_linger(struct proc *p, int ms);

/* Waits until n lines on the process's stdout contain text, or the process exits. */
void wait_for_lines(struct proc *p, const char *text, size_t n);

/* Waits until the tool has begun n more JSON reports, or exits. */
void wait_for_reports(struct proc *tool, size_t n);

/* Waits until the process exits. Returns its status. */
int proc_finish(struct proc *p);

void proc_signal(struct proc *p, int sig);
void proc_kill(struct proc *p);	     /* kills its process group */
void proc_close_out(struct proc *p); /* closes the reading end of its stdout */

/* Frees an exited process before the test ends; for tests that start many. */
void proc_free(struct proc *p);

/* Return the path of a tool or a workload; a name with a "/" is a path already. */
const char *tool_path(const char *name);
const char *work_path(const char *name);
const char *realpath_of(const char *path);

/* Returns the path of an installed library; NULL: not installed. */
const char *library_path(const char *name);

/* Return formatted text, freed at the end of the test. */
const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *pid_text(pid_t pid);

/* ---- the system ---- */

/* Returns a thread's context switches, voluntary or not; tid 0: those of all threads. */
uint64_t task_switches(pid_t pid, pid_t tid);

/* Return the CPU time that a thread has used, and the time for which it waited for a CPU. */
uint64_t thread_cpu_ns(pid_t tid);
uint64_t thread_waited_us(pid_t tid);

/* Why threads of the kernel, such as kthreadd with pid 2, can't be seen; NULL: they can. */
const char *kernel_threads_lack(void);

/* Return the number of CPUs that this process may use, and the nth of them (-1: fewer). */
int usable_cpus(void);
int usable_cpu(int n);

/* Returns the mount point of cgroup2, mounting it if needed; NULL: not possible. */
const char *cgroup2_root(void);

/* Makes a cgroup, removed after the test; name may contain slashes. NULL: not possible. */
const char *cgroup_make(const char *name);
const char *cgroups_lack(void); /* why cgroup_make() fails here; NULL: it works */
bool cgroup_add(const char *path, pid_t pid);
bool cgroup_remove(const char *path); /* once its processes, which were killed, are gone */
bool join_cgroup(void *path);	      /* a setup_fn: the child joins the cgroup at path */

/*
 * Makes a cgroup, of version 2 or 1, with a CPU quota of percent of each 100 ms; 0: no limit. name
 * may be "a/b", below the existing "a". NULL: not possible, such as without a CPU controller.
 */
const char *cgroup_make_limited(const char *name, int percent);
const char *quotas_lack(void);

/* Returns the kernel's total of the cgroup's throttled time, over all CPUs. */
uint64_t cgroup_throttled_ns(const char *path);

/* Makes an empty folder, removed after the test with its contents. */
const char *folder_make(void);
size_t folder_count(const char *path); /* returns the number of files in it */
bool file_copy(const char *from, const char *to);
bool file_write(const char *path, const char *text); /* creates the file if needed */
char *file_read(const char *path);		     /* freed after the test; NULL: failed */

uint64_t file_inode(const char *path);

/* For setup functions: enters a mount namespace whose mounts are private. */
bool enter_mount_namespace(void);

/* A setup_fn: continues as the first process of a pid namespace, with a /proc of its own. */
bool become_first_process(void *unused);
const char *pid_namespaces_lack(void); /* why it fails here; NULL: it works */

/* A setup_fn: mounts the file `with` over path, in the child's mount namespace only. */
struct other_file {
	const char *path, *with;
};
bool put_other_file(void *other);

/* A setup_fn: makes a system call with this first argument fail with EPERM. */
struct forbidden_call {
	uint32_t number, first;
};
bool forbid_call(void *call);

/* Excludes all but data sections from loading; callers then include the tested parts. */
struct bpf_object;
void leave_out_all(struct bpf_object *object);

/* ---- output ---- */

/* Returns the total of a workload's lines "@COMM KEY VALUE"; comm NULL: of any thread. */
uint64_t work_value(const char *text, const char *comm, const char *key);

/* Returns the number before `what` on stderr; 0: not found. */
uint64_t said_number(const struct proc *tool, const char *what);

/* Returns N of "N requests lost: ..." or "1 request lost: ..."; noun: "request". */
uint64_t said_count(const struct proc *tool, const char *noun, const char *why);

/* Returns that number with its decimals: 12.5 for "12.5 % of samples lost". */
double said_percent(const struct proc *tool, const char *what);

/* Returns the share of values whose stacks found the ring full: a busy tool may be late. */
double stackless_percent(const struct proc *tool);

/*
 * Returns the events that a tool reports as missed: on 7.x a BPF program may be preempted, and
 * can't run on that CPU again until it has finished.
 */
uint64_t events_missed(const struct proc *tool);

/* Returns N of pagefaults' "warning: N of M page faults in the system not counted". */
uint64_t faults_missed(const struct proc *tool);

/*
 * Return the total and the number of folded lines "comm;frame;...;frame VALUE". comm: the first
 * word, after "cpuN;" or "tidN;"; NULL: any. frames: adjacent frames "a;b"; NULL: any.
 */
uint64_t folded_sum(const char *text, const char *comm, const char *frames);
uint64_t folded_count(const char *text, const char *comm, const char *frames);

/* Returns the total of a comm's folded lines that contain part anywhere. */
uint64_t folded_sum_with(const char *text, const char *comm, const char *part);

/* Returns the first matching line; "": none. */
const char *folded_find(const char *text, const char *comm, const char *frames);

/* Returns true if a frame is a BPF program whose name begins with `name`. */
bool folded_has_program(const char *text, const char *name);

/* Returns true if each line is well formed, all stacks differ, and the hottest comes first. */
bool folded_is_sane(const char *text);

/*
 * Return the total of "count N" in histograms whose title begins with `title` (NULL: in all);
 * hist_rows_of() totals the counts of their rows instead.
 */
uint64_t hist_count_of(const char *text, const char *title);
uint64_t hist_rows_of(const char *text, const char *title);

/*
 * Returns the next line of *rest that contains a and b, and moves *rest after it; NULL: none.
 * first_line() returns the first such line of text; "": none.
 */
const char *line_with(const char **rest, const char *a, const char *b);
const char *first_line(const char *text, const char *a, const char *b);

/* Returns the first member `key` in a line of JSON; UINT64_MAX: none. */
uint64_t number_in(const char *line, const char *key);

/* Returns the total of that member over all lines of a type. */
uint64_t json_sum(const char *text, const char *type, const char *key);

/* Returns the total of the numbers that follow `start` at the beginning of lines. */
uint64_t sum_from(const char *text, const char *start);

/* Return the number of lines that contain part (";a": a frame "a..."), or begin with start. */
uint64_t lines_with(const char *text, const char *part);
uint64_t lines_from(const char *text, const char *start);

/* Return N of "N unit in S s" on a tool's stderr, and S in ms; UINT64_MAX: not found. */
uint64_t truth_value(const struct proc *p);
uint64_t truth_ms(const struct proc *p);

/* Returns true if a and b differ by at most permille / 1000 of b. */
bool is_close(uint64_t a, uint64_t b, uint64_t permille);

#define CHECK_CLOSE(a, b, permille)                                                           \
	do {                                                                                  \
		unsigned long long live_a = (a), live_b = (b);                                \
		if (!is_close(live_a, live_b, permille))                                      \
			UNIT_FAIL("%s is %llu, not about %llu (%s)", #a, live_a, live_b, #b); \
	} while (0)

/*
 * Compares a tool's count of waits with the kernel's count of switches. Some kernels omit events: a
 * wait whose end is missing is counted when the next one begins, so only the last may be missing.
 */
#define CHECK_SWITCHES(counted, switches)                                            \
	do {                                                                         \
		unsigned long long live_a = (counted), live_b = (switches);          \
		if (live_a > live_b || live_b - live_a > 1)                          \
			UNIT_FAIL("%s is %llu, not %llu", #counted, live_a, live_b); \
	} while (0)

/* Checks the process's exit status; prints its stderr on failure. */
#define CHECK_STATUS(p, wanted)                                                                 \
	do {                                                                                    \
		const struct proc *live_p = (p);                                                \
		if (live_p->status != (wanted))                                                 \
			UNIT_FAIL("%s ended with status %d, not %d; it said: %s", live_p->name, \
				  live_p->status, (wanted), live_p->err);                       \
	} while (0)

/* Checks the peak memory of an exited tool. Sanitizers need memory themselves. */
#ifdef __SANITIZE_ADDRESS__
#define CHECK_PEAK(tool, kb) ((void)(tool))
#else
#define CHECK_PEAK(tool, kb)                                            \
	do {                                                            \
		const struct proc *live_p = (tool);                     \
		if (live_p->peak_kb > (kb))                             \
			UNIT_FAIL("%s took %llu KiB", live_p->name,     \
				  (unsigned long long)live_p->peak_kb); \
	} while (0)
#endif

/* Checks that a tool ended with that status, without output, and said why. */
#define CHECK_ENDED(tool, wanted, why)           \
	do {                                     \
		const struct proc *ended = tool; \
		CHECK_STATUS(ended, wanted);     \
		CHECK_STR(ended->out, "");       \
		CHECK_HAS(ended->err, why);      \
	} while (0)

#define CHECK_FAILURE(tool, why) CHECK_ENDED(tool, 1, why)

/* Run a tool, which must fail so, or refuse its command line; refused_test.sh has more of these. */
#define CHECK_FAILS(why, ...)	    CHECK_FAILURE(tool_try(__VA_ARGS__), why)
#define CHECK_REFUSED(culprit, ...) CHECK_ENDED(tool_try(__VA_ARGS__), 2, culprit)

#define CHECK_LACKS(text, part)                                                   \
	do {                                                                      \
		const char *live_at = strstr(text, part);                         \
		if (live_at)                                                      \
			UNIT_FAIL("%s has \"%s\": %.300s", #text, part, live_at); \
	} while (0)

/* Checks that no map or ring buffer was full. Losses for other reasons depend on the machine. */
#define CHECK_NOTHING_FULL(tool)                                    \
	do {                                                        \
		CHECK_LACKS((tool)->err, "lost: map full");         \
		CHECK_LACKS((tool)->err, "lost: ring buffer full"); \
	} while (0)

#ifndef LIVE_LIBRARY

/* Traces a workload from "@ready" to "@done"; the tool must exit with status 0. */
static inline struct proc *trace_work(struct proc *work, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv);

	work_do(work);
	tool_stop(tool);
	return tool;
}

/* The same with a tool that stands still meanwhile, so that its ring buffers run over. */
static inline struct proc *trace_stopped(struct proc *work, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv_on(work, argv));

	proc_signal(tool, SIGSTOP);
	work_do(work);
	proc_signal(tool, SIGCONT);
	tool_stop(tool);
	return tool;
}

static inline struct proc *trace_pid_argv(struct proc *work, const char *const argv[])
{
	return trace_work(work, argv_on(work, argv));
}

#define trace_pid(work, ...) trace_pid_argv(work, ARGV(__VA_ARGS__))

/* Checks that at most `spare` per mille of a program's value is on stacks without these frames. */
static inline void check_through(const struct proc *tool, const char *comm, const char *frames,
				 uint64_t spare)
{
	uint64_t all = folded_sum(tool->out, comm, NULL);
	uint64_t through = folded_sum(tool->out, comm, frames);

	CHECK(all > 0);
	if ((all - through) * 1000 > all * spare)
		UNIT_FAIL("%s: %llu of %llu go through %s: %s %s", comm,
			  (unsigned long long)through, (unsigned long long)all, frames, tool->out,
			  tool->err);
}

#endif

#endif
