// SPDX-License-Identifier: GPL-2.0-only
/*
 * calls KIND N: makes N system calls of a kind after the go; see the table at the end. Some kinds
 * use syscall(2), since the C library may choose another call.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "work.h"

#define UNKNOWN_CALL 600
#define ODD_CALL     100000

static void make_plain(int n)
{
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
}

static void make_slowly(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(SYS_getppid);
		work_sleep(2 * NS_PER_MS);
	}
}

/* Makes failing calls: two of three EBADF, one ENOENT. */
static void make_failing(int n)
{
	for (int i = 0; i < n; i++)
		if (i % 3)
			close(-1);
		else
			openat(AT_FDCWD, "/nonexistent/file", O_RDONLY);
}

static void make_children(int n)
{
	pid_t pid;

	for (int i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0) {
			work_set_comm("calls-child");
			syscall(SYS_getppid);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
WORK_FUNCTION void make_sharing_child(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}
#pragma GCC diagnostic pop

static void make_sharing_children(int n)
{
	for (int i = 0; i < n; i++)
		make_sharing_child();
}

/* Executes "calls plain 3" in N children. */
static void make_programs(int n)
{
	pid_t pid;

	for (int i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0) {
			execl("/proc/self/exe", "calls", "plain", "3", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

static void *end_thread(void *arg)
{
	return arg;
}

static void make_threads(int n)
{
	pthread_t thread;

	for (int i = 0; i < n; i++) {
		pthread_create(&thread, NULL, end_thread, NULL);
		pthread_join(thread, NULL);
	}
}

static void ignore(int signal)
{
	(void)signal;
}

static void make_signals(int n)
{
	signal(SIGUSR1, ignore);
	for (int i = 0; i < n; i++)
		raise(SIGUSR1);
}

/* Volatile, so that the compiler can't remove pairs of malloc() and free(). */
static void *(*volatile allocate)(size_t) = malloc;

static void make_blocks(int n)
{
	for (int i = 0; i < n; i++)
		free(allocate(64));
}

/* Makes calls with unused numbers: a small one, and one beyond any table. */
static void make_unknown(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(UNKNOWN_CALL);
		syscall(ODD_CALL);
	}
}

static void make_naps(int n)
{
	for (int i = 0; i < n; i++)
		work_sleep(5 * NS_PER_MS);
}

/*
 * A timer interrupts pause(), which is not restarted, even with SA_RESTART. The timer repeats,
 * since it may expire before pause(), and is stopped in the end, so that the thread stays blocked.
 */
static void make_interrupted(int n)
{
	const struct timeval period = { .tv_usec = 20000 };
	const struct itimerval timer = { period, period }, none = {};
	struct sigaction again = { .sa_handler = ignore, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &again, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < n; i++)
		pause();
	setitimer(ITIMER_REAL, &none, NULL);
}

static int pipe_fds[2];

static void *hang(void *arg)
{
	work_set_comm("hung");
	work_read(pipe_fds[0]);
	return arg;
}

/* Starts N threads that block until the process exits. */
static void make_hung(int n)
{
	pthread_t thread;

	if (pipe(pipe_fds))
		return;
	for (int i = 0; i < n; i++)
		pthread_create(&thread, NULL, hang, NULL);
	work_sleep(50 * NS_PER_MS);
}

/* Makes calls that a seccomp filter refuses before the kernel begins them. */
static void make_refused(int n)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		return;
	for (int i = 0; i < n; i++)
		syscall(SYS_uname, NULL);
}

#if defined(__x86_64__)
#define I386_CLOSE   6
#define I386_GETPPID 64

static long call_i386(long number, long arg)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static sigjmp_buf refusal;

static void note_refusal(int signal)
{
	siglongjmp(refusal, signal);
}

static void make_compat(int n)
{
	bool is_refused = sigsetjmp(refusal, true);

	signal(SIGSEGV, note_refusal);
	for (int i = 0; !is_refused && i < n; i++)
		is_refused = call_i386(I386_GETPPID, 0) != getppid() ||
			     call_i386(I386_CLOSE, -1) != -EBADF;
	signal(SIGSEGV, SIG_DFL);
	work_say("compat", !is_refused);
}
#else
static void make_compat(int n)
{
	(void)n;
	work_say("compat", 0);
}
#endif

static const struct {
	const char *name;
	void (*make)(int n);
} kinds[] = {
	{ "plain", make_plain },       { "failing", make_failing },
	{ "children", make_children }, { "sharing", make_sharing_children },
	{ "programs", make_programs }, { "threads", make_threads },
	{ "signals", make_signals },   { "unknown", make_unknown },
	{ "naps", make_naps },	       { "interrupted", make_interrupted },
	{ "hung", make_hung },	       { "compat", make_compat },
	{ "slow", make_slowly },       { "refused", make_refused },
	{ "blocks", make_blocks },
};

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 2, 1);

	work_wait_go();
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].make(n);
	work_wait_end();
	return 0;
}
