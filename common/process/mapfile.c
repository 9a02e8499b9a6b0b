// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens files of mappings; see mapfile.h. /proc/PID/map_files leads to the mapped file itself, even
 * if deleted, but needs privileges. The file's device and inode can still differ from those in
 * /proc/PID/maps (btrfs and overlayfs report another device to stat(2)); then, unless the file is
 * known, the mapping is read again, to be sure that the address range still holds the same file.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/mapfile.h"
#include "process/procstate.h"
#include "process/roots.h"

static bool is_same_file(const struct stat *st, const struct mapping *m)
{
	return st->st_dev == m->dev && st->st_ino == m->ino;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec;
	return a->tv_nsec < b->tv_nsec;
}

/* Returns true if st is m->known: the file was verified for an equal mapping before. */
static bool is_known(const struct stat *st, const struct mapping *m)
{
	return m->known && st->st_dev == m->known->st_dev && st->st_ino == m->known->st_ino;
}

static bool has_same_base(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	return x && y && !strcmp(x, y);
}

/*
 * Returns true if `now` still maps m's file; st: status of now's file. On overlayfs, since Linux
 * 6.8, /proc/PID/maps has the device of stat(2), but events may have that of the underlying file.
 */
static bool has_same_file(const struct mapping *now, const struct mapping *m, const struct stat *st)
{
	if (now->ino != m->ino)
		return false;
	return now->dev == m->dev || (is_same_file(st, now) && has_same_base(now->path, m->path));
}

static bool is_still_mapped(pid_t pid, const struct mapping *m, const struct stat *st)
{
	struct mappings maps;
	const struct mapping *now;
	bool same;

	if (mappings_read(&maps, pid))
		return false;
	now = mappings_find(&maps, m->start);
	same = now && now->start == m->start && now->end == m->end && now->offset == m->offset &&
	       has_same_file(now, m, st);
	mappings_free(&maps);
	return same;
}

static int open_regular(const char *path, struct stat *st)
{
	return root_check_regular(open(path, O_PATH | O_CLOEXEC), st);
}

