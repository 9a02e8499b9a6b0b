/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens the file that a process has mapped: exactly that file, or none. The traced side chooses
 * paths, so only regular files are opened for reading, and only a file of proven identity is read.
 */
#ifndef MAPFILE_H
#define MAPFILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "process/procmaps.h"

/*
 * Opens the mapped regular file. Returns an O_PATH descriptor (see root_reopen()), with the file's
 * status in *st; or -errno. Tries /proc/PID/map_files, which also finds deleted files and memfds,
 * then the path in the process's mount namespace, then the path in our own namespace or the
 * relative's, which works even if the process is gone. A path must lead to the mapping's device and
 * inode, and, since inode numbers are reused, to a file unchanged since m->mapped_at or, if
 * unknown, since read_time (CLOCK_REALTIME_COARSE, when the mappings were read).
 */
int mapfile_open(pid_t pid, const struct mapping *m, const struct timespec *read_time,
		 struct stat *st);

/*
 * Copies a mapped file, which root may not read, to a memfd: a FUSE file system can be accessible
 * to its user or user namespace only. A child process reads the file as the process's user, for at
 * most three seconds, and up to max_bytes. Returns a descriptor of the copy, with the file's status
 * in *st and an O_PATH descriptor of the file itself in *pin_fd; or -errno.
 */
int mapfile_copy(pid_t pid, const struct mapping *m, uint64_t max_bytes, struct stat *st,
		 int *pin_fd);

/*
 * Reads a process's vdso into buf, which has space for the whole mapping. If a 64-bit process is
 * gone, reads our own vdso, which is the same. 0 or -errno.
 */
int mapfile_read_vdso(pid_t pid, const struct mapping *m, void *buf);

#endif
