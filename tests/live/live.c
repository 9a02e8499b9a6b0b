// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running tools and workloads, and reading what they say; see live.h. All processes of a test are
 * in one list, and all its strings in another, so that tests need no cleaning up of their own.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <mntent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"

#define LIVE_LIBRARY
#include "live.h"

#define TIMEOUT_MS     600000 /* an emulated machine is slow, as is a busy one */
#define STATUS_TIMEOUT (-1000)
#define LEAK_WAIT_MS   120000 /* the kernel's workers free them, on a busy machine late */
#define MAX_OBJECTS    4096
#define OBJECT_KINDS   2 /* programs and maps of BPF */
#define MAX_FDS	       192
#define MAX_WORDS      64 /* of a command line */

struct object_ids {
	uint32_t ids[MAX_OBJECTS];
	size_t count;
};

struct path {
	struct path *next;
	char *name;
};

static struct proc *procs;
static struct path *strings, *folders, *cgroups;
static struct object_ids objects_before[OBJECT_KINDS];
static int complaints;
static char *cgroup2_mounted; /* by us */
static char *cpu_enabled;     /* by us: the file that says that cgroups have the CPU controller */

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *fmt, ...)
{
	va_list ap;

	complaints++;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static uint64_t now_ms(void)
{
	return clock_now_ns() / NS_PER_MS;
}

static void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static char *keep(struct path **list, char *name)
{
	struct path *path = mem_zalloc(1, sizeof(*path));

	path->name = name;
	path->next = *list;
	*list = path;
	return name;
}

const char *text_of(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	return keep(&strings, text);
}

const char *pid_text(pid_t pid)
{
	return text_of("%d", pid);
}

static const char *folder_from(const char *variable, const char *otherwise)
{
	const char *folder = getenv(variable);

	return folder && *folder ? folder : otherwise;
}

int at_size(int full, int small)
{
	const char *is_small = getenv("TRACELETS_SMALL");

	return is_small && *is_small ? small : full;
}

const char *tool_path(const char *name)
{
	return strchr(name, '/') ? name
				 : text_of("%s/%s", folder_from("TRACELETS_BIN", "build"), name);
}

const char *work_path(const char *name)
{
	return strchr(name, '/')
		       ? name
		       : text_of("%s/%s", folder_from("TRACELETS_WORK", "build/tests/work"), name);
}

const char *realpath_of(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? keep(&strings, real) : path;
}

const char *library_path(const char *name)
{
	static const char *const places[] = { "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu", "/usr/lib64" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *path = text_of("%s/%s", places[i], name);

		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

/* ---- starting processes ---- */

struct spawn {
	setup_fn *setup;
	void *arg;
	const char *path;
	const char *const *argv;
	int in[2], out[2], err[2];
	bool is_work; /* has an input, and says errors where we do */
};

static void exec_child(const struct spawn *s)
{
	sigset_t none;

	setpgid(0, 0); /* so that all of its children can be killed with it */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL); /* nohup and "&" have them ignored */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(s->in[0], STDIN_FILENO);
	dup2(s->out[1], STDOUT_FILENO);
	if (!s->is_work)
		dup2(s->err[1], STDERR_FILENO);
	if (s->setup && !s->setup(s->arg))
		_exit(SETUP_FAILED);
	execv(s->path, (char *const *)s->argv);
	dprintf(STDERR_FILENO, "executing %s: %s\n", s->path, strerror(errno));
	_exit(127);
}

static struct proc *proc_new(const struct spawn *s, pid_t pid)
{
	struct proc *p = mem_zalloc(1, sizeof(*p));

	p->name = mem_strdup(s->argv[0]);
	p->pid = pid;
	p->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	p->in_fd = s->is_work ? s->in[1] : -1;
	p->out_fd = s->out[0];
	p->err_fd = s->err[0];
	p->out = mem_zalloc(1, 1);
	p->err = mem_zalloc(1, 1);
	p->is_tool = !s->is_work;
	p->next = procs;
	procs = p;
	return p;
}

static struct proc *spawn(struct spawn *s)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t all, before;
	pid_t pid;

	if (pipe2(s->in, O_CLOEXEC) || pipe2(s->out, O_CLOEXEC) || pipe2(s->err, O_CLOEXEC))
		abort();
	if (!s->is_work)
		dup2(null, s->in[0]);
	close(null);
	fflush(stdout);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); /* until the child has its own handlers */
	pid = fork();
	if (pid == 0)
		exec_child(s);
	sigprocmask(SIG_SETMASK, &before, NULL);
	setpgid(pid, pid);
	close(s->in[0]);
	close(s->out[1]);
	close(s->err[1]);
	if (!s->is_work)
		close(s->in[1]);
	fcntl(s->out[0], F_SETFL, O_NONBLOCK);
	fcntl(s->err[0], F_SETFL, O_NONBLOCK);
	return proc_new(s, pid);
}

/* ---- reading what they print ---- */

