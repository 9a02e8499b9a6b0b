// SPDX-License-Identifier: GPL-2.0-only
/* Files and their unwind rows; see unwind_files.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "unwind/cfi.h"
#include "unwind/cfi_gaps.h"
#include "unwind/code_rows.h"
#include "unwind/go_rows.h"
#include "unwind/unwind_files.h"

#define EXPENSIVE_ROWS (1 << 18) /* a library of LLVM has a million: 70 ms, and 25 MB meanwhile */

/* A file's part. */
struct rows {
	struct unwind_files *files;
	struct unwind_run run;
	bool is_refused;
};

static void compile_file(struct unwind_files *files, const struct file *file, struct rows *rows)
{
	struct cfi_table cfi;
	int err;

	if (!file->is_elf || !elf64_is_native(&file->elf))
		return;
	err = cfi_load_elf(&cfi, &file->elf);
	if (!err || err == -ENODATA)
		go_rows_fill(&cfi, &file->elf);
	if (file->image) /* the vdso: what is described there is so without gaps */
		code_rows_fill_image(&cfi, &file->elf);
	if (!file->image)
		cfi_fill_known_gaps(&cfi, &file->elf);
	if (cfi.count) {
		files->n_files++;
		unwind_tables_reclaim(files->tables, clock_now_ns());
		rows->is_refused = unwind_tables_add(files->tables, &cfi, &rows->run);
		files->n_refused += rows->is_refused;
	}
	cfi_free(&cfi);
}

static void release(void *data)
{
	const struct rows *rows = data;

	rows->files->n_files -= rows->run.n_pages || rows->is_refused;
	rows->files->n_refused -= rows->is_refused;
	unwind_tables_remove(rows->files->tables, &rows->run, clock_now_ns());
}

struct unwind_run unwind_files_rows(struct unwind_files *files, struct file *file)
{
	struct file_part *part = &file->parts[FILE_ROWS];
	struct rows *rows = part->data;

	if (!rows && file->fd < 0 && !file->image)
		return (struct unwind_run){ 0 }; /* not open: maybe the next time */
	if (!rows) {
		rows = mem_zalloc(1, sizeof(*rows));
		rows->files = files;
		*part = (struct file_part){ rows, free, release };
		compile_file(files, file, rows);
		part->is_expensive = rows->run.n_rows >= EXPENSIVE_ROWS;
	}
	return rows->run;
}
