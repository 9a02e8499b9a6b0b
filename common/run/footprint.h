/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a run: its BPF maps and its process. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

/* Prints the memory with -v. when: such as "at start". */
void footprint_print(const char *when);

#endif
