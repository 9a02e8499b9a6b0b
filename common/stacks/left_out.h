/* SPDX-License-Identifier: GPL-2.0-only */
/* Values that a report drops on request, and their totals: nothing vanishes unreported. */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H

#include <stdint.h>

/* Totals of values, in BPF's unit. */
struct left_out {
	uint64_t all;	    /* shown or not */
	uint64_t by_remark; /* such as [blocked throughout], by -x */
	uint64_t by_name;   /* by --only and --without */
	uint64_t idle;	    /* shown, but without where, as a share of what is: --no-idle */
};

void left_out_add(struct left_out *sum, const struct left_out *more);

/* Prints a line for each. divisor: of values to be in that unit; remark: by_remark's subject. */
void left_out_print(const struct left_out *sums, uint64_t divisor, const char *unit,
		    const char *remark);

#endif
