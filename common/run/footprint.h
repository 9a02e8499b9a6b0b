/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a run: that of its BPF maps, and that of its process. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

/* Prints memory for -v; when: the moment, "at start". */
void footprint_print(const char *when);

#endif
