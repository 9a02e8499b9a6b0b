/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live tests: tools are run as a user runs them, on workloads that tell what they did, and what the
 * tools print is compared with that. Needs root and a kernel with BTF, and nothing else: no shell,
 * no other programs, no clock as a measure of success.
 *
 * Everything started in a test is ended after it, and the strings it got are freed. A test also
 * fails if a tool ran into the timeout, left a process behind or left a BPF program loaded.
 *
 * TRACELETS_BIN: the folder of the tools ("build"), TRACELETS_WORK: that of the workloads
 * ("build/tests/work").
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void live_begin_test(void);
int live_end_test(void); /* the number of complaints, each printed */

#ifndef LIVE_LIBRARY /* live.c itself has no tests */
#define UNIT_BEFORE() live_begin_test()
#define UNIT_AFTER()  live_end_test()
#include "../unit/unit.h"
#endif

/*
 * How large a workload is: as the first says, or where TRACELETS_SMALL is set, as it is in emulated
 * machines, as the second does.
 */
int at_size(int full, int small);

/* ---- processes ---- */

/* A tool or a workload, running or ended. out and err: what it has printed so far. */
struct proc {
	struct proc *next;
	char *name;
	pid_t pid;
	int pid_fd, in_fd, out_fd, err_fd; /* -1: closed */
	char *out, *err;
	size_t out_bytes, err_bytes;
	bool is_tool, has_ended;
	int status;	  /* exit status, or minus the signal that ended it; -1000: timeout */
	uint64_t peak_kb; /* of its resident memory, when it has ended by itself */
	uint64_t cpu_ms;  /* that it used, when it has ended by itself */
};

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* What a process does between fork and exec; a false return ends it with status 99. */
typedef bool setup_fn(void *arg);

#define SETUP_FAILED 99

/* Starts a tool; its standard input is /dev/null. setup may be NULL. */
struct proc *tool_launch_in(setup_fn *setup, void *arg, const char *const argv[]);

/* Starts it with -v and waits until it says that it is attached, or ends. */
struct proc *tool_start_argv(const char *const argv[]);

/* Runs it to its end: any, and one with status 0. */
struct proc *tool_try_argv(setup_fn *setup, void *arg, const char *const argv[]);
struct proc *tool_run_argv(setup_fn *setup, void *arg, const char *const argv[]);

#define tool_launch(...)	  tool_launch_in(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_start(...)		  tool_start_argv(ARGV(__VA_ARGS__))
#define tool_try(...)		  tool_try_argv(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_try_in(fn, arg, ...) tool_try_argv(fn, arg, ARGV(__VA_ARGS__))
#define tool_run(...)		  tool_run_argv(NULL, NULL, ARGV(__VA_ARGS__))
#define tool_run_in(fn, arg, ...) tool_run_argv(fn, arg, ARGV(__VA_ARGS__))

/* The same words with "-p PID" behind the first. */
const char *const *argv_on(const struct proc *work, const char *const argv[]);

#define tool_start_on(work, ...) tool_start_argv(argv_on(work, ARGV(__VA_ARGS__)))
#define tool_run_on(work, ...)	 tool_run_argv(NULL, NULL, argv_on(work, ARGV(__VA_ARGS__)))

/* What memleak says that it lacks here: 5.15's cookies of probes, what 5.12 added; NULL: none. */
const char *memleak_lacks(void);

/*
 * What is wrong with how it refuses this command line; NULL: nothing. It ought to end with status 2
 * and one line of its own, which names the culprit, and to print nothing.
 */
const char *tool_wrong_refusal(const char *culprit, const char *const argv[]);

/* Waits for its end, which must have status 0; tool_stop() sends SIGINT before. */
void tool_finish(struct proc *p);
void tool_stop(struct proc *p);

/* Starts a workload and waits until it is ready and blocked. */
struct proc *work_start_argv(const char *const argv[]);
#define work_start(...) work_start_argv(ARGV(__VA_ARGS__))

/* The same for a program elsewhere; setup may be NULL. */
struct proc *work_start_in(setup_fn *setup, void *arg, const char *path, const char *const argv[]);

void work_go(struct proc *p);

/* Waits until it is done and all its threads are blocked again. */
void work_wait_done(struct proc *p);

/* work_go() and work_wait_done(). */
void work_do(struct proc *p);

/* Waits until the process's threads all sleep and are not switched any more. */
void wait_until_blocked(pid_t pid);

/* Waits until text is in what it printed on either; false: it ended without. */
bool proc_wait_for(struct proc *p, const char *text);

