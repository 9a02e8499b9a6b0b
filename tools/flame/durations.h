/* SPDX-License-Identifier: GPL-2.0-only */
/* --durations: durations of the two compared recordings. */
#ifndef DURATIONS_H
#define DURATIONS_H

/* An opt_parse_fn: converts "10s,1m" into a double, the factor for the first recording's values. */
int durations_parse(const char *what, const char *text, void *dest);

#endif
