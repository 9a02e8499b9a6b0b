/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads whole files as text, also those in /proc, whose size is unknown in advance. */
#ifndef READFILE_H
#define READFILE_H

#include <stddef.h>

/*
 * Returns the file's contents, terminated by a zero byte that *size (if wanted) does not count;
 * freed with free(). NULL with errno set; EFBIG if it has more than max_bytes.
 */
char *readfile(const char *path, size_t max_bytes, size_t *size);

/* The same for an open file, from its current position; the file stays open. */
char *readfile_fd(int fd, size_t max_bytes, size_t *size);

#endif
