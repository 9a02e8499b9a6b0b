/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of traced processes: the programs that each has run, from exec to exec, with their
 * executable mappings over time. The kernel's process events feed it (watch.h), so it has answers
 * even if /proc/PID/maps is gone, or already shows the next program. A child begins with its
 * parent's mappings, an executed program with none. No event reports unmapping, so the table may
 * have stale mappings; for live processes, /proc/PID/maps is exact and is preferred.
 *
 * A process whose start was missed is unknown until it is read from /proc. All times are by
 * CLOCK_MONOTONIC.
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hashtable.h"
#include "process/maps.h"

/*
 * An era of a process lasts from one exec to the next. Its mappings are in the order in which they
 * were made. A child shares its parent's list: a list only grows, and an era uses the list's first
 * `count` mappings. If another era has already appended to the list, an era copies its mappings
 * before it appends.
 */

struct map_list;

struct era {
	struct era *older;
	uint64_t begin_ns, serial;
	struct map_list *list;
	size_t count;	   /* number of the era's mappings */
	bool was_read;	   /* read from /proc at begin_ns; began earlier */
	struct maps *maps; /* maps of the list's first n_in_maps mappings; NULL: none yet */
	size_t n_in_maps;
	/* mappings whose files were opened, see processes_preload_files() */
	size_t n_preloaded;
	bool maps_are_read; /* maps were read from /proc, not made from the list */
};

struct meanings;
struct processes;

struct process {
	struct hashlink link;
	pid_t pid;
	pid_t parent;	     /* 0: unknown */
	uint32_t generation; /* for tables without events; 0: unknown */
	struct era *latest;
	uint64_t exit_ns;	       /* time of the exit; 0: none yet */
	uint64_t read_ns;	       /* time of the last read from /proc; 0: never */
	struct process *older, *newer; /* links of the list of exited processes */
	uint32_t n_threads;	       /* valid if knows_threads: counted since its start or exec */
	bool knows_threads, leader_has_exited, has_lost_threads;
	bool was_dropped;	/* history was evicted because the table was full */
	struct maps *published; /* maps by which BPF unwinds its stacks; NULL: none yet */
	/* the unwinder's: time before its mappings were read; 0: inherited from the parent */
	uint64_t published_ns;
	uint32_t published_change; /* the unwinder's: count of changes at that time */
	/* the unwinder's: count of changes at the last unwind_procs_note_moves() */
	uint32_t moves_noted;
	uint32_t names;		   /* the unwinder's: see name_meanings() */
	struct meanings *meanings; /* the unwinder's: freed with free() */
	int perf_map_fd;	   /* the unwinder's: perf map; 0: none; closed with the process */
	bool has_change;	   /* the unwinder's: BPF may count its changes */
	bool is_listed;		   /* the unwinder's: listed as changed in this batch of events */
};

struct processes_options {
	/* limit for all processes together: those that exited first are evicted first */
	size_t max_mappings;
	bool only_known; /* ignore events of unknown processes */
};

struct processes *processes_new(const struct processes_options *options);
void processes_free(struct processes *table);

/* Sets refresh(), called before lookups, to enter all events up to time_ns into the table. */
void processes_on_ask(struct processes *table, void (*refresh)(uint64_t time_ns, void *arg),
		      void *arg);

/* ---- events ---- */

/* Stores mappings read from /proc/PID/maps; time_ns: time before the read. */
void processes_set(struct processes *table, pid_t pid, const struct mappings *maps,
		   uint64_t time_ns);

void processes_fork(struct processes *table, pid_t parent, pid_t child, uint64_t time_ns);
void processes_exec(struct processes *table, pid_t pid, uint64_t time_ns);
void processes_map(struct processes *table, pid_t pid, const struct mapping *m, uint64_t time_ns);
void processes_exit(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * Note that a thread began or ended. A process ends with its last thread, which need not be the
 * main one: processes_exit_thread() then returns true. Without a thread count, /proc is read once
 * the main thread has ended. /proc may lag the event: processes_check_end() reads it again.
 */
void processes_thread(struct processes *table, pid_t pid);
bool processes_exit_thread(struct processes *table, pid_t pid, pid_t tid, uint64_t time_ns);
bool processes_check_end(struct processes *table, pid_t pid, uint64_t time_ns);

/* Returns true if the main thread has exited and the number of remaining threads is unknown. */
bool processes_is_leaderless(const struct processes *table, pid_t pid);

/* Drops exited processes, and the history of live ones, after events were lost. */
void processes_clear(struct processes *table);

/*
 * Calls visit for each process not known to have exited, in no order. visit must not change the
 * table.
 */
void processes_visit_living(struct processes *table, void (*visit)(pid_t pid, void *arg),
			    void *arg);

/* ---- history: returned maps are released by the caller with maps_release() ---- */

/* Returns the mappings of a process at time_ns, from events alone. NULL: unknown. */
struct maps *processes_recall(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * Returns the mappings of a process at time_ns: from events if the process has just begun, was just
 * read, has executed another program since or is gone; otherwise read from /proc now. NULL:
 * unknown.
 */
struct maps *processes_read(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * Like processes_read(), but reads /proc, since no event reports unmapping; uses events only if the
 * process has executed another program since, or is gone.
 */
struct maps *processes_read_again(struct processes *table, pid_t pid, uint64_t time_ns);

/* Returns the time of the maps last returned for a process; 0: none. */
uint64_t processes_maps_time(const struct processes *table, pid_t pid);

/*
 * Like processes_read(), but reuses the last read if no event has reported a mapping since.
 * generation: changes with each exec, for tables without events.
 */
struct maps *processes_look(struct processes *table, pid_t pid, uint32_t generation,
			    uint64_t time_ns);

/*
 * Returns an id of the process's mappings at time_ns: equal ids mean equal mappings. 0: unknown. An
 * exited process keeps its last id.
 */
uint64_t processes_state(struct processes *table, pid_t pid, uint64_t time_ns);

bool processes_has_exited(const struct processes *table, pid_t pid);

/* ---- published mappings, by which BPF unwinds stacks ---- */

/* Returns the process; NULL: unknown. */
struct process *processes_find(const struct processes *table, pid_t pid);

/* Replaces the published maps of a process, and takes a reference to the new ones (NULL: none). */
void processes_publish(struct processes *table, pid_t pid, struct maps *maps);

/*
 * Opens the files of a process's mappings made since the last call, while it lives, and calls
 * visit(file, arg) for each.
 */
void processes_preload_files(struct processes *table, pid_t pid,
			     void (*visit)(struct file *file, void *arg), void *arg);

/* Drops processes that exited some time ago, and calls files_age(). */
void processes_age(struct processes *table, uint32_t epoch);
bool processes_have_many_files(const struct processes *table);

/* ---- for -v and the report ---- */

struct processes_stats {
	size_t n_processes, n_published, n_files;
	uint64_t n_dropped; /* processes evicted from a full table that might still be needed */
};

struct processes_stats processes_stats(const struct processes *table);

#endif
