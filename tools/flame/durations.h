/* SPDX-License-Identifier: GPL-2.0-only */
/* --durations: how long the two recordings took that are compared. */
#ifndef DURATIONS_H
#define DURATIONS_H

/* An opt_parse_fn: "10s,1m" into a double, by which values of the first are to be multiplied. */
int durations_parse(const char *what, const char *text, void *dest);

#endif
