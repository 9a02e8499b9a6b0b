/* SPDX-License-Identifier: GPL-2.0-only */
/* This very program, as bytes. */
#ifndef UNIT_SELF_H
#define UNIT_SELF_H

#include "unit.h"

/* As a block of exactly its size, until the test's end. */
static inline uint8_t *read_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st = {};
	uint8_t *bytes;

	fstat(fd, &st);
	*size = (size_t)st.st_size;
	bytes = until_end(mem_zalloc(*size, 1));
	if (read(fd, bytes, *size) != st.st_size)
		UNIT_FAIL("cannot read this program");
	close(fd);
	return bytes;
}

static inline void copy_self(int to)
{
	size_t size;
	uint8_t *bytes = read_self(&size);

	if (write(to, bytes, size) != (ssize_t)size)
		UNIT_FAIL("cannot write a copy");
}

#endif
