// SPDX-License-Identifier: GPL-2.0-only
/* State of processes, from /proc; see procstate.h. */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "process/procstate.h"

#define THREAD_FILE_MAX_BYTES 16384
#define STATUS_MAX_BYTES      65536 /* it may list thousands of groups */

/* Returns a process's system call interface: 32-bit programs have other numbers. */
static enum call_abi find_abi(pid_t pid, pid_t tid)
{
	char *path = mem_printf("/proc/%d/task/%d/exe", pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf32_Ehdr header = {};
	bool is_32_bit = fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header) &&
			 header.e_ident[EI_CLASS] == ELFCLASS32;

	free(path);
	if (fd >= 0)
		close(fd);
	return is_32_bit && header.e_machine != EM_X86_64 ? CALL_COMPAT : CALL_NATIVE;
}

/* Parses "running", "-1 SP PC" for a thread outside of calls, or "NUMBER ARG... SP PC". */
bool thread_call_read(struct thread_call *call, pid_t pid, pid_t tid)
{
	char *text = thread_file(pid, tid, "syscall");
	uint64_t *args = call->args;
	bool is_read = text;
	int n = 0;

	*call = (struct thread_call){ .number = -2 };
	if (text)
		n = sscanf(text,
			   "%" SCNi32 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			   " %" SCNx64 " %" SCNx64 " %" SCNx64,
			   &call->number, &args[0], &args[1], &args[2], &args[3], &args[4],
			   &args[5], &call->sp, &call->pc);
	if (n == 3 && call->number == -1) {
		call->sp = args[0];
		call->pc = args[1];
	}
	if (n > 0 && !call->sp && !call->pc)
		call->number = -1;
	if (call->number >= 0)
		call->abi = find_abi(pid, tid);
	call->is_off_cpu = n > 0;
	free(text);
	return is_read;
}

static char *read_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return readfile(path, 4096, NULL);
}

/* Returns the *n names of a folder that are numbers; NULL: it can't be read. */
static pid_t *list_numbers(const char *path, size_t *n)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	pid_t *numbers = NULL;
	size_t cap = 0;

	*n = 0;
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		*MEM_APPEND(numbers, *n, cap) = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return numbers;
}

pid_t *process_list(size_t *n)
{
	return list_numbers("/proc", n);
}

pid_t *thread_list(pid_t pid, size_t *n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return list_numbers(path, n);
}

char *thread_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return readfile(path, THREAD_FILE_MAX_BYTES, NULL);
}

/* Returns the last word of NSpid in proc_pid_status(5). */
pid_t thread_inner_id(pid_t pid, pid_t tid)
{
	char path[64], *text, *line, *word = NULL;
	pid_t inner;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	text = readfile(path, STATUS_MAX_BYTES, NULL);
	line = text ? strstr(text, "\nNSpid:") : NULL;
	if (line) {
		*strchrnul(line + 1, '\n') = '\0';
		word = strrchr(line + 1, '\t');
	}
	inner = word ? atoi(word + 1) : 0;
	free(text);
	return inner;
}

/* Reads the file once, since many threads may be read. */
bool thread_times_read(struct thread_times *times, pid_t pid, pid_t tid)
{
	unsigned long long ran_ns, waited_ns, arrivals;
	char path[64], text[128];
	ssize_t n;
	int fd;

	*times = (struct thread_times){};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%llu %llu %llu", &ran_ns, &waited_ns, &arrivals) != 3)
		return false;
	*times = (struct thread_times){ ran_ns, waited_ns, arrivals };
	return true;
}

/* Strips the newline that the kernel appends; names may contain newlines, too. */
int process_comm(pid_t pid, char *comm, size_t size)
{
	char *text = read_proc(pid, "comm"), *last = text ? strrchr(text, '\n') : NULL;

	if (!text)
		return -errno;
	if (last)
		*last = '\0';
	snprintf(comm, size, "%s", text);
	free(text);
	return 0;
}

/* Parses the fields after the name, which is in parentheses and may contain anything. */
bool process_stat_read(struct process_stat *stat, pid_t pid)
{
	char *text = read_proc(pid, "stat"), *after = text ? strrchr(text, ')') : NULL;
	int n = after ? sscanf(after,
			       ") %c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64
			       " %*u %*u %*u %*d %*d %*d %*d %zu %*d %" SCNu64 " %*u %" SCNu64,
			       &stat->state, &stat->minor_faults, &stat->major_faults,
			       &stat->n_threads, &stat->start_ticks, &stat->resident_pages)
		      : 0;

	free(text);
	return n == 6;
}

uint64_t process_start_unix_ns(pid_t pid)
{
	struct process_stat stat;
	struct timespec up;
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), start_ns, up_ns;

	if (!process_stat_read(&stat, pid) || clock_gettime(CLOCK_BOOTTIME, &up))
		return 0;
	start_ns =
		stat.start_ticks / ticks * NS_PER_S + stat.start_ticks % ticks * NS_PER_S / ticks;
	up_ns = (uint64_t)up.tv_sec * NS_PER_S + (uint64_t)up.tv_nsec;
	return start_ns < up_ns ? clock_wall_ns() - (up_ns - start_ns) : 0;
}

/*
 * Returns true if the process is gone, or a child of the caller that has ended. Opens no file, so
 * the limit of open files doesn't matter.
 */
static bool is_gone(pid_t pid)
{
	siginfo_t info = {};

	return pid <= 0 || (kill(pid, 0) && errno == ESRCH) ||
	       (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid);
}

/* Counts threads, since a main thread that exits before the rest is a zombie, too. */
bool process_has_ended(pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(&stat, pid))
		return is_gone(pid);
	return (stat.state == 'Z' || stat.state == 'X') && stat.n_threads <= 1;
}

/* ---- finding a live thread ---- */

/* Counts threads by the directory's link count, which is its number of subdirectories plus two. */
static bool has_other_threads(const char *task_folder)
{
	struct stat st;

	return !stat(task_folder, &st) && st.st_nlink > 3;
}

static bool has_memory(pid_t tid)
{
	struct process_stat stat;

	return process_stat_read(&stat, tid) && stat.state != 'Z' && stat.state != 'X';
}

pid_t process_live_task(pid_t pid)
{
	pid_t found = pid, *tids;
	char path[40];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (!has_other_threads(path) || has_memory(pid))
		return pid;
	tids = thread_list(pid, &n);
	for (size_t i = 0; i < n && found == pid; i++)
		if (has_memory(tids[i]))
			found = tids[i];
	free(tids);
	return found;
}