static void read_available(int *fd, char **text, size_t *bytes)
{
	char buffer[65536];
	ssize_t n;

	while (*fd >= 0 && (n = read(*fd, buffer, sizeof(buffer))) != 0) {
		if (n < 0)
			return;
		*text = mem_realloc(*text, *bytes + (size_t)n + 1, 1);
		memcpy(*text + *bytes, buffer, (size_t)n);
		*bytes += (size_t)n;
		(*text)[*bytes] = '\0';
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int decode_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static uint64_t ms_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

static void note_end(struct proc *p)
{
	struct rusage usage;
	int status;

	if (p->has_ended || wait4(p->pid, &status, WNOHANG, &usage) != p->pid)
		return;
	p->has_ended = true;
	p->peak_kb = (uint64_t)usage.ru_maxrss;
	p->cpu_ms = ms_of(&usage.ru_utime) + ms_of(&usage.ru_stime);
	p->status = decode_status(status);
}

static void read_proc(struct proc *p)
{
	note_end(p);
	read_available(&p->out_fd, &p->out, &p->out_bytes);
	read_available(&p->err_fd, &p->err, &p->err_bytes);
}

static nfds_t list_fds(struct pollfd fds[MAX_FDS])
{
	nfds_t n = 0;

	for (struct proc *p = procs; p && n + 3 <= MAX_FDS; p = p->next) {
		fds[n++] = (struct pollfd){ p->out_fd, POLLIN, 0 };
		fds[n++] = (struct pollfd){ p->err_fd, POLLIN, 0 };
		fds[n++] = (struct pollfd){ p->has_ended ? -1 : p->pid_fd, POLLIN, 0 };
	}
	return n;
}

/* Reads what there is from all, for none may be stuck in a full pipe. Waits so long at most. */
static void pump(int wait_ms)
{
	struct pollfd fds[MAX_FDS];
	nfds_t n = list_fds(fds);

	poll(fds, n, wait_ms);
	for (struct proc *p = procs; p; p = p->next)
		read_proc(p);
}

void proc_kill(struct proc *p)
{
	int status;

	kill(-p->pid, SIGKILL);
	if (p->has_ended)
		return;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	p->has_ended = true;
	p->status = -SIGKILL;
}

static void time_out(struct proc *p, const char *what)
{
	complain("%s: timeout while waiting for %s; it said: %s%s", p->name, what, p->out, p->err);
	proc_kill(p);
	p->status = STATUS_TIMEOUT;
}

static bool has_said(const struct proc *p, const char *text)
{
	return strstr(p->out, text) || strstr(p->err, text);
}

static bool wait_for_either(struct proc *p, const char *text, const char *other)
{
	uint64_t deadline = now_ms() + TIMEOUT_MS;

	for (;;) {
		if (has_said(p, text) || has_said(p, other))
			return true;
		if (p->has_ended)
			return false;
		if (now_ms() > deadline) {
			time_out(p, text);
			return false;
		}
		pump(1000);
	}
}

bool proc_wait_for(struct proc *p, const char *text)
{
	return wait_for_either(p, text, text);
}

void proc_linger(struct proc *p, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms + 1, now; /* of this one a part is over */

	while (!p->has_ended && (now = now_ms()) < end)
		pump((int)(end - now));
}

int proc_finish(struct proc *p)
{
	uint64_t deadline = now_ms() + TIMEOUT_MS;

	while (!p->has_ended && now_ms() <= deadline)
		pump(1000);
	if (!p->has_ended)
		time_out(p, "its end");
	return p->status;
}

void proc_signal(struct proc *p, int sig)
{
	if (!p->has_ended)
		kill(p->pid, sig);
}

void proc_close_out(struct proc *p)
{
	close(p->out_fd);
	p->out_fd = -1;
}

/* ---- tools and workloads ---- */

struct proc *tool_launch_in(setup_fn *setup, void *arg, const char *const argv[])
{
	struct spawn s = { .setup = setup, .arg = arg, .path = tool_path(argv[0]), .argv = argv };

	return spawn(&s);
}

struct proc *tool_start_argv(const char *const argv[])
{
	const char *verbose[MAX_WORDS] = { argv[0], "-v" };
	struct proc *p;

	for (size_t i = 1; i < ARRAY_SIZE(verbose) - 2 && argv[i]; i++)
		verbose[i + 1] = argv[i];
	p = tool_launch_in(NULL, NULL, verbose);
	if (!wait_for_either(p, ": attached\n", ": tracing..."))
		complain("%s is not attached, status %d; it said: %s", p->name, p->status, p->err);
	return p;
}

struct proc *tool_try_argv(setup_fn *setup, void *arg, const char *const argv[])
{
	struct proc *p = tool_launch_in(setup, arg, argv);

	proc_finish(p);
	return p;
}

struct proc *tool_run_argv(setup_fn *setup, void *arg, const char *const argv[])
{
	struct proc *p = tool_launch_in(setup, arg, argv);

	tool_finish(p);
	return p;
}

const char *const *argv_on(const struct proc *work, const char *const argv[])
{
	const char **words = mem_zalloc(MAX_WORDS, sizeof(*words));

	words[0] = argv[0];
	words[1] = "-p";
	words[2] = pid_text(work->pid);
	for (size_t i = 1; i < MAX_WORDS - 3 && argv[i]; i++)
		words[i + 2] = argv[i];
	keep(&strings, (char *)words);
	return words;
}

const char *memleak_lacks(void)
{
	static char lacks[512];
	static bool is_known;
	const struct proc *tried;

	if (!is_known) {
		is_known = true;
		tried = tool_try("memleak", "--", "/bin/true");
		if (tried->status == 1 && strstr(tried->err, "needs Linux"))
			snprintf(lacks, sizeof(lacks), "%s", tried->err);
	}
	return *lacks ? lacks : NULL;
}

void tool_finish(struct proc *p)
{
	if (proc_finish(p))
		complain("%s ended with status %d; it said: %s", p->name, p->status, p->err);
}

void tool_stop(struct proc *p)
{
	proc_signal(p, SIGINT);
	tool_finish(p);
}

struct proc *work_start_in(setup_fn *setup, void *arg, const char *path, const char *const argv[])
{
	struct spawn s = {
		.setup = setup, .arg = arg, .path = path, .argv = argv, .is_work = true
	};
	struct proc *p = spawn(&s);

	if (!proc_wait_for(p, "@ready\n"))
		complain("%s did not start, status %d", p->name, p->status);
	wait_until_blocked(p->pid);
	return p;
}

struct proc *work_start_argv(const char *const argv[])
{
	return work_start_in(NULL, NULL, work_path(argv[0]), argv);
}

void wait_for_lines(struct proc *p, const char *text, size_t n)
{
	uint64_t deadline = now_ms() + TIMEOUT_MS;

	while (!p->has_ended && lines_with(p->out, text) < n && now_ms() < deadline)
		proc_linger(p, 20);
	if (lines_with(p->out, text) < n)
		complain("%s: no %zu lines with %s; it said: %s", p->name, n, text, p->out);
}

void wait_for_reports(struct proc *tool, size_t n)
{
	static const char start[] = "{\"type\":\"run\"";

	wait_for_lines(tool, start, lines_with(tool->out, start) + n);
}

pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

void work_go(struct proc *p)
{
	if (write(p->in_fd, "x", 1) != 1)
		complain("%s is gone", p->name);
}

void work_wait_done(struct proc *p)
{
	if (!proc_wait_for(p, "@done\n"))
		complain("%s ended early, status %d", p->name, p->status);
	wait_until_blocked(p->pid);
}

void work_do(struct proc *p)
{
	work_go(p);
	work_wait_done(p);
}

/* ---- /proc ---- */

char *file_read(const char *path)
{
	char *text = mem_zalloc(1, 1);
	size_t bytes = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		free(text);
		return NULL;
	}
	read_available(&fd, &text, &bytes);
	if (fd >= 0)
		close(fd); /* a read failed: the thread is gone */
	return keep(&strings, text);
}

bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

const char *kernel_threads_lack(void)
{
	const char *comm = file_read("/proc/2/comm");

	return comm && !strcmp(comm, "kthreadd\n") ? NULL : "no kernel threads to be seen here";
}

static uint64_t status_field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct threads {
	uint64_t sleeps, switches; /* how often they went to sleep, or left the CPU */
	bool all_sleep;
};

static void visit_thread(struct threads *threads, pid_t pid, const char *tid)
{
	const char *status = file_read(text_of("/proc/%d/task/%s/status", pid, tid)), *state;
	uint64_t sleeps;

	if (!status)
		return;
	sleeps = status_field(status, "\nvoluntary_ctxt_switches:");
	threads->sleeps += sleeps;
	threads->switches += sleeps + status_field(status, "\nnonvoluntary_ctxt_switches:");
	state = strstr(status, "\nState:\t");
	if (!state || (state[8] != 'S' && state[8] != 'Z'))
		threads->all_sleep = false;
}

static struct threads visit_threads(pid_t pid, pid_t tid)
{
	struct threads threads = { .all_sleep = true };
	DIR *dir = opendir(text_of("/proc/%d/task", pid));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    (!tid || atoi(entry->d_name) == tid))
			visit_thread(&threads, pid, entry->d_name);
	if (dir)
		closedir(dir);
	return threads;
}

