/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of processes at one moment: their threads, and the goroutines of Go programs, each with its
 * stack; equal ones are merged.
 */
#ifndef DUMP_SNAPSHOT_H
#define DUMP_SNAPSHOT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "output/writer.h"

struct snapshot;

/* lines: show source lines and inlined functions. Freed with snapshot_free(). */
struct snapshot *snapshot_new(bool lines);
void snapshot_free(struct snapshot *snapshot);

/* Reads a process, once. 0, or -ESRCH, printed: there is no such process. */
int snapshot_take(struct snapshot *snapshot, pid_t pid);

/* Write the snapshot, as text for people or in a writer's format. */
void snapshot_write_text(struct snapshot *snapshot, FILE *f);
void snapshot_write(struct snapshot *snapshot, FILE *f, const struct writer *writer);

/* Prints on standard error what is missing, by reason. */
void snapshot_print_losses(const struct snapshot *snapshot);

#endif
