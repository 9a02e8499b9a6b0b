/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens what a process has mapped: exactly that file, or nothing. The traced side chooses paths,
 * so nothing but a regular file is ever opened for reading, and nothing is read unless its
 * identity is proven.
 */
#ifndef MAPFILE_H
#define MAPFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "process/procmaps.h"

/*
 * Returns an O_PATH descriptor (see root_reopen()) of the mapped regular file, with its status in
 * *st; or -errno. It is found through /proc/PID/map_files, so that deleted files and memfds are,
 * too, else by path in the process's mount namespace, else by path in our own or in its relative's,
 * which also works once the process is gone. A path must lead to the mapping's device and inode, to
 * a file not changed since read_time (CLOCK_REALTIME_COARSE, when the mappings were read), or since
 * m->mapped_at where that is known: inode numbers are used again.
 */
int mapfile_open(pid_t pid, const struct mapping *m, const struct timespec *read_time,
		 struct stat *st);

/*
 * Copies into memory a mapped file that root may not read: a FUSE file system can be accessible to
 * its user or user namespace only. A child process reads it as the process's user, for a second at
 * most, and only if it has at most max_bytes. Returns a descriptor of the copy, with the file's
 * status in *st and in *pin_fd an O_PATH descriptor of the file itself; or -errno.
 */
int mapfile_copy(pid_t pid, const struct mapping *m, uint64_t max_bytes, struct stat *st,
		 int *pin_fd);

/*
 * Reads the vdso that a process has mapped; if a 64-bit process is gone, our own, which is the
 * same. buf holds the whole mapping. 0 or -errno.
 */
int mapfile_read_vdso(pid_t pid, const struct mapping *m, void *buf);

#endif
