/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --when: reports of intervals wait in a ring, and are dropped unless a condition holds. Then the
 * reports before, at and after that moment get their names, with a note of the reason. Reports in
 * the ring are files without a name: nothing remains of them if the run is killed.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "run/condition.h"

struct output;
struct output_draft;

struct capture {
	/* Options. */
	struct conditions conditions;
	uint32_t before, after; /* intervals around the one in which a condition holds */
	uint64_t pause_ns;	/* minimum time between captures */
	uint32_t max;		/* maximum number of captures; 0: no limit */
	bool once;

	/* The target, set by its module before capture_start(). */
	struct condition_target target;

	struct output_draft *ring; /* reports of the last intervals, oldest first */
	size_t n_ring;
	char *reason; /* why a capture begins, or has begun; NULL: it doesn't */
	uint64_t moment_unix_ns;
	bool is_begun;	 /* the report in which the condition held has its name */
	uint32_t n_left; /* number of further intervals whose reports get names */
	uint64_t paused_until_ns;
	uint32_t n, n_ignored; /* captures; moments in the pause */
};

#define CAPTURE_DEFAULT                                            \
	{                                                          \
		.before = 3, .after = 2, .pause_ns = NS_PER_S * 60 \
	}

/*
 * Begins to watch the conditions, with `target` and the conditions set. loop must outlive it. 0 or
 * -errno, printed.
 */
int capture_start(struct capture *capture, struct loop *loop);

/* Begins a capture now, with this reason, or prolongs the one that is going on. */
void capture_request(struct capture *capture, const char *reason);

/*
 * Ends an interval, whose report is in the output: names it, or puts it into the ring. format: name
 * of its format. 0 or -errno, printed.
 */
int capture_commit(struct capture *capture, struct output *out, const char *format);

/* Returns true after the last of the wanted captures. */
bool capture_is_over(const struct capture *capture);

/* Drops the reports in the ring, and frees. Prints the number of captures, if it was started. */
void capture_finish(struct capture *capture);

#endif
