/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The root directories of traced processes, held open so that files can be looked up in them when
 * the processes are gone. Lookups never leave them: a container's symbolic link to /etc leads to
 * the container's /etc.
 */
#ifndef ROOTS_H
#define ROOTS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct roots;

struct roots *roots_new(void);
void roots_free(struct roots *roots);

/*
 * Returns a descriptor of a process's root directory, open until roots_release() or roots_free().
 * -ENOENT: the process is gone; -EMFILE: no descriptors are left, or 1,024 directories are open; or
 * another -errno.
 */
int roots_of(struct roots *roots, pid_t pid);

/* Marks a directory as used. roots_release() closes those not marked since its last call. */
void roots_keep(struct roots *roots, int fd);
void roots_release(struct roots *roots);

/* Returns our own root directory, open until roots_free(); -1: unreadable. */
int roots_own(struct roots *roots);

/* Converts a path of /proc/PID/maps to one below the process's root; freed with free(). */
char *root_path(pid_t pid, const char *path, size_t length);

/*
 * Opens a regular file below a root directory for reading; other files are opened with O_PATH only.
 * Follows symbolic links as the root's processes would. Returns a descriptor or -errno.
 */
int root_open_file(int root_fd, const char *path);

/* Returns true if the path exists, even as a link whose target is missing in that root. */
bool root_has_name(int root_fd, const char *path);

/*
 * Checks that an O_PATH descriptor is of a regular file, and reads its status. Returns path_fd, or
 * -errno with path_fd closed. O_PATH: opening a device or a pipe could have effects or block.
 */
int root_check_regular(int path_fd, struct stat *st);

/* Opens the same file again. Returns a readable, non-blocking descriptor or -errno. */
int root_reopen(int path_fd);

/* Does both, root_check_regular() and root_reopen(); closes path_fd. */
int root_open_regular(int path_fd);

#endif