uint64_t task_switches(pid_t pid, pid_t tid)
{
	return visit_threads(pid, tid).switches;
}

/* A sleeping thread may be on its way back to the CPU, or not quite off it: look twice. */
static bool is_blocked(pid_t pid)
{
	struct threads before = visit_threads(pid, 0), now;

	sleep_ms(20);
	now = visit_threads(pid, 0);
	return now.all_sleep && before.all_sleep && now.switches == before.switches;
}

/* Waits until all threads sleep, or the main thread has slept `sleeps` times since its start. */
static void wait_for_sleep(pid_t pid, uint64_t sleeps)
{
	uint64_t deadline = now_ms() + TIMEOUT_MS;

	while (!is_blocked(pid) && visit_threads(pid, pid).sleeps < sleeps) {
		if (now_ms() < deadline)
			continue;
		complain("process %d: its threads never sleep at once", pid);
		return;
	}
}

void wait_until_blocked(pid_t pid)
{
	wait_for_sleep(pid, UINT64_MAX);
}

void tool_settle(struct proc *tool)
{
	proc_linger(tool, 700); /* longer than it sleeps */
	wait_until_blocked(tool->pid);
}

void tool_settle_awake(struct proc *tool)
{
	uint64_t sleeps = visit_threads(tool->pid, tool->pid).sleeps;

	proc_linger(tool, 700);
	wait_for_sleep(tool->pid, sleeps + 50);
}

