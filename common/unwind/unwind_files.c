// SPDX-License-Identifier: GPL-2.0-only
/* Files and their unwind rows; see unwind_files.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "unwind/cfi_gaps.h"
#include "unwind/go_rows.h"
#include "unwind/unwind_files.h"
#include "unwind/vdso_rows.h"

static void compile_file(struct unwind_files *files, const struct file *file,
			 struct unwind_run *run)
{
	struct cfi_table cfi;
	int err;

	if (!file->is_elf || !elf64_is_native(&file->elf))
		return;
	err = cfi_load_elf(&cfi, &file->elf);
	if (!err || err == -ENODATA)
		go_rows_fill(&cfi, &file->elf);
	if (file->image) /* the vdso: what is described there is so without gaps */
		vdso_rows_fill(&cfi, &file->elf);
	if (!cfi.count)
		return;
	if (!file->image)
		cfi_fill_known_gaps(&cfi, &file->elf);
	files->n_files++;
	if (unwind_tables_add(files->tables, &cfi, run))
		files->n_refused++;
	cfi_free(&cfi);
}

struct unwind_run unwind_files_rows(struct unwind_files *files, struct file *file)
{
	struct file_part *part = &file->parts[FILE_ROWS];

	if (!part->data && file->fd < 0 && !file->image)
		return (struct unwind_run){ 0 }; /* not open: maybe the next time */
	if (!part->data) {
		*part = (struct file_part){ mem_zalloc(1, sizeof(struct unwind_run)), free };
		compile_file(files, file, part->data);
	}
	return *(struct unwind_run *)part->data;
}
