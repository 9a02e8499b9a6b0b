/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of what is refused: messages that come with it are expected; not shown, or kept. */
#ifndef SILENT_H
#define SILENT_H

#include "unit.h"

/* From now on the stream goes into a file in memory. Returns what end_diversion() needs. */
static inline int divert(FILE *stream, int *fd)
{
	int saved_fd = dup(fileno(stream));

	*fd = memfd_create("said", MFD_CLOEXEC);
	fflush(stream);
	dup2(*fd, fileno(stream));
	return saved_fd;
}

/* Returns what went there so far. */
static inline char *read_diverted(FILE *stream, int fd)
{
	size_t size;
	char *text;

	fflush(stream);
	size = (size_t)lseek(fd, 0, SEEK_END);
	text = until_end(mem_zalloc(size + 1, 1));
	CHECK_EQ(pread(fd, text, size, 0), size);
	return text;
}

static inline char *end_diversion(FILE *stream, int fd, int saved_fd)
{
	char *text = read_diverted(stream, fd);

	dup2(saved_fd, fileno(stream));
	close(saved_fd);
	close(fd);
	return text;
}

/* Returns the text that statements print to a stream. */
#define DIVERTED(stream, ...)                                      \
	({                                                         \
		int said_fd, saved_fd_ = divert(stream, &said_fd); \
		__VA_ARGS__;                                       \
		end_diversion(stream, said_fd, saved_fd_);         \
	})

#define SAID(...) DIVERTED(stderr, __VA_ARGS__)

#endif
