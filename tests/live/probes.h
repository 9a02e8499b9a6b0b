/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of probes.bpf.c, by the number in the low 16 bits of a point's cookie. */
#ifndef PROBES_H
#define PROBES_H

#define PROBES_MAX	    512
#define PROBES_ARGS	    3
#define PROBES_ARG_BITS	    5 /* above the number: the registers of the first arguments */
#define PROBES_ARG_MASK	    ((1 << PROBES_ARG_BITS) - 1)
#define PROBES_ARG_SHIFT(i) (16 + (i)*PROBES_ARG_BITS)
#define PROBES_NO_RETURN    (1ULL << 63)

struct probes_count {
	unsigned long long entries, returns;
	unsigned long long briefs; /* of the entries, those that the brief program has seen */
	unsigned long long arg_sums[PROBES_ARGS], return_sum;
};

#endif
