/* SPDX-License-Identifier: GPL-2.0-only */
/* --durations: how long the two recordings took that are compared. */
#ifndef DURATIONS_H
#define DURATIONS_H

#include <stdint.h>

struct durations {
	uint64_t before_ns, after_ns; /* 0: not given */
};

/* An opt_parse_fn: "10s,1m". */
int durations_parse(const char *what, const char *text, void *dest);

#endif
