// SPDX-License-Identifier: GPL-2.0-only
/*
 * Root directories, one per mount and directory; see roots.h. An open directory pins its mount's id
 * (statx(2), since Linux 5.8); the number of a mount namespace is reused once it is gone.
 * openat2(2) exists since Linux 5.6; if it is forbidden, nothing is found.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/unreadable.h"
#include "process/procstate.h"
#include "process/roots.h"

#define ROOTS_MAX 1024

struct root {
	uint64_t mount;
	dev_t dev;
	ino_t ino;
	int fd;
	bool is_kept;
};

struct roots {
	struct root *items;
	size_t count, cap;
	int own_fd;
};

struct roots *roots_new(void)
{
	struct roots *roots = mem_zalloc(1, sizeof(*roots));

	roots->own_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (roots->own_fd < 0)
		unreadable_report(-errno);
	return roots;
}

void roots_free(struct roots *roots)
{
	if (!roots)
		return;
	for (size_t i = 0; i < roots->count; i++)
		close(roots->items[i].fd);
	if (roots->own_fd >= 0)
		close(roots->own_fd);
	free(roots->items);
	free(roots);
}

int roots_own(struct roots *roots)
{
	return roots->own_fd;
}

static int open_root_of(pid_t pid, struct root *root)
{
	struct statx st;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0 || statx(root->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st))
		return -errno;
	root->mount = st.stx_mnt_id;
	root->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	root->ino = st.stx_ino;
	return 0;
}

static int open_root(pid_t pid, struct root *root)
{
	int err = open_root_of(pid, root);
	pid_t live = err == -ENOENT ? process_live_task(pid) : pid;

	return live == pid ? err : open_root_of(live, root);
}

static bool is_same_root(const struct root *a, const struct root *b)
{
	return a->mount == b->mount && a->dev == b->dev && a->ino == b->ino;
}

int roots_of(struct roots *roots, pid_t pid)
{
	struct root root = { .fd = -1 };
	int err = open_root(pid, &root);

	for (size_t i = 0; !err && i < roots->count; i++)
		if (is_same_root(&roots->items[i], &root)) {
			close(root.fd);
			return roots->items[i].fd;
		}
	if (!err && roots->count < ROOTS_MAX) {
		*MEM_APPEND(roots->items, roots->count, roots->cap) = root;
		return root.fd;
	}
	err = err ? err : -EMFILE;
	unreadable_report(err);
	if (root.fd >= 0)
		close(root.fd);
	return err;
}

void roots_keep(struct roots *roots, int fd)
{
	for (size_t i = 0; i < roots->count; i++)
		roots->items[i].is_kept |= roots->items[i].fd == fd;
}

void roots_release(struct roots *roots)
{
	size_t n = 0;

	for (size_t i = 0; i < roots->count; i++) {
		struct root root = roots->items[i];

		if (!root.is_kept) {
			close(root.fd);
			continue;
		}
		root.is_kept = false;
		roots->items[n++] = root;
	}
	roots->count = n;
}

/* Strips the root: paths are from the mount namespace's root, which chroot(2) doesn't change. */
char *root_path(pid_t pid, const char *path, size_t length)
{
	char link[40], root[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	n = readlink(link, root, sizeof(root));
	if (n < 0) {
		snprintf(link, sizeof(link), "/proc/%d/root", process_live_task(pid));
		n = readlink(link, root, sizeof(root));
	}
	if (n > 1 && (size_t)n < length && !strncmp(path, root, (size_t)n) && path[n] == '/')
		return mem_strndup(path + n, length - (size_t)n);
	return mem_strndup(path, length);
}

int root_check_regular(int path_fd, struct stat *st)
{
	int err = 0;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = -EACCES;
	if (!err)
		return path_fd;
	close(path_fd);
	return err;
}

/* O_NONBLOCK: fails instead of waiting up to 45 s for the file's owner to give up a lease. */
int root_reopen(int path_fd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int root_open_regular(int path_fd)
{
	struct stat st;
	int checked = root_check_regular(path_fd, &st), fd;

	if (checked < 0)
		return checked;
	fd = root_reopen(path_fd);
	close(path_fd);
	return fd;
}

static int open_path(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

bool root_has_name(int root_fd, const char *path)
{
	int fd = root_fd < 0 ? -1 : open_path(root_fd, path, O_NOFOLLOW);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int root_open_file(int root_fd, const char *path)
{
	return root_fd < 0 ? -ENOENT : root_open_regular(open_path(root_fd, path, 0));
}