/* "CPU-TIME WAITED SLICES" */
static uint64_t schedstat(pid_t tid, bool wants_waited)
{
	const char *text = file_read(text_of("/proc/%d/schedstat", tid));
	unsigned long long ran = 0, waited = 0;

	if (text)
		sscanf(text, "%llu %llu", &ran, &waited);
	return wants_waited ? waited : ran;
}

uint64_t thread_cpu_ns(pid_t tid)
{
	return schedstat(tid, false);
}

uint64_t thread_waited_us(pid_t tid)
{
	return schedstat(tid, true) / 1000;
}

int usable_cpu(int n)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	return -1;
}

int usable_cpus(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	return CPU_COUNT(&set);
}

/* ---- files, cgroups, namespaces ---- */

const char *folder_make(void)
{
	char *name = mem_printf("%s/tracelets-XXXXXX", folder_from("TMPDIR", "/tmp"));

	if (!mkdtemp(name))
		complain("making %s: %s", name, strerror(errno));
	return keep(&folders, name);
}

size_t folder_count(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n > 2 ? n - 2 : 0; /* not itself and its parent */
}

bool file_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char buffer[65536];
	ssize_t n = 0;
	bool ok = in >= 0 && out >= 0;

	while (ok && (n = read(in, buffer, sizeof(buffer))) > 0)
		ok = write(out, buffer, (size_t)n) == n;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return ok && n == 0;
}

uint64_t file_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

bool enter_mount_namespace(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

bool become_first_process(void *unused)
{
	int status;
	pid_t pid;

	(void)unused;
	if (!enter_mount_namespace() || unshare(CLONE_NEWPID))
		return false;
	pid = fork();
	if (pid > 0) {
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
	}
	return pid == 0 && !mount("proc", "/proc", "proc", 0, NULL);
}

const char *pid_namespaces_lack(void)
{
	struct proc *tool = tool_try_in(become_first_process, NULL, "runqlat", "--version");

	return tool->status == SETUP_FAILED ? "no pid namespaces" : NULL;
}

bool forbid_call(void *call)
{
	const struct forbidden_call *forbidden = call;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden->number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden->first, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(code), code };

	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

void leave_out_all(struct bpf_object *object)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, object)
		bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, object)
		bpf_map__set_autocreate(map, strchr(bpf_map__name(map), '.'));
}

bool put_other_file(void *arg)
{
	const struct other_file *other = arg;

	return enter_mount_namespace() && !mount(other->with, other->path, NULL, MS_BIND, NULL);
}

/* Returns a mount point of that type of file system, and with that option unless it is NULL. */
static const char *find_mount(const char *type, const char *option)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const char *found = NULL;
	struct mntent *entry;

	while (f && !found && (entry = getmntent(f)))
		if (!strcmp(entry->mnt_type, type) && (!option || hasmntopt(entry, option)))
			found = text_of("%s", entry->mnt_dir);
	if (f)
		endmntent(f);
	return found;
}

const char *cgroup2_root(void)
{
	const char *found = find_mount("cgroup2", NULL);
	char *path;

	if (found)
		return found;
	path = mem_strdup("/tmp/tracelets-cgroup2");
	mkdir(path, 0755);
	if (!mount("none", path, "cgroup2", 0, NULL))
		return cgroup2_mounted = path;
	rmdir(path);
	free(path);
	return NULL;
}

/* The test's process id keeps two runs apart. */
const char *cgroup_make(const char *name)
{
	const char *root = cgroup2_root();
	char *path;

	if (!root)
		return NULL;
	path = mem_printf("%s/tracelets-%d-%s", root, getpid(), name);
	if (mkdir(path, 0755)) {
		free(path);
		return NULL;
	}
	return keep(&cgroups, path);
}

const char *cgroups_lack(void)
{
	return cgroup_make("lacking") ? NULL : "no cgroups can be made here";
}

static bool has_word(const char *path, const char *word)
{
	char *text = file_read(path), *at;

	while (text && (at = strsep(&text, " \n")))
		if (!strcmp(at, word))
			return true;
	return false;
}

/* Children of a version 2 cgroup get the CPU controller. */
static bool enable_cpu(const char *parent, bool for_now)
{
	const char *path = text_of("%s/cgroup.subtree_control", parent);

	if (has_word(path, "cpu"))
		return true;
	if (!file_write(path, "+cpu"))
		return false;
	if (for_now)
		cpu_enabled = mem_strdup(path);
	return true;
}

