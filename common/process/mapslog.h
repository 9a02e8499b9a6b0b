/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes have mapped for execution, and when: put down from the kernel's process events
 * (sideband.h), so that it is still known when /proc/PID/maps is gone, or tells of the next program
 * already. A child begins with its parent's mappings, a program that is executed with none. What is
 * unmapped is not told, so the log may know more than there is; of processes that live on,
 * /proc/PID/maps says it exactly and is preferred.
 *
 * Nothing is known of a process whose beginning was missed, until mapslog_set() tells it. All times
 * are by CLOCK_MONOTONIC.
 */
#ifndef MAPSLOG_H
#define MAPSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "process/procmaps.h"

struct mapslog;

/*
 * For so many mappings of all processes at most: those who have ended longest ago are forgotten
 * first. only_known: events of processes that are unknown don't make them known.
 */
struct mapslog *mapslog_new(size_t max_mappings, bool only_known);
void mapslog_free(struct mapslog *log);

/* Asked before the log is, where it might not know all that happened up to that moment. */
void mapslog_on_ask(struct mapslog *log, void (*refresh)(uint64_t time_ns, void *arg), void *arg);

/* ---- what happens ---- */

/* As read from /proc/PID/maps; time_ns is from before that. */
void mapslog_set(struct mapslog *log, pid_t pid, const struct mappings *maps, uint64_t time_ns);

void mapslog_fork(struct mapslog *log, pid_t parent, pid_t child, uint64_t time_ns);
void mapslog_exec(struct mapslog *log, pid_t pid, uint64_t time_ns);
void mapslog_map(struct mapslog *log, pid_t pid, const struct mapping *m, uint64_t time_ns);
void mapslog_exit(struct mapslog *log, pid_t pid, uint64_t time_ns);

/* Events were lost: nothing is known any more. */
void mapslog_clear(struct mapslog *log);

/* ---- what was ---- */

/* What a process had mapped at that time. False: not known. Free with mappings_free(). */
bool mapslog_find(struct mapslog *log, pid_t pid, uint64_t time_ns, struct mappings *maps);

/*
 * Names that state: two that are equal stand for equal mappings. 0: not known. One that is told
 * to have exited has the state that it had.
 */
uint64_t mapslog_state(struct mapslog *log, pid_t pid, uint64_t time_ns);

bool mapslog_has_exited(const struct mapslog *log, pid_t pid);

/*
 * The mappings of a process at that time, from the log where it knows better than /proc/PID/maps:
 * of processes that are just begun, that have executed something else since, or that are gone; else
 * as they are now. read_time: for mapfile_open(). 0 or -errno. log may be NULL.
 */
int mapslog_read(struct mapslog *log, pid_t pid, uint64_t time_ns, struct mappings *maps,
		 struct timespec *read_time);

/* How many processes were forgotten for lack of room while they might still be asked for. */
uint64_t mapslog_n_dropped(const struct mapslog *log);

#endif
