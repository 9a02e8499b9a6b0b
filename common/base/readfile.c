// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file that grows or has no size. Files in /proc are generated while they are read, so few
 * and large reads give the most consistent result.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/readfile.h"

#define FIRST_BYTES (64u << 10)

static ssize_t read_some(int fd, char *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static char *discard(char *buf, int err)
{
	free(buf);
	errno = err;
	return NULL;
}

char *readfile_fd(int fd, size_t max_bytes, size_t *size)
{
	size_t cap = FIRST_BYTES, len = 0;
	char *buf = mem_realloc(NULL, cap, 1);
	ssize_t n;

	while ((n = read_some(fd, buf + len, cap - len - 1)) > 0) {
		len += n;
		if (len > max_bytes)
			return discard(buf, EFBIG);
		if (cap - len < cap / 4)
			buf = mem_realloc(buf, cap *= 2, 1);
	}
	if (n < 0)
		return discard(buf, errno);
	buf[len] = '\0';
	if (size)
		*size = len;
	return buf;
}

char *readfile(const char *path, size_t max_bytes, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *buf;

	if (fd < 0)
		return NULL;
	buf = readfile_fd(fd, max_bytes, size);
	err = errno;
	close(fd);
	errno = err;
	return buf;
}
