/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space symbols, correct or omitted.
 *
 * An address is first *located*, while the process is alive: its mapping is found and the mapped
 * file opened (see process/mapfile.h). A location is small and stays valid when the process exits
 * or executes another program. Names are found later, file by file, and only in files that need it.
 *
 * Files are shared by all processes that map them (by device and inode).
 */
#ifndef USYMS_H
#define USYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/processes.h"
#include "symbols/dso.h"

struct usyms;

struct location {
	struct dso *dso; /* NULL: no mapping contained the address */
	uint64_t offset; /* file offset; the address itself if there is no file */
	uint32_t made;	 /* line number in the perf map of generated code; 0: unknown */
};

/* Creates a symbolizer. processes: borrowed, must outlive it. options NULL: all off. */
struct usyms *usyms_new(struct processes *processes, const struct dso_options *options);
void usyms_free(struct usyms *us);

/*
 * Locates n addresses of a process at time_ns (CLOCK_MONOTONIC; 0: now). generation: see
 * processes_look(). If an address lies in no mapping (dlopen), the mappings are read again, once. A
 * process that is unknown yields locations without dso.
 */
void usyms_locate(struct usyms *us, pid_t pid, uint32_t generation, uint64_t time_ns,
		  const uint64_t *addrs, size_t n, struct location *out);

/*
 * Finds the generated code at the address, by the perf map of the moment when it had map_size bytes
 * (0: unknown). If the address is no longer needed, sets it to 0, so that equal functions have
 * equal locations.
 */
void usyms_settle(struct location *loc, bool is_return, uint64_t map_size);

/*
 * Reads the mappings of a process and opens all files that it executes, so that its addresses can
 * be located after its exit.
 */
void usyms_preload(struct usyms *us, pid_t pid, uint32_t generation);

/*
 * Returns the function's name for a location, or NULL if it is unknown. is_return: the address is a
 * return address, which is looked up one byte lower, inside the call. Valid until usyms_age().
 */
const char *usyms_name(const struct location *loc, bool is_return);

/* Returns the location's source line and inlined functions, as srclines_find() does. */
size_t usyms_lines(const struct location *loc, bool is_return, const struct srcframe **frames);

/* Returns the location's image, address and symbol, as dso_place() does; NULL: no image. */
const struct image *usyms_place(const struct location *loc, bool is_return, uint64_t *address,
				const char **symbol);

/* Returns the ELF virtual address (of a return address: one byte lower); 0: unknown. */
uint64_t usyms_address(const struct location *loc, bool is_return);

/* Returns true if the location is in JIT code with names (jitmap.h). */
bool usyms_is_jit(const struct location *loc);

/* Returns true if the location is in generated code, in memory without a file. */
bool usyms_is_made(const struct location *loc);

/*
 * Returns the base name of the location's file for "[libfoo.so+0x1234]"; "[vdso]", "[anon]", or
 * NULL.
 */
const char *usyms_dso_name(const struct location *loc);

/* Returns the negative errno of opening the location's file; 0: no error, or no file. */
int usyms_error(const struct location *loc);

/*
 * Releases symbols, and files that no process maps, in a new epoch (epoch.h), or if there are too
 * many. Called every few seconds. Locations whose dso is held remain valid. Before files are
 * closed, find_names() is called to look up and cache the names of locations for which
 * dso_is_leaving() is true.
 */
void usyms_age(struct usyms *us, uint32_t epoch, void (*find_names)(void *arg), void *arg);

/* Evicts symbol tables that exceed the memory limit. Called after a report. */
void usyms_end_report(struct usyms *us);

struct dso_stats usyms_stats(const struct usyms *us);

#endif