/* The parent's folder of a cgroup with the CPU controller; NULL: there is none. */
static const char *cpu_parent(const char *name, bool *is_v1)
{
	const char *root = find_mount("cgroup", "cpu"), *slash = strrchr(name, '/');

	*is_v1 = root;
	if (!root)
		root = cgroup2_root();
	if (!root || (!*is_v1 && !enable_cpu(root, true)))
		return NULL;
	if (!slash)
		return root;
	root = text_of("%s/tracelets-%d-%.*s", root, getpid(), (int)(slash - name), name);
	return *is_v1 || enable_cpu(root, false) ? root : NULL;
}

const char *cgroup_make_limited(const char *name, int percent)
{
	const char *parent, *slash = strrchr(name, '/'), *limit;
	bool is_v1;
	char *path;

	parent = cpu_parent(name, &is_v1);
	if (!parent)
		return NULL;
	path = slash ? mem_printf("%s%s", parent, slash)
		     : mem_printf("%s/tracelets-%d-%s", parent, getpid(), name);
	if (mkdir(path, 0755)) {
		free(path);
		return NULL;
	}
	keep(&cgroups, path);
	if (!percent)
		return path;
	limit = is_v1 ? text_of("%d", percent * 1000) : text_of("%d 100000", percent * 1000);
	/* so that it reaches its limit beside others */
	file_write(text_of("%s/%s", path, is_v1 ? "cpu.shares" : "cpu.weight"), "10000");
	return file_write(text_of("%s/%s", path, is_v1 ? "cpu.cfs_quota_us" : "cpu.max"), limit)
		       ? path
		       : NULL;
}

const char *quotas_lack(void)
{
	return cgroup_make_limited("lacking", 50) ? NULL : "no cgroups with CPU quotas";
}

uint64_t cgroup_throttled_ns(const char *path)
{
	const char *text = file_read(text_of("%s/cpu.stat", path));
	const char *v1 = text ? strstr(text, "throttled_time ") : NULL;
	const char *v2 = text ? strstr(text, "throttled_usec ") : NULL;

	return v1   ? strtoull(v1 + strlen("throttled_time "), NULL, 10)
	       : v2 ? strtoull(v2 + strlen("throttled_usec "), NULL, 10) * 1000
		    : 0;
}

bool cgroup_add(const char *path, pid_t pid)
{
	return file_write(text_of("%s/cgroup.procs", path), pid_text(pid));
}

bool join_cgroup(void *path)
{
	return cgroup_add(path, getpid());
}

/* ---- after a test ---- */

static bool read_program_name(int fd, char *name)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(fd, &info, &size);

	memcpy(name, info.name, sizeof(info.name));
	return !err;
}

static bool read_map_name(int fd, char *name)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(fd, &info, &size);

	memcpy(name, info.name, sizeof(info.name));
	return !err;
}

/* Kinds of objects that a tool could leave loaded. */
static const struct object_kind {
	const char *what;
	const char *id_line; /* in /proc/PID/fdinfo */
	int (*next)(uint32_t id, uint32_t *next_id);
	int (*open)(uint32_t id);
	bool (*read_name)(int fd, char *name);
} object_kinds[OBJECT_KINDS] = {
	{ "program", "prog_id:\t", bpf_prog_get_next_id, bpf_prog_get_fd_by_id, read_program_name },
	{ "map", "map_id:\t", bpf_map_get_next_id, bpf_map_get_fd_by_id, read_map_name },
};

/* Settings and programs have the object's name before theirs, of which there are 15 characters. */
static bool is_ours(const char *name)
{
	static const char *const names[] = { "runqlat_",    "biolat_",	   "offcputi", "profile_",
					     "syscount",    "pagefaul",	   "memleak_", "filter_f",
					     "task_state_", "unwind_proc", "waits_",   "locks_" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_tracelets_object(const struct object_kind *kind, uint32_t id)
{
	char name[BPF_OBJ_NAME_LEN];
	int fd = kind->open(id);
	bool ok;

	if (fd < 0)
		return false;
	ok = kind->read_name(fd, name) && is_ours(name);
	close(fd);
	return ok;
}

static struct object_ids list_objects(const struct object_kind *kind)
{
	struct object_ids list = {};
	uint32_t id = 0;

	while (list.count < MAX_OBJECTS && !kind->next(id, &id))
		if (is_tracelets_object(kind, id))
			list.ids[list.count++] = id;
	return list;
}

static bool file_names_object(const struct object_kind *kind, const char *path, uint32_t id)
{
	const char *text = file_read(path), *at = text ? strstr(text, kind->id_line) : NULL;

	return at && strtoul(at + strlen(kind->id_line), NULL, 10) == id;
}

static bool process_holds(const struct object_kind *kind, const char *pid, uint32_t id)
{
	DIR *dir = opendir(text_of("/proc/%s/fdinfo", pid));
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			file_names_object(kind, text_of("/proc/%s/fdinfo/%s", pid, entry->d_name),
					  id);
	if (dir)
		closedir(dir);
	return found;
}

/* Somebody else may use the tools at the same time. None of our tools is running any more. */
static bool is_held_by_others(const struct object_kind *kind, uint32_t id)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			process_holds(kind, entry->d_name, id);
	if (dir)
		closedir(dir);
	return found;
}

static bool has_object(const struct object_ids *list, uint32_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ids[i] == id)
			return true;
	return false;
}

