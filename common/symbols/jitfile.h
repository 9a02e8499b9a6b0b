/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file in which a process publishes the names of code that it makes: a perf map in the root
 * folder of its process, with the pid that the process itself sees. It is accepted only if it is a
 * regular file owned by the process's user or root.
 */
#ifndef JITFILE_H
#define JITFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "symbols/jitmap.h"

/*
 * root_fd: the process's root folder. *st receives the file's status. NULL: there is none, or it is
 * refused, which is reported once.
 */
struct jitmap *jitfile_open(int root_fd, pid_t pid, struct stat *st);

#endif
