/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of what is refused: messages that come with it are expected; not shown, or kept. */
#ifndef SILENT_H
#define SILENT_H

#include "unit.h"

/* Returns what restore_stderr() needs. */
static inline int silence_stderr(void)
{
	int saved_fd = dup(STDERR_FILENO), null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null_fd, STDERR_FILENO);
	close(null_fd);
	return saved_fd;
}

static inline void restore_stderr(int saved_fd)
{
	dup2(saved_fd, STDERR_FILENO);
	close(saved_fd);
}

/* Returns where restore_stderr() leads back to; what is said goes into a file in memory. */
static inline int divert_stderr(int *fd)
{
	int saved_fd = dup(STDERR_FILENO);

	*fd = memfd_create("stderr", MFD_CLOEXEC);
	fflush(stderr);
	dup2(*fd, STDERR_FILENO);
	return saved_fd;
}

static inline char *end_diversion(int fd, int saved_fd)
{
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	char *text = mem_zalloc(size + 1, 1);

	fflush(stderr);
	restore_stderr(saved_fd);
	CHECK_EQ(pread(fd, text, size, 0), size);
	close(fd);
	return until_end(text);
}

/* Returns the text that statements print to standard error. */
#define SAID(...)                                                 \
	({                                                        \
		int said_fd, saved_fd_ = divert_stderr(&said_fd); \
		__VA_ARGS__;                                      \
		end_diversion(said_fd, saved_fd_);                \
	})

/* For good, but the messages are kept. Returns the file that they are in. */
static inline int keep_stderr(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	dup2(fd, STDERR_FILENO);
	return fd;
}

#define KEPT_MAX 1024

/* Reads the file's messages so far into text, and returns it. */
static inline const char *read_kept(int fd, char text[KEPT_MAX])
{
	ssize_t n = pread(fd, text, KEPT_MAX - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

#endif
