/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory a run takes: that of its BPF maps, and its process's own. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

/* Prints memory for -v; when: the moment, "at start". */
void footprint_print(const char *when);

#endif
