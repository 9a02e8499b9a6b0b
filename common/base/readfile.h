/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads whole files as text, including /proc files, whose size is unknown in advance. */
#ifndef READFILE_H
#define READFILE_H

#include <stddef.h>

/*
 * Returns the file's contents, freed with free(). A zero byte follows them, which *size (size may
 * be NULL) does not count. NULL with errno set; EFBIG if the file has more than max_bytes.
 */
char *readfile(const char *path, size_t max_bytes, size_t *size);

/* Like readfile(), for an open file from its current position; the file stays open. */
char *readfile_fd(int fd, size_t max_bytes, size_t *size);

#endif
