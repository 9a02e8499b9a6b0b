/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of symbols, and their memory. */
#ifndef DSO_OPTIONS_H
#define DSO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct background;

struct dso_options {
	bool as_mangled; /* C++ and Rust names stay as they are in the files */
	bool lines;	 /* for dso_lines() */
	bool places;	 /* for dso_place() and its callers */

	/*
	 * limit of all tables of symbols but the one in use; 0: none. DWARF counts with the size of
	 * its sections, about what it takes.
	 */
	uint64_t max_bytes;
	bool drops_all; /* none stays after a report: the next one is far */

	struct background *background; /* for dso_expect(); NULL: it does nothing */

	/* Called for a process in which code of a perf map is located; NULL: nobody is. */
	void (*found_map)(pid_t pid, int map_fd, void *arg);
	void *arg;
};

/* Tables of symbols: what they take now, and how often one was dropped. */
struct dso_stats {
	uint64_t bytes, n_dropped;
};

#endif
