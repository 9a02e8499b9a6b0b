// SPDX-License-Identifier: GPL-2.0-only
/* Where a result goes; see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/msg.h"
#include "run/output.h"

/* Pipes, devices and what else is no regular file are written as they are. */
static bool is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static FILE *open_temporary(struct output *out)
{
	mode_t mask = umask(0);
	FILE *file = NULL;
	int fd;

	umask(mask);
	out->temporary = mem_printf("%s.XXXXXX", out->path);
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0666 & ~mask);
		file = fdopen(fd, "w");
	}
	if (!file) {
		free(out->temporary);
		out->temporary = NULL;
	}
	return file;
}

int output_begin(struct output *out)
{
	if (!out->path)
		out->file = stdout;
	else if (is_special(out->path))
		out->file = fopen(out->path, "we");
	else
		out->file = open_temporary(out);
	return out->file ? 0 : msg_errno(errno, "opening %s", out->path);
}

/* Where the extension begins; NULL: there is none. That of a packed file has two parts. */
static const char *find_extension(const char *file)
{
	const char *dot = strrchr(file, '.'), *before;

	if (!dot || strcmp(dot, ".gz"))
		return dot;
	before = memrchr(file, '.', (size_t)(dot - file));
	return before && before != file ? before : dot;
}

/* cpu.svg and 7 make cpu.007.svg; cpu.pb.gz makes cpu.007.pb.gz. */
static char *series_path(const char *path, unsigned int n)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	const char *dot = find_extension(file);

	if (!dot || dot == file)
		return mem_printf("%s.%03u", path, n);
	return mem_printf("%.*s.%03u%s", (int)(dot - path), path, n, dot);
}

static int rename_file(struct output *out)
{
	char *path = out->is_series ? series_path(out->path, ++out->n) : mem_strdup(out->path);
	int err = 0;

	if (rename(out->temporary, path))
		err = msg_errno(errno, "renaming %s to %s", out->temporary, path);
	free(path);
	return err;
}

/*
 * 0 if all that was written has got through, or -errno. Of a write that failed earlier, when the
 * buffer was full, the reason is forgotten; a pipe has only one.
 */
static int flush(FILE *f)
{
	struct stat st;

	errno = 0;
	if (fflush(f))
		return -errno;
	if (!ferror(f))
		return 0;
	if (fstat(fileno(f), &st) || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return -EIO;
	return -EPIPE;
}

int output_commit(struct output *out)
{
	int err = flush(out->file);

	if (err && err != -EPIPE)
		msg_errno(err, "writing %s", out->path ? out->path : "the output");
	if (!out->temporary)
		return err;
	if (!err)
		err = rename_file(out);
	if (!err) {
		free(out->temporary);
		out->temporary = NULL;
	}
	output_discard(out);
	return err;
}

void output_discard(struct output *out)
{
	if (out->path && out->file)
		fclose(out->file);
	out->file = NULL;
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	out->temporary = NULL;
}