/* Drops from the list what was there before, is gone, or belongs to a process. */
static void keep_leaks(const struct object_kind *kind, struct object_ids *list,
		       const struct object_ids *before)
{
	struct object_ids now = list_objects(kind);
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		if (has_object(&now, list->ids[i]) && !has_object(before, list->ids[i]) &&
		    !is_held_by_others(kind, list->ids[i]))
			list->ids[n++] = list->ids[i];
	list->count = n;
}

/*
 * They are freed some time after their last user is gone, as are those of other tests that run
 * beside this one: a leak is an object that was nobody's all the time.
 */
static void check_objects(const struct object_kind *kind, const struct object_ids *before)
{
	uint64_t deadline = now_ms() + LEAK_WAIT_MS;
	struct object_ids list = list_objects(kind);

	for (keep_leaks(kind, &list, before); list.count && now_ms() < deadline;
	     keep_leaks(kind, &list, before))
		sleep_ms(50);
	if (list.count)
		complain("BPF %s %u is still loaded", kind->what, list.ids[0]);
}

static void release_proc(struct proc *p)
{
	close(p->pid_fd);
	if (p->in_fd >= 0)
		close(p->in_fd);
	if (p->out_fd >= 0)
		close(p->out_fd);
	if (p->err_fd >= 0)
		close(p->err_fd);
	free(p->name);
	free(p->out);
	free(p->err);
	free(p);
}

static void end_proc(struct proc *p)
{
	if (p->is_tool && !p->has_ended)
		complain("%s was still running", p->name);
	proc_kill(p);
	release_proc(p);
}

void proc_free(struct proc *p)
{
	struct proc **at = &procs;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	release_proc(p);
}