static void write_map_path(char *path, size_t size, pid_t pid, const struct mapping *m)
{
	snprintf(path, size, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
}

static int open_map_file(pid_t pid, const struct mapping *m, struct stat *st)
{
	char path[80];
	int fd;

	write_map_path(path, sizeof(path), pid, m);
	fd = open_regular(path, st);
	if (fd < 0 || is_same_file(st, m) || is_known(st, m) || is_still_mapped(pid, m, st))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_path(const char *path, const struct mapping *m, const struct timespec *read_time,
		     struct stat *st)
{
	int fd = open_regular(path, st);

	if (fd < 0 || (is_same_file(st, m) && is_before(&st->st_ctim, read_time)))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_in_root_of(pid_t pid, const struct mapping *m, const struct timespec *read_time,
			   struct stat *st)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	return open_path(path, m, read_time, st);
}

static bool is_out_of_files(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Opens the file through the process's own /proc directory. */
static int open_of_process(pid_t pid, const struct mapping *m, const struct timespec *read_time,
			   struct stat *st)
{
	int fd = open_map_file(pid, m, st);

	if (fd >= 0 || is_out_of_files(fd) || m->path[0] != '/')
		return fd;
	return open_in_root_of(pid, m, read_time, st);
}

static int open_without_process(const struct mapping *m, const struct timespec *read_time,
				struct stat *st)
{
	int fd = open_path(m->path, m, read_time, st);

	if (fd >= 0 || is_out_of_files(fd) || !m->relative)
		return fd;
	return open_in_root_of(m->relative, m, read_time, st);
}

/* Prefers the error of opening through the process, which is the most exact. */
int mapfile_open(pid_t pid, const struct mapping *m, const struct timespec *read_time,
		 struct stat *st)
{
	pid_t live;
	int fd, err;

	if (m->mapped_at.tv_sec)
		read_time = &m->mapped_at;
	fd = open_of_process(pid, m, read_time, st);
	live = fd == -ENOENT ? process_live_task(pid) : pid;
	if (live != pid)
		fd = open_of_process(live, m, read_time, st);
	if (fd >= 0 || is_out_of_files(fd) || m->path[0] != '/')
		return fd;
	err = fd;
	fd = open_without_process(m, read_time, st);
	return fd >= 0 || is_out_of_files(fd) || err == -ENOENT ? fd : err;
}

/* ---- copies, made as the process's user ---- */

#define COPY_SECONDS 3

/* Report of the process that copies. */
struct copied {
	int err;
	struct stat st;
};

static int become_user_of(pid_t pid)
{
	struct stat own, other;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat("/proc/self/ns/user", &own) || stat(path, &other))
		return -errno;
	if (own.st_ino != other.st_ino && setns(open(path, O_RDONLY | O_CLOEXEC), CLONE_NEWUSER))
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	setgroups(0, NULL); /* fails in some user namespaces */
	if (stat(path, &other) || setresgid(other.st_gid, other.st_gid, other.st_gid) ||
	    setresuid(other.st_uid, other.st_uid, other.st_uid))
		return -errno;
	return 0;
}

static int copy_bytes(int from, int to, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t n = sendfile(to, from, NULL, bytes);

		if (n <= 0)
			return n ? -errno : -EIO;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static int copy_as_user(pid_t pid, int path_fd, int to, uint64_t max_bytes, struct stat *st)
{
	int err = become_user_of(pid), fd;

	if (!err && fstat(path_fd, st))
		err = -errno;
	if (!err && !S_ISREG(st->st_mode))
		err = -EACCES;
	if (!err && (uint64_t)st->st_size > max_bytes)
		err = -EFBIG;
	if (err)
		return err;
	fd = root_reopen(path_fd);
	return fd < 0 ? fd : copy_bytes(fd, to, (uint64_t)st->st_size);
}

/* Copies in a grandchild, which nobody reaps: it may hang in a file system that never answers. */
static void run_copier(pid_t pid, int path_fd, int to, uint64_t max_bytes, int report_fd)
{
	struct copied copied = {};

	if (fork())
		_exit(0);
	alarm(COPY_SECONDS);
	copied.err = copy_as_user(pid, path_fd, to, max_bytes, &copied.st);
	_exit(write(report_fd, &copied, sizeof(copied)) != sizeof(copied));
}

static int wait_for_copy(int report_fd, struct stat *st)
{
	struct pollfd poll_fd = { .fd = report_fd, .events = POLLIN };
	struct copied copied;

	if (poll(&poll_fd, 1, COPY_SECONDS * 1000) <= 0)
		return -ETIMEDOUT;
	if (read(report_fd, &copied, sizeof(copied)) != sizeof(copied))
		return -EIO;
	*st = copied.st;
	return copied.err;
}

static int copy_file(pid_t pid, int path_fd, int to, uint64_t max_bytes, struct stat *st)
{
	int pipe_fds[2], err;
	pid_t child;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		run_copier(pid, path_fd, to, max_bytes, pipe_fds[1]);
	close(pipe_fds[1]);
	err = child < 0 ? -errno : 0;
	if (!err) {
		waitpid(child, NULL, 0);
		err = wait_for_copy(pipe_fds[0], st);
	}
	close(pipe_fds[0]);
	return err;
}

int mapfile_copy(pid_t pid, const struct mapping *m, uint64_t max_bytes, struct stat *st,
		 int *pin_fd)
{
	char path[80];
	int err, fd;

	write_map_path(path, sizeof(path), pid, m);
	*pin_fd = open(path, O_PATH | O_CLOEXEC);
	if (*pin_fd < 0)
		return -EACCES;
	fd = memfd_create("tracelets", MFD_CLOEXEC);
	err = fd < 0 ? -errno : copy_file(pid, *pin_fd, fd, max_bytes, st);
	if (!err && !is_same_file(st, m))
		err = -ESTALE;
	if (!err)
		return fd;
	close(*pin_fd);
	*pin_fd = -1;
	if (fd >= 0)
		close(fd);
	return err;
}

static int read_memory(pid_t pid, uint64_t addr, void *buf, size_t size)
{
	struct iovec local = { buf, size }, remote = { (void *)(uintptr_t)addr, size };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EIO : 0;
}

/* Reads our own vdso only for 64-bit programs; 32-bit programs have nothing above 4 GiB. */
int mapfile_read_vdso(pid_t pid, const struct mapping *m, void *buf)
{
	size_t bytes = m->end - m->start;
	int err = read_memory(pid, m->start, buf, bytes);
	pid_t live = err ? process_live_task(pid) : pid;

	if (live != pid)
		err = read_memory(live, m->start, buf, bytes);
	if (!err || m->start <= UINT32_MAX)
		return err;
	return read_memory(getpid(), getauxval(AT_SYSINFO_EHDR), buf, bytes);
}