/* Reads for a while, or less if it ends. */
void proc_linger(struct proc *p, int ms);

/* Waits until so many lines that contain text are in what it printed on its output, or it ends. */
void wait_for_lines(struct proc *p, const char *text, size_t n);

/* Waits until it has begun n more reports in JSON, or ends. */
void wait_for_reports(struct proc *tool, size_t n);

/* Waits for its end; the value is its status. */
int proc_finish(struct proc *p);

void proc_signal(struct proc *p, int sig);
void proc_kill(struct proc *p);	     /* with all of its children */
void proc_close_out(struct proc *p); /* as a reader that goes away */

/* Of one that has ended, before the test does: where there are many. */
void proc_free(struct proc *p);

/*
 * The path of a tool, and of a workload for "-- COMMAND". Both as they are where they hold a "/".
 */
const char *tool_path(const char *name);
const char *work_path(const char *name);
const char *realpath_of(const char *path);

/* Where the machine's own library of that name is; NULL: it isn't installed. */
const char *library_path(const char *name);

/* Text that lives until the end of the test. */
const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *pid_text(pid_t pid);

/* ---- the system ---- */

/* How often a thread has been switched out, voluntarily or not; tid 0: all of the process's. */
uint64_t task_switches(pid_t pid, pid_t tid);

/* The number of CPUs that this process may use, and the nth of them (-1: there are fewer). */
int usable_cpus(void);
int usable_cpu(int n);

/* The folder of the cgroup2 file system, mounted if need be; NULL: there is none. */
const char *cgroup2_root(void);

/* A new cgroup below it, removed after the test; name may hold slashes. NULL: impossible. */
const char *cgroup_make(const char *name);
const char *cgroups_lack(void); /* why not; NULL: it can be made */
bool cgroup_add(const char *path, pid_t pid);
bool join_cgroup(void *path); /* a setup function */

/*
 * A new cgroup, of version 2 or 1, that gets the CPU for so many percent of each 100 ms; 0: without
 * a limit. name may be that of one below another: "a/b". NULL: nobody offers the CPU controller.
 */
const char *cgroup_make_limited(const char *name, int percent);
const char *quotas_lack(void);

/* How long the kernel says that the quota held it back, on all CPUs in sum. */
uint64_t cgroup_throttled_ns(const char *path);

/* A new empty folder, removed after the test with what is in it. */
const char *folder_make(void);
size_t folder_count(const char *path); /* files in it */
bool file_copy(const char *from, const char *to);
bool file_write(const char *path, const char *text); /* made if it is not there */
char *file_read(const char *path);		     /* freed after the test; NULL: can't */

uint64_t file_inode(const char *path);

/* Mounts are private from now on: for setup functions. */
bool enter_mount_namespace(void);

/* A setup function: from here on there is another file at the path, but not for all the system. */
struct other_file {
	const char *path, *with;
};
bool put_other_file(void *other);

/* A setup function: from here on that system call fails (EPERM) with that first argument. */
struct forbidden_call {
	uint32_t number, first;
};
bool forbid_call(void *call);

/* Nothing of an object will be loaded but its sections of data, and what is chosen after this. */
struct bpf_object;
void leave_out_all(struct bpf_object *object);

/* ---- output ---- */

/* The value of a workload's line "@COMM KEY VALUE", summed; comm NULL: of all. */
uint64_t work_value(const char *text, const char *comm, const char *key);

/* The number in front of something on stderr; 0 if it isn't there. */
uint64_t said_number(const struct proc *tool, const char *what);

/* The same with decimals: 12.5 of "12.5 % of samples lost". */
double said_percent(const struct proc *tool, const char *what);

/*
 * Events that a tool says it has missed: on 7.x a program may be preempted, and isn't run again on
 * that CPU until it goes on.
 */
uint64_t events_missed(const struct proc *tool);

/* Of pagefaults: N of "warning: N of M page faults in the system not counted". */
uint64_t faults_missed(const struct proc *tool);

/*
 * Folded lines "comm;frame;...;frame VALUE". comm: the first word, behind "cpuN;" or "tidN;";
 * NULL: any. frames: "a;b" that must stand in a row in the line; NULL: any.
 */
uint64_t folded_sum(const char *text, const char *comm, const char *frames);
uint64_t folded_count(const char *text, const char *comm, const char *frames);

/* The same of lines with that text anywhere. */
uint64_t folded_sum_with(const char *text, const char *comm, const char *part);

/* A line, never NULL. */
const char *folded_find(const char *text, const char *comm, const char *frames);

