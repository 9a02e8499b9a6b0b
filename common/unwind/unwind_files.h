/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unwind rows of the files that traced processes execute: compiled once, and hung on the file.
 * They are removed when the file is released.
 */
#ifndef UNWIND_FILES_H
#define UNWIND_FILES_H

#include "process/files.h"
#include "unwind/unwind_tables.h"

struct unwind_files {
	struct unwind_tables *tables;
	size_t n_files, n_refused; /* compiled; of these without rows because memory ran out */
};

/* A file's rows, compiled if that hasn't been done; none where it has no unwind information. */
struct unwind_run unwind_files_rows(struct unwind_files *files, struct file *file);

#endif
