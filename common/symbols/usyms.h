/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space symbols, right or absent.
 *
 * An address is first *located*, while the process is alive: its mapping is found and the mapped
 * file opened (process/mapfile.h says how). A location is two words and stays valid when the
 * process exits or executes another program. Names are found later, file by file, and only in
 * requested files.
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
#include "symbols/dso.h" /* valid as long as the usyms */

struct usyms;

struct location {
	struct dso *dso; /* NULL: no mapping held the address */
	uint64_t offset; /* file offset; the address itself if there is no file */
	uint32_t made;	 /* the number of the code, made at run time, in its perf map; 0: unknown */
};

/* The processes stay the caller's, and outlive this. options NULL: all of them off. */
struct usyms *usyms_new(struct processes *processes, const struct dso_options *options);
void usyms_free(struct usyms *us);

/*
 * Locates n addresses that a process had at that time (CLOCK_MONOTONIC; 0: now). generation is for
 * processes_look(). The mappings are read again, once, where an address lies in none of them
 * (dlopen). A process that is unknown yields locations without dso.
 */
void usyms_locate(struct usyms *us, pid_t pid, uint32_t generation, uint64_t time_ns,
		  const uint64_t *addrs, size_t n, struct location *out);

/*
 * Finds the code made at run time that is at the address, by the perf map of the moment when it had
 * that size; 0: unknown. A location that needs no address loses it, so that equal functions have
 * equal locations.
 */
void usyms_settle(struct location *loc, bool is_return, uint64_t map_size);

/*
 * Reads the mappings of a process and opens all that it executes, so that addresses of it can be
 * located when it has ended.
 */
void usyms_preload(struct usyms *us, pid_t pid, uint32_t generation);

/*
 * Returns the function's name for a location, or NULL if it is unknown. is_return says that the
 * address is a return address: it is looked up one byte lower, inside the call. Valid until
 * usyms_age().
 */
const char *usyms_name(const struct location *loc, bool is_return);

/*
 * Returns the source line of a location, and the functions inlined there, as srclines_find() has
 * them.
 */
size_t usyms_lines(const struct location *loc, bool is_return, const struct srcframe **frames);

/* Returns its image, address and symbol, as dso_place() does; NULL: no image. */
const struct image *usyms_place(const struct location *loc, bool is_return, uint64_t *address,
				const char **symbol);

/* Returns its ELF virtual address, for a return address one inside the call; 0: unknown. */
uint64_t usyms_address(const struct location *loc, bool is_return);

/* Returns true if the location is in JIT code with names (jitmap.h). */
bool usyms_is_jit(const struct location *loc);

/* Returns true if the location is in code made at run time, in memory without a file. */
bool usyms_is_made(const struct location *loc);

/*
 * Returns the base name of the location's file for "[libfoo.so+0x1234]"; "[vdso]", "[anon]", or
 * NULL.
 */
const char *usyms_dso_name(const struct location *loc);

/* Negative errno: the location's file could not be opened. */
int usyms_error(const struct location *loc);

/*
 * Called every few seconds. Releases symbols, and files that no process maps, in a new epoch
 * (epoch.h), or if they have become many. Locations whose dso is held remain valid. find_names() is
 * called before files are closed, to look up and cache the names of locations for which
 * dso_is_leaving() is true.
 */
void usyms_age(struct usyms *us, uint32_t epoch, void (*find_names)(void *arg), void *arg);

/* Called after a report: releases tables that exceed the memory limit. */
void usyms_end_report(struct usyms *us);

struct dso_stats usyms_stats(const struct usyms *us);

#endif