/* Orphans become our children. What was killed needs a moment to die; what was not is a leak. */
static void check_children(void)
{
	uint64_t deadline = now_ms() + LEAK_WAIT_MS;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (pid == 0 && now_ms() > deadline) {
			complain("a process was left behind");
			return;
		}
		if (pid == 0)
			sleep_ms(10);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_folder(const char *name)
{
	nftw(name, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

bool cgroup_remove(const char *path)
{
	uint64_t deadline = now_ms() + LEAK_WAIT_MS;

	while (rmdir(path)) {
		if (errno != EBUSY || now_ms() > deadline)
			return false;
		sleep_ms(10);
	}
	return true;
}

static void remove_cgroup(const char *path)
{
	cgroup_remove(path);
}

static void free_list(struct path **list, void (*remove)(const char *name))
{
	while (*list) {
		struct path *path = *list;

		*list = path->next;
		if (remove)
			remove(path->name);
		free(path->name);
		free(path);
	}
}

static void disable_cpu(void)
{
	if (cpu_enabled)
		file_write(cpu_enabled, "-cpu");
	free(cpu_enabled);
	cpu_enabled = NULL;
}

static void unmount_cgroup2(void)
{
	if (!cgroup2_mounted)
		return;
	umount2(cgroup2_mounted, MNT_DETACH);
	rmdir(cgroup2_mounted);
	free(cgroup2_mounted);
	cgroup2_mounted = NULL;
}

void live_begin_test(void)
{
	if (geteuid() != 0) {
		printf("FAIL live tests need root\n");
		exit(1);
	}
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	complaints = 0;
	for (int i = 0; i < OBJECT_KINDS; i++)
		objects_before[i] = list_objects(&object_kinds[i]);
}

int live_end_test(void)
{
	struct proc *next;

	for (; procs; procs = next) {
		next = procs->next;
		end_proc(procs);
	}
	check_children();
	for (int i = 0; i < OBJECT_KINDS; i++)
		check_objects(&object_kinds[i], &objects_before[i]);
	free_list(&cgroups, remove_cgroup);
	disable_cpu();
	free_list(&folders, remove_folder);
	free_list(&strings, NULL);
	unmount_cgroup2();
	return complaints;
}

/* ---- lines ---- */

/* The next line of *text, with its length; NULL: no more. */
static const char *next_line(const char **text, size_t *length)
{
	const char *line = *text, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	*length = end ? (size_t)(end - line) : strlen(line);
	*text = line + *length + (end ? 1 : 0);
	return line;
}

#define for_each_line(line, length, text) \
	for (const char *rest_ = (text), *line = rest_; (line = next_line(&rest_, &(length)));)

uint64_t lines_with(const char *text, const char *part)
{
	uint64_t n = 0;
	size_t length;

	for_each_line(line, length, text) {
		n += memmem(line, length, part, strlen(part)) != NULL;
	}
	return n;
}

uint64_t lines_from(const char *text, const char *start)
{
	uint64_t n = 0;
	size_t length;

	for_each_line(line, length, text) {
		n += !strncmp(line, start, strlen(start));
	}
	return n;
}

const char *line_with(const char **rest, const char *a, const char *b)
{
	const char *line;
	size_t length;

	while ((line = next_line(rest, &length)))
		if (memmem(line, length, a, strlen(a)) && memmem(line, length, b, strlen(b)))
			return text_of("%.*s", (int)length, line);
	return NULL;
}

const char *first_line(const char *text, const char *a, const char *b)
{
	const char *line = line_with(&text, a, b);

	return line ? line : "";
}

uint64_t number_in(const char *line, const char *key)
{
	const char *member = text_of("\"%s\":", key), *at = strstr(line, member);

	return at ? strtoull(at + strlen(member), NULL, 10) : UINT64_MAX;
}

uint64_t json_sum(const char *text, const char *type, const char *key)
{
	const char *start = text_of("{\"type\":\"%s\",", type), *line;
	uint64_t sum = 0;

	while ((line = line_with(&text, start, text_of("\"%s\":", key))))
		sum += number_in(line, key);
	return sum;
}

uint64_t sum_from(const char *text, const char *start)
{
	uint64_t sum = 0;
	size_t length;

	for_each_line(line, length, text) {
		if (!strncmp(line, start, strlen(start)))
			sum += strtoull(line + strlen(start), NULL, 10);
	}
	return sum;
}

uint64_t work_value(const char *text, const char *comm, const char *key)
{
	char line_comm[64], line_key[64];
	unsigned long long value;
	uint64_t sum = 0;
	size_t length;

	for_each_line(line, length, text) {
		if (sscanf(line, "@%63s %63s %llu", line_comm, line_key, &value) == 3 &&
		    !strcmp(line_key, key) && (!comm || !strcmp(line_comm, comm)))
			sum += value;
	}
	return sum;
}

/* ---- folded lines ---- */

struct folded {
	const char *stack; /* with comm, without "cpuN;" and "tidN;" */
	size_t length;
	uint64_t value;
};

static size_t number_prefix(const char *line, const char *what)
{
	size_t n = strlen(what), digits;

	digits = strncmp(line, what, n) ? 0 : strspn(line + n, "0123456789");
	return digits && line[n + digits] == ';' ? n + digits + 1 : 0;
}

/* False for what is no folded line: the workloads' own lines begin with "@". */
static bool parse_folded(const char *line, size_t length, struct folded *folded)
{
	const char *space = memrchr(line, ' ', length);
	char *end;

	if (*line == '@' || !space || space == line || !isdigit((unsigned char)space[1]))
		return false;
	folded->value = strtoull(space + 1, &end, 10);
	folded->stack = line + number_prefix(line, "cpu") + number_prefix(line, "tid");
	folded->length = (size_t)(space - folded->stack);
	return end == line + length;
}

static bool has_comm(const struct folded *f, const char *comm)
{
	size_t n = strlen(comm);

	return f->length >= n && !memcmp(f->stack, comm, n) &&
	       (f->length == n || f->stack[n] == ';');
}

/* frames, as whole words in a row. */
static bool has_frames(const struct folded *f, const char *frames)
{
	const char *at = f->stack, *end = f->stack + f->length;
	size_t n = strlen(frames);

	while ((at = memmem(at, (size_t)(end - at), frames, n))) {
		if (at > f->stack && at[-1] == ';' && (at + n == end || at[n] == ';'))
			return true;
		at++;
	}
	return false;
}

static bool is_wanted(const struct folded *f, const char *comm, const char *frames)
{
	return (!comm || has_comm(f, comm)) && (!frames || has_frames(f, frames));
}

double said_percent(const struct proc *tool, const char *what)
{
	const char *at = strstr(tool->err, what);

	while (at && at > tool->err && (isdigit((unsigned char)at[-1]) || at[-1] == '.'))
		at--;
	return at ? strtod(at, NULL) : 0;
}

uint64_t said_number(const struct proc *tool, const char *what)
{
	return (uint64_t)said_percent(tool, what);
}

double stackless_percent(const struct proc *tool)
{
	static const char *const units[] = { "microseconds", "samples", "bytes" };
	double percent = 0;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		percent += said_percent(tool, text_of(" %% of %s without their stack", units[i]));
	return percent;
}

uint64_t said_count(const struct proc *tool, const char *noun, const char *why)
{
	return said_number(tool, text_of(" %ss %s", noun, why)) +
	       said_number(tool, text_of(" %s %s", noun, why));
}

uint64_t events_missed(const struct proc *tool)
{
	return said_count(tool, "event",
			  "lost: the same BPF program was already running on that CPU");
}

uint64_t faults_missed(const struct proc *tool)
{
	const char *line = strstr(tool->err, "pagefaults: warning: ");
	unsigned long long missed = 0;

	while (line && sscanf(line, "pagefaults: warning: %llu of ", &missed) != 1)
		line = strstr(line + 1, "pagefaults: warning: ");
	return missed;
}

/* The matching lines: their total, their number, and the first one. */
struct folded_sums {
	uint64_t sum, count;
	const char *first;
	size_t length;
};

static struct folded_sums sum_up(const char *text, const char *comm, const char *frames,
				 const char *part)
{
	struct folded_sums sums = { .first = "" };
	struct folded f;
	size_t length;

	for_each_line(line, length, text) {
		if (!parse_folded(line, length, &f) || !is_wanted(&f, comm, frames) ||
		    (part && !memmem(f.stack, f.length, part, strlen(part))))
			continue;
		if (!sums.count++) {
			sums.first = line;
			sums.length = length;
		}
		sums.sum += f.value;
	}
	return sums;
}

uint64_t folded_sum(const char *text, const char *comm, const char *frames)
{
	return sum_up(text, comm, frames, NULL).sum;
}

uint64_t folded_sum_with(const char *text, const char *comm, const char *part)
{
	return sum_up(text, comm, NULL, part).sum;
}

uint64_t folded_count(const char *text, const char *comm, const char *frames)
{
	return sum_up(text, comm, frames, NULL).count;
}

const char *folded_find(const char *text, const char *comm, const char *frames)
{
	struct folded_sums sums = sum_up(text, comm, frames, NULL);

	return text_of("%.*s", (int)sums.length, sums.first);
}

/* JITed programs are bpf_prog_ and 16 digits; bpf_prog_load() is the kernel's own. */
bool folded_has_program(const char *text, const char *name)
{
	static const char prefix[] = ";bpf_prog_";

	while ((text = strstr(text, prefix))) {
		text += strlen(prefix);
		if (strspn(text, "0123456789abcdef") == 16 && text[16] == '_' &&
		    !strncmp(text + 17, name, strlen(name)))
			return true;
	}
	return false;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct folded *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->stack, y->stack, n);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

static bool has_equal_stacks(struct folded *lines, size_t n)
{
	if (n)
		qsort(lines, n, sizeof(*lines), compare_stacks);
	for (size_t i = 1; i < n; i++)
		if (!compare_stacks(&lines[i - 1], &lines[i])) {
			printf("twice: %.*s\n", (int)lines[i].length, lines[i].stack);
			return true;
		}
	return false;
}

bool folded_is_sane(const char *text)
{
	struct folded *lines = NULL, f;
	size_t n = 0, cap = 0, length;
	bool ok = true;

	for_each_line(line, length, text) {
		if (*line == '@')
			continue;
		if (!parse_folded(line, length, &f) || !f.value ||
		    (n && f.value > lines[n - 1].value)) {
			printf("not a folded line, or in the wrong order: %.*s\n", (int)length,
			       line);
			ok = false;
			continue;
		}
		f.length += (size_t)(f.stack - line); /* with the CPU */
		f.stack = line;
		lines = mem_grow(lines, n, &cap, sizeof(*lines));
		lines[n++] = f;
	}
	ok = ok && !has_equal_stacks(lines, n);
	free(lines);
	return ok;
}

/* ---- histograms ---- */

static bool is_title(const char *line, size_t length)
{
	return length && islower((unsigned char)*line) && memmem(line, length, " = ", 3);
}

/* The sum of the lines that match a format, below titles that begin so. */
static uint64_t sum_below(const char *text, const char *title, const char *format)
{
	bool wanted = !title;
	unsigned long long value;
	uint64_t sum = 0;
	size_t length;

	for_each_line(line, length, text) {
		if (title && is_title(line, length))
			wanted = !strncmp(line, title, strlen(title));
		if (wanted && sscanf(line, format, &value) == 1)
			sum += value;
	}
	return sum;
}

uint64_t hist_count_of(const char *text, const char *title)
{
	return sum_below(text, title, "count %llu");
}

uint64_t hist_rows_of(const char *text, const char *title)
{
	return sum_below(text, title, " %*u -> %*u : %llu |");
}

/* ---- the truth about a run ---- */

static const char *find_truth(const struct proc *p)
{
	const char *at = strstr(p->err, " s, Linux ");

	while (at && at > p->err && at[-1] != '\n')
		at--;
	return at ? strchr(at, ':') : NULL;
}

uint64_t truth_value(const struct proc *p)
{
	const char *at = find_truth(p);

	return at ? strtoull(at + 1, NULL, 10) : UINT64_MAX;
}

uint64_t truth_ms(const struct proc *p)
{
	const char *at = find_truth(p);
	unsigned int s, hundredths;

	if (!at || sscanf(at, ": %*u %*s in %u.%u s", &s, &hundredths) != 2)
		return UINT64_MAX;
	return s * 1000ULL + hundredths * 10ULL;
}

bool is_close(uint64_t a, uint64_t b, uint64_t permille)
{
	uint64_t difference = a > b ? a - b : b - a;

	return difference <= b / 1000 * permille + b % 1000 * permille / 1000;
}
