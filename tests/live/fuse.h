/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file system in user space with one file, for what only its user may read (fuse(4), and the
 * kernel's linux/fuse.h).
 */
#ifndef LIVE_FUSE_H
#define LIVE_FUSE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "live.h"

#define FUSE_FILE_NODE 2
#define FUSE_BUFFER    (256 << 10)

struct fuse_file {
	const char *folder; /* where it is mounted */
	const char *name;   /* of the file in it ... */
	const char *path;   /* ... which has the contents of this one */
	bool by_namespace;  /* it is for all in a user namespace, or else for FUSE_USER */
	size_t bad_bytes;   /* so many at its beginning can't be read */
};

#define FUSE_USER 65534

static inline void fuse_reply(int fd, const struct fuse_in_header *in, int err, void *data,
			      size_t bytes)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + bytes),
				       .error = err,
				       .unique = in->unique };
	struct iovec parts[] = { { &out, sizeof(out) }, { data, bytes } };

	if (writev(fd, parts, 2) < 0 && errno == ENODEV)
		_exit(0);
}

static inline struct fuse_attr fuse_attr_of(uint64_t node, const struct stat *st)
{
	bool is_file = node == FUSE_FILE_NODE;

	return (struct fuse_attr){ .ino = node,
				   .size = is_file ? (uint64_t)st->st_size : 0,
				   .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static inline void fuse_look_up(int fd, const struct fuse_in_header *in, const char *name,
				const struct fuse_file *file, const struct stat *st)
{
	struct fuse_entry_out entry = { .nodeid = FUSE_FILE_NODE,
					.entry_valid = 60,
					.attr_valid = 60,
					.attr = fuse_attr_of(FUSE_FILE_NODE, st) };

	if (strcmp(name, file->name))
		fuse_reply(fd, in, -ENOENT, NULL, 0);
	else
		fuse_reply(fd, in, 0, &entry, sizeof(entry));
}

static inline void fuse_read(int fd, const struct fuse_in_header *in,
			     const struct fuse_read_in *what, const struct fuse_file *file,
			     int file_fd)
{
	static char data[FUSE_BUFFER];
	size_t size = what->size < sizeof(data) ? what->size : sizeof(data);
	ssize_t n = pread(file_fd, data, size, (off_t)what->offset);

	if (what->offset < file->bad_bytes)
		fuse_reply(fd, in, -EIO, NULL, 0);
	else
		fuse_reply(fd, in, n < 0 ? -errno : 0, data, n < 0 ? 0 : (size_t)n);
}

static inline void fuse_answer(int fd, const struct fuse_in_header *in,
			       const struct fuse_file *file, int file_fd, const struct stat *st)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = fuse_attr_of(in->nodeid, st) };
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_reply(fd, in, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		fuse_look_up(fd, in, (const char *)(in + 1), file, st);
		return;
	case FUSE_GETATTR:
		fuse_reply(fd, in, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		fuse_reply(fd, in, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		fuse_read(fd, in, (const void *)(in + 1), file, file_fd);
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		fuse_reply(fd, in, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		fuse_reply(fd, in, -ENOSYS, NULL, 0);
	}
}

/* Until it is unmounted, or the parent ends. */
static inline void fuse_serve(int fd, const struct fuse_file *file)
{
	static char request[FUSE_BUFFER] __attribute__((aligned(8)));
	int file_fd = open(file->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (file_fd < 0 || fstat(file_fd, &st))
		_exit(1);
	for (;;) {
		ssize_t n = read(fd, request, sizeof(request));

		if (n < 0 && errno != EINTR && errno != ENOENT)
			_exit(errno != ENODEV);
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			fuse_answer(fd, (const void *)request, file, file_fd, &st);
	}
}

static inline bool fuse_enter_namespace(void)
{
	return !unshare(CLONE_NEWUSER) && file_write("/proc/self/uid_map", "0 0 1") &&
	       file_write("/proc/self/setgroups", "deny") &&
	       file_write("/proc/self/gid_map", "0 0 1");
}

/* A setup function: what is executed next may be that file. */
static inline bool fuse_mount(void *arg)
{
	const struct fuse_file *file = arg;
	char options[96];
	int fd;

	if ((file->by_namespace && !fuse_enter_namespace()) || !enter_mount_namespace())
		return false;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d%s", fd,
		 file->by_namespace ? 0 : FUSE_USER, file->by_namespace ? 0 : FUSE_USER,
		 file->by_namespace ? ",allow_other" : "");
	if (fd < 0 || mount("fuse", file->folder, "fuse", MS_NOSUID | MS_NODEV, options))
		return false;
	if (!fork())
		fuse_serve(fd, file);
	return file->by_namespace || (!setresgid(FUSE_USER, FUSE_USER, FUSE_USER) &&
				      !setresuid(FUSE_USER, FUSE_USER, FUSE_USER));
}

#endif