/* A frame is of a BPF program whose name begins so: those of others may be there. */
bool folded_has_program(const char *text, const char *name);

/* Each line is well formed, no two have equal stacks, and the hottest comes first. */
bool folded_is_sane(const char *text);

/*
 * Histograms: the sum of what "count N" says in those whose title begins so; NULL: in all.
 * hist_rows() sums the table's rows instead.
 */
uint64_t hist_count_of(const char *text, const char *title);
uint64_t hist_rows_of(const char *text, const char *title);

/*
 * The next line of *rest with both texts, up to its end; NULL: there is none. *rest begins behind
 * it then. first_line() is the first one of all, or "".
 */
const char *line_with(const char **rest, const char *a, const char *b);
const char *first_line(const char *text, const char *a, const char *b);

/* The first member of that name in a line of JSON; UINT64_MAX: there is none. */
uint64_t number_in(const char *line, const char *key);

/* The sum of it in all lines of that type. */
uint64_t json_sum(const char *text, const char *type, const char *key);

/* The sum of the numbers that lines have right behind that beginning. */
uint64_t sum_from(const char *text, const char *start);

/* The number of lines that contain text (";a": a frame that begins so); that begin with it. */
uint64_t lines_with(const char *text, const char *part);
uint64_t lines_from(const char *text, const char *start);

/* The N of "N unit in S s" on a tool's stderr, and S in ms; UINT64_MAX: not there. */
uint64_t truth_value(const struct proc *p);
uint64_t truth_ms(const struct proc *p);

/* a and b differ by that share of b, in per mille, at most. */
bool is_close(uint64_t a, uint64_t b, uint64_t permille);

#define CHECK_CLOSE(a, b, permille)                                                           \
	do {                                                                                  \
		unsigned long long live_a = (a), live_b = (b);                                \
		if (!is_close(live_a, live_b, permille))                                      \
			UNIT_FAIL("%s is %llu, not about %llu (%s)", #a, live_a, live_b, #b); \
	} while (0)

/*
 * Counted against the kernel's own count of switches. Some kernels leave out events: a wait whose
 * end had none is found when the next one begins, so that only the last one may be missing.
 */
#define CHECK_SWITCHES(counted, switches)                                            \
	do {                                                                         \
		unsigned long long live_a = (counted), live_b = (switches);          \
		if (live_a > live_b || live_b - live_a > 1)                          \
			UNIT_FAIL("%s is %llu, not %llu", #counted, live_a, live_b); \
	} while (0)

/* In the test function: the process's status; on failure its stderr is shown. */
#define CHECK_STATUS(p, wanted)                                                                 \
	do {                                                                                    \
		const struct proc *live_p = (p);                                                \
		if (live_p->status != (wanted))                                                 \
			UNIT_FAIL("%s ended with status %d, not %d; it said: %s", live_p->name, \
				  live_p->status, (wanted), live_p->err);                       \
	} while (0)

/* A tool that has ended has taken no more memory than that. Sanitizers take some of their own. */
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

/* tool_wrong_refusal() of a command line. */
#define CHECK_REFUSED(culprit, ...)                                                      \
	do {                                                                             \
		const char *live_wrong = tool_wrong_refusal(culprit, ARGV(__VA_ARGS__)); \
		if (live_wrong)                                                          \
			UNIT_FAIL("%s", live_wrong);                                     \
	} while (0)

#define CHECK_LACKS(text, part)                                                   \
	do {                                                                      \
		const char *live_at = strstr(text, part);                         \
		if (live_at)                                                      \
			UNIT_FAIL("%s has \"%s\": %.300s", #text, part, live_at); \
	} while (0)

/* All tables and buffers had room. Events that were lost for other reasons are the machine's. */
#define CHECK_NOTHING_FULL(tool)                                    \
	do {                                                        \
		CHECK_LACKS((tool)->err, "lost: map full");         \
		CHECK_LACKS((tool)->err, "lost: ring buffer full"); \
	} while (0)

#ifndef LIVE_LIBRARY

/* Traces a workload from blocked to blocked, which must end well. */
static inline struct proc *trace_work(struct proc *work, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv);

	work_do(work);
	tool_stop(tool);
	return tool;
}

static inline struct proc *trace_pid_argv(struct proc *work, const char *const argv[])
{
	return trace_work(work, argv_on(work, argv));
}

#define trace_pid(work, ...) trace_pid_argv(work, ARGV(__VA_ARGS__))

/* All of a program's value but so many per mille is on stacks that lead through these frames. */
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
