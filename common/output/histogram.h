/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms: merging, statistics, printing. Recorded by bpf/lib/hist.bpf.h (abi/hist.h). */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#include "abi/hist.h"
#include "output/json.h"

/*
 * A unit of values: fixed = (ns * mult) >> shift, by hist_scale(); a printed unit is
 * 2^fraction_bits in fixed point. Whole units of up to HIST_MAX_NS are exact.
 */
struct hist_unit {
	const char *name; /* printed name: "usecs" */
	uint64_t mult;
	uint32_t shift, fraction_bits;
};

extern const struct hist_unit hist_nsecs; /* fixed = ns */
extern const struct hist_unit hist_usecs; /* 1/64 us */
extern const struct hist_unit hist_msecs; /* 1/65536 ms */
extern const struct hist_unit hist_bytes; /* fixed = bytes */

/* A histogram. Empty octaves take no memory, since each of many processes may have a histogram. */
struct hist {
	struct hist_octave *octaves[HIST_OCTAVES]; /* NULL: octave without values */
};

struct hist *hist_new(void);
void hist_free(struct hist *h); /* NULL is allowed */

/* Converts nanoseconds as in the kernel; values above HIST_MAX_NS count as HIST_MAX_NS. */
uint64_t hist_fixed(const struct hist_unit *unit, uint64_t ns);

void hist_record(struct hist *h, uint64_t fixed);
void hist_merge_octave(struct hist *h, uint32_t octave, const struct hist_octave *o);
void hist_merge(struct hist *h, const struct hist *more);

/*
 * Computes now - before, where `before` is an earlier reading of the same cumulative histogram. If
 * an octave's maximum has not risen since, the interval's maximum is unknown: it becomes the last
 * value of the highest slot that still has a count, but at most now's maximum.
 */
void hist_subtract(struct hist *now, const struct hist *before);

uint64_t hist_count(const struct hist *h);

/* Returns the total of all values, in fixed point. */
uint64_t hist_sum(const struct hist *h);

/* A slot: values v with first <= v < below. hist_visit() visits nonempty slots, lowest first. */
struct hist_slot {
	uint64_t first, below; /* bounds in fixed point */
	uint64_t count;
};

void hist_visit(const struct hist *h, void (*visit)(const struct hist_slot *slot, void *arg),
		void *arg);

/*
 * These functions return printed units; 0 for an empty histogram. Percentiles, for percent in (0,
 * 100], are by nearest rank: the exact maximum for the last rank, else the middle of the slot that
 * contains the rank, at most the maximum.
 */
double hist_percentile(const struct hist *h, const struct hist_unit *unit, double percent);
double hist_average(const struct hist *h, const struct hist_unit *unit);
double hist_max(const struct hist *h, const struct hist_unit *unit);

/* Converts a value to nanoseconds, rounded. */
uint64_t hist_to_ns(const struct hist_unit *unit, double value);

/*
 * Prints BCC's table: the header, a row per power of two from 0 -> 1 to the last nonempty one, and
 * a line with count, average and percentiles. For an empty histogram, prints only the line. Like
 * BCC's, the table has wider numbers and shorter bars if a row is above 2^33.
 */
void hist_print(FILE *f, const struct hist *h, const struct hist_unit *unit);

/*
 * Writes the statistics and buckets as members of a JSON object. Buckets are the recorded slots,
 * and include their first value.
 */
void hist_print_json(struct json *json, const struct hist *h, const struct hist_unit *unit);

/* Print titles and values of CSV columns, without buckets, each after a comma. */
void hist_print_csv_head(FILE *f);
void hist_print_csv(FILE *f, const struct hist *h, const struct hist_unit *unit);

#endif
