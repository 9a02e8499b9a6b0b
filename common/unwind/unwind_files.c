// SPDX-License-Identifier: GPL-2.0-only
/* Files and their unwind tables; see unwind_files.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/cfi_gaps.h"
#include "process/mapfile.h"
#include "base/mem.h"
#include "base/msg.h"
#include "process/roots.h"
#include "unwind/unwind_files.h"

#define FILE_BUCKETS   1024
#define VDSO_MAX_BYTES (64 << 10)

struct entry {
	struct entry *next;
	dev_t dev;
	ino_t ino;
	off_t bytes;
	struct timespec mtime, ctime;
	struct unwind_file file;
};

struct unwind_files {
	struct unwind_tables *tables;
	struct entry *buckets[FILE_BUCKETS];
	struct unwind_file *vdso; /* one for all: the kernel's 64-bit one */
	size_t n_files, n_refused;
};

struct unwind_files *unwind_files_new(struct unwind_tables *tables)
{
	struct unwind_files *files = mem_zalloc(1, sizeof(*files));

	files->tables = tables;
	return files;
}

void unwind_files_free(struct unwind_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < FILE_BUCKETS; i++)
		for (struct entry *e = files->buckets[i], *next; e; e = next) {
			next = e->next;
			free(e);
		}
	free(files->vdso);
	free(files);
}

static struct entry **bucket_of(struct unwind_files *files, const struct mapping *m)
{
	return &files->buckets[(m->ino * 31 + m->dev) % FILE_BUCKETS];
}

/* A file that is mapped now, or, given its status, one that still is the same. */
static struct entry *find_entry(struct unwind_files *files, const struct mapping *m,
				const struct stat *st)
{
	struct entry *e = *bucket_of(files, m);

	for (; e; e = e->next) {
		if (e->ino != m->ino || e->dev != m->dev)
			continue;
		if (!st && e->file.n_users)
			return e;
		if (st && e->bytes == st->st_size &&
		    !memcmp(&e->mtime, &st->st_mtim, sizeof(e->mtime)) &&
		    !memcmp(&e->ctime, &st->st_ctim, sizeof(e->ctime)))
			return e;
	}
	return NULL;
}

static void add_tables(struct unwind_files *files, struct unwind_file *file, struct cfi_table *cfi)
{
	files->n_files++;
	if (unwind_tables_add(files->tables, cfi, &file->run))
		files->n_refused++;
	cfi_free(cfi);
}

static void compile_file(struct unwind_files *files, struct unwind_file *file, int fd)
{
	struct cfi_table cfi;

	if (elfsegs_read(&file->segs, fd) || cfi_load(&cfi, fd))
		return;
	cfi_fill_known_gaps(&cfi, fd);
	add_tables(files, file, &cfi);
}

static struct entry *add_entry(struct unwind_files *files, const struct mapping *m,
			       const struct stat *st, int path_fd)
{
	struct entry *e = mem_zalloc(1, sizeof(*e)), **bucket = bucket_of(files, m);
	int fd = root_reopen(path_fd);

	e->dev = m->dev;
	e->ino = m->ino;
	e->bytes = st->st_size;
	e->mtime = st->st_mtim;
	e->ctime = st->st_ctim;
	if (fd >= 0) {
		compile_file(files, &e->file, fd);
		close(fd);
	}
	e->next = *bucket;
	*bucket = e;
	return e;
}

static struct unwind_file *get_vdso(struct unwind_files *files, pid_t pid, const struct mapping *m)
{
	size_t bytes = m->end - m->start;
	struct cfi_table cfi;
	void *image;

	if (files->vdso || bytes > VDSO_MAX_BYTES)
		return files->vdso;
	image = mem_zalloc(1, bytes);
	if (mapfile_read_vdso(pid, m, image)) {
		free(image);
		return NULL;
	}
	files->vdso = mem_zalloc(1, sizeof(*files->vdso));
	if (!elfsegs_read_image(&files->vdso->segs, image, bytes) &&
	    !cfi_load_image(&cfi, image, bytes))
		add_tables(files, files->vdso, &cfi);
	free(image);
	return files->vdso;
}

struct unwind_file *unwind_files_get(struct unwind_files *files, pid_t pid, const struct mapping *m,
				     const struct timespec *read_time)
{
	struct entry *e;
	struct stat st;
	int path_fd;

	if (!m->ino)
		return strcmp(m->path, "[vdso]") ? NULL : get_vdso(files, pid, m);
	e = find_entry(files, m, NULL);
	if (e)
		return &e->file;
	path_fd = mapfile_open(pid, m, read_time, &st);
	if (path_fd < 0)
		return NULL;
	e = find_entry(files, m, &st);
	if (!e)
		e = add_entry(files, m, &st, path_fd);
	close(path_fd);
	return &e->file;
}

void unwind_files_count(const struct unwind_files *files, size_t *n_files, size_t *n_refused)
{
	*n_files = files->n_files;
	*n_refused = files->n_refused;
}
