/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one table of traced processes: the programs that each has run, from exec to exec, with their
 * executable mappings over time. The kernel's process events feed it (watch.h), so it also answers
 * when /proc/PID/maps is gone, or already shows the next program. A child begins with its parent's
 * mappings, an executed program with none. Events do not report what is unmapped, so the table may
 * know too much; for processes that live on, /proc/PID/maps is exact and is preferred.
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
 * The eras of a process, from one exec to the next: latest first. An era has its mappings in the
 * order in which they were made. A child shares its parent's list. A list only grows, and an era
 * uses its first `count` mappings. If another era has already appended to the list, an era copies
 * its mappings before it appends.
 */

struct map_list;

struct era {
	struct era *older;
	uint64_t begin_ns, serial;
	struct map_list *list;
	size_t count;	   /* of the list's */
	bool was_read;	   /* from /proc: it began before that time */
	struct maps *maps; /* NULL, or made from the first n_in_maps of the list */
	size_t n_in_maps;
	/* number of mappings whose files were opened, see era_preload_files() */
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
	uint64_t exit_ns;	       /* 0: not yet */
	uint64_t read_ns;	       /* when it was last read from /proc; 0: never */
	struct process *older, *newer; /* among those that have ended */
	uint32_t n_threads;	       /* if known: from its beginning or an exec on */
	bool knows_threads, leader_has_exited, has_lost_threads;
	bool was_dropped;	/* history was evicted because the table was full */
	struct maps *published; /* mappings that BPF uses for its stacks; NULL: none yet */
	/* the unwinder's: time before its mappings were read; 0: slice inherited from the parent */
	uint64_t published_ns;
	uint32_t published_change; /* count of changes at that time */
	uint32_t moves_noted;	   /* the unwinder's: count of changes when it noted moves */
	uint32_t names;		   /* the unwinder's: see name_meanings() */
	struct meanings *meanings; /* the unwinder's: freed with free() */
	int perf_map_fd;	   /* the unwinder's: perf map; 0, or closed with the process */
	bool has_change;	   /* the unwinder's: BPF may count its changes */
	bool is_listed;		   /* the unwinder's: listed as changed in this batch of events */
};

struct processes_options {
	/* limit over all processes: those that exited first are evicted first */
	size_t max_mappings;
	bool only_known; /* events of unknown processes don't add them */
};

struct processes *processes_new(const struct processes_options *options);
void processes_free(struct processes *table);

/* Called before lookups for which the table must have all events up to that time. */
void processes_on_ask(struct processes *table, void (*refresh)(uint64_t time_ns, void *arg),
		      void *arg);

/* ---- what happens ---- */

/* Stores mappings read from /proc/PID/maps; time_ns: taken before the read. */
void processes_set(struct processes *table, pid_t pid, const struct mappings *maps,
		   uint64_t time_ns);

void processes_fork(struct processes *table, pid_t parent, pid_t child, uint64_t time_ns);
void processes_exec(struct processes *table, pid_t pid, uint64_t time_ns);
void processes_map(struct processes *table, pid_t pid, const struct mapping *m, uint64_t time_ns);
void processes_exit(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * Notes that a thread began or ended. A process ends with its last thread, which need not be the
 * main one: true if that was the last. If its threads could not be counted, /proc is read once the
 * main one has ended. /proc may lag the event: processes_check_end() reads it again.
 */
void processes_thread(struct processes *table, pid_t pid);
bool processes_exit_thread(struct processes *table, pid_t pid, pid_t tid, uint64_t time_ns);
bool processes_check_end(struct processes *table, pid_t pid, uint64_t time_ns);

/* Returns true if its main thread has ended and the number of remaining threads is unknown. */
bool processes_is_leaderless(const struct processes *table, pid_t pid);

/* Called after lost events: drops exited processes, and the history of live ones. */
void processes_clear(struct processes *table);

/*
 * Visits the processes that have not exited, as far as is known, in no order. The table must not be
 * changed meanwhile.
 */
void processes_visit_living(struct processes *table, void (*visit)(pid_t pid, void *arg),
			    void *arg);

/* ---- history: returned maps are released by the caller with maps_release() ---- */

/* Returns the mappings that a process had at that time, from events alone. NULL: unknown. */
struct maps *processes_recall(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * Returns the mappings of a process at that time, from events if the process has just begun, was
 * just read, has executed another program since or is gone; otherwise read from /proc now. NULL:
 * unknown.
 */
struct maps *processes_read(struct processes *table, pid_t pid, uint64_t time_ns);

/*
 * The same, but read now, since no event reports unmapping; from events only if the process has
 * executed something else since, or is gone.
 */
struct maps *processes_read_again(struct processes *table, pid_t pid, uint64_t time_ns);

/* Returns the time of the latest maps that were returned for this process; 0: none. */
uint64_t processes_maps_time(const struct processes *table, pid_t pid);

/*
 * As processes_read(), but reuses the last read if no event reports a mapping since. generation
 * changes when the process executes a program, for tables without events.
 */
struct maps *processes_look(struct processes *table, pid_t pid, uint32_t generation,
			    uint64_t time_ns);

/*
 * Returns an id of the process's mappings at that time: equal ids mean equal mappings. 0: unknown.
 * An exited process keeps its last id.
 */
uint64_t processes_state(struct processes *table, pid_t pid, uint64_t time_ns);

bool processes_has_exited(const struct processes *table, pid_t pid);

/* ---- mappings that BPF walks stacks by ---- */

/* NULL: unknown. */
struct process *processes_find(const struct processes *table, pid_t pid);

/* Replaces the published maps of a process by these (one more user; NULL: none). */
void processes_publish(struct processes *table, pid_t pid, struct maps *maps);

/*
 * Opens the files of a process's mappings that have come since the last time, while it lives, and
 * calls visit(file, arg) for each.
 */
void processes_preload_files(struct processes *table, pid_t pid,
			     void (*visit)(struct file *file, void *arg), void *arg);

/* Drops processes that exited some time ago, and calls files_age(). */
void processes_age(struct processes *table, uint32_t epoch);
bool processes_have_many_files(const struct processes *table);

/* ---- for -v and the report ---- */

struct processes_stats {
	size_t n_processes, n_published, n_files;
	uint64_t n_dropped; /* evicted: the table was full, and they might still be needed */
};

struct processes_stats processes_stats(const struct processes *table);

#endif
