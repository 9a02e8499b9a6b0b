/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file in which a process tells the names of code that it makes.
 *
 * A jitdump is known by its mapping: whoever writes jit-PID.dump maps it executable, as a mark for
 * profilers (tools/perf/Documentation/jitdump-specification.txt says what is in it). A perf map is
 * searched in the root folder of its process. Both have the pid that the process itself sees, and
 * are accepted only if they are regular files owned by the process's user or root; a jitdump also
 * has to say that it is of that process, which a child's is not.
 */
#ifndef JITFILE_H
#define JITFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "process/maps.h"
#include "symbols/jitmap.h"

/*
 * root_fd: the process's root folder. *st receives the file's status. A jitdump that is refused
 * counts as none. NULL: there is none, or the perf map is refused, which is said once.
 */
struct jitmap *jitfile_open(int root_fd, pid_t pid, struct maps *maps, bool with_lines,
			    struct stat *st);

#endif
