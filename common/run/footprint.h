/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory a run takes: that of its BPF maps, and its process's own. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

/* For -v; `when` says at what moment. */
void footprint_print(const char *when);

#endif
