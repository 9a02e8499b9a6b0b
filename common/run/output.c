// SPDX-License-Identifier: GPL-2.0-only
/* Destination of a result; see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h> /* musl has no renameat2() */
#include <unistd.h>

#include "base/mem.h"
#include "base/msg.h"
#include "run/output.h"

#define TEMPORARY_TRIES 1000 /* temporary names */
#define OUTPUT_BUFFER	(256 << 10)

/* Opens missing standard descriptors with the wrong access mode, so that using them fails. */
void output_open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int output_flush_standard(void)
{
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return 0;
	msg_errno(-errno, "standard output: write failed");
	return -EIO;
}

/*
 * Returns the standard descriptor that a path such as /dev/stdout refers to, even if it is a
 * regular file; -1: none.
 */
static int find_standard(const char *path)
{
	struct stat st, standard;

	if (stat(path, &st))
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &standard) && st.st_dev == standard.st_dev &&
		    st.st_ino == standard.st_ino)
			return fd;
	return -1;
}

/* Returns true for files written in place: pipes, devices, files of standard output and error. */
static bool is_special(const char *path)
{
	struct stat st;

	return (!stat(path, &st) && !S_ISREG(st.st_mode)) || find_standard(path) >= 0;
}

static FILE *open_special(const char *path)
{
	int fd = find_standard(path);

	return fd < 0 ? fopen(path, "we") : fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "w");
}

/* Returns the length of a path's directory, with the slash. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

/* Makes a named temporary file, for file systems without O_TMPFILE. */
static int open_named(struct output *out)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	out->temporary = mem_printf("%.*s.tracelets-XXXXXX", folder_length(out->path), out->path);
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0666 & ~mask);
	} else {
		free(out->temporary);
		out->temporary = NULL;
	}
	return fd;
}

/* Makes a file without a name, which vanishes when the process exits unless it is named. */
static int open_unnamed(struct output *out)
{
	int length = folder_length(out->path);
	char *folder = length ? mem_strndup(out->path, (size_t)length) : mem_strdup(".");
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	free(folder);
	return fd < 0 && errno == EOPNOTSUPP ? open_named(out) : fd;
}

static FILE *open_file(struct output *out)
{
	int fd;

	if (!out->path || is_special(out->path)) {
		out->is_special = true;
		return out->path ? open_special(out->path) : stdout;
	}
	fd = open_unnamed(out);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

/*
 * Makes writing fast, since a report may have a gigabyte: disables the stream's lock, which would
 * double the time, and enlarges its buffer: for small writes a file system clears as much memory as
 * it writes. Standard output keeps its buffer to the end.
 */
static void prepare_stream(struct output *out)
{
	__fsetlocking(out->file, FSETLOCKING_BYCALLER);
	if (out->buffer || isatty(fileno(out->file)))
		return;
	out->buffer = mem_zalloc(1, OUTPUT_BUFFER);
	setvbuf(out->file, out->buffer, _IOFBF, OUTPUT_BUFFER);
}

/* ---- reports that can't be written ---- */

bool output_is_failing(const struct output *out)
{
	return out->n_dropped != out->n_dropped_before;
}

/*
 * Handles a report that can't be written, for the reason err (-errno). Returns 0: the report is
 * dropped and the run continues; else err, printed.
 */
static int drop(struct output *out, const char *path, int err)
{
	if (out->kind == OUTPUT_ONCE || out->is_special)
		return msg_errno(err, "%s: write failed", path ? path : "standard output");
	if (!output_is_failing(out))
		msg_warn("%s: write failed: %s (report dropped, tracing continues)", path,
			 strerror(-err));
	out->n_dropped++;
	return 0;
}

static void say_it_works(struct output *out)
{
	if (output_is_failing(out))
		msg_warn("%s: writable again, %u reports were dropped", out->path,
			 out->n_dropped - out->n_dropped_before);
	out->n_dropped_before = out->n_dropped;
}

/* Checks a file's name in advance, since a file is named only when it is complete. */
static int check_name(const char *path)
{
	struct stat st;

	if (!*path)
		return msg_error("--output: the name is empty");
	if (stat(path, &st))
		return errno == ENOENT ? 0 : msg_errno(-errno, "--output %s", path);
	if (S_ISREG(st.st_mode) && access(path, W_OK) && errno == EROFS)
		return msg_errno(-errno, "--output %s", path);
	return 0;
}

static int check_standard(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	return flags < 0 || (flags & O_ACCMODE) == O_RDONLY
		       ? msg_error("standard output: closed or read-only")
		       : 0;
}

int output_check(struct output *out)
{
	int err;

	if (!out->path)
		return check_standard();
	err = check_name(out->path);
	out->series.path = out->path;
	if (err || out->kind != OUTPUT_SERIES || is_special(out->path))
		return err;
	return series_check(&out->series, out->start_unix_ns);
}

int output_begin(struct output *out)
{
	int err;

	out->is_sink = out->is_named = false;
	out->file = open_file(out);
	if (out->file) {
		prepare_stream(out);
		return 0;
	}
	err = -errno;
	if (!out->n && !out->peeked)
		return msg_errno(err, "%s: open failed", out->path);
	err = drop(out, out->path, err);
	if (err)
		return err;
	out->is_sink = true;
	out->file = fopen("/dev/null", "we");
	return out->file ? 0 : msg_errno(-errno, "/dev/null: open failed");
}

/* ---- names ---- */

/*
 * Renames a file unless the new name exists. On file systems without RENAME_NOREPLACE, a file
 * created after the check is replaced.
 */
static int rename_unless_there(const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (!access(to, F_OK))
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
}

/*
 * Links an unnamed file to a temporary name, from which it can be renamed. The temporary name is
 * short, since the final one may have the maximum length, and unique also if pids are equal, as in
 * containers.
 */
static int link_temporary(struct output *out)
{
	int err = out->temporary ? 0 : -EEXIST;
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(out->file));
	for (int i = 0; err == -EEXIST && i < TEMPORARY_TRIES; i++) {
		char *name = mem_printf("%.*s.tracelets-%d-%d", folder_length(out->path), out->path,
					(int)getpid(), i);

		err = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
		if (!err)
			out->temporary = name;
		else
			free(name);
	}
	return err;
}

/* Replaces the contents of a file by another's. 0 or -errno. */
static int copy_over(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, err = 0;
	ssize_t n = 0;

	if (in >= 0)
		out = open(to, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	while (out >= 0 && (n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	if (out < 0 || n < 0)
		err = -errno;
	if (out >= 0 && close(out))
		err = -errno;
	if (in >= 0)
		close(in);
	return err;
}

/*
 * Renames the temporary file to path. A file that is a mount point, as in a container, can't be
 * replaced: its contents are overwritten, and the temporary file stays until output_discard().
 */
static int move_file(struct output *out, const char *path, bool may_replace)
{
	int err;

	if (may_replace)
		err = rename(out->temporary, path) ? -errno : 0;
	else
		err = rename_unless_there(out->temporary, path);
	if (err == -EBUSY && may_replace)
		return copy_over(out->temporary, path);
	if (!err) {
		free(out->temporary);
		out->temporary = NULL;
	}
	return err;
}

static int name_file(struct output *out, const char *path)
{
	bool is_of_peek = out->peeked && !strcmp(out->peeked, path);
	int err = out->is_named ? 0 : link_temporary(out);

	if (err || out->is_named)
		return err;
	err = move_file(out, path, out->kind != OUTPUT_SERIES || is_of_peek);
	if (err)
		return err;
	if (out->is_peek || is_of_peek) {
		free(out->peeked);
		out->peeked = out->is_peek ? mem_strdup(path) : NULL;
	}
	return 0;
}

/* ---- writing ---- */

/*
 * Returns the likely -errno of an earlier failed write: for a pipe it is EPIPE, and for a file
 * another write fails again.
 */
static int find_reason(FILE *f)
{
	struct stat st;

	if (!fstat(fileno(f), &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return -EPIPE;
	return write(fileno(f), "", 1) < 0 ? -errno : -EIO;
}

/* Returns 0 if all writes succeeded, or -errno. */
static int flush(FILE *f)
{
	errno = 0;
	if (fflush(f))
		return -errno;
	return ferror(f) ? find_reason(f) : 0;
}

static int commit_file(struct output *out, const char *path)
{
	int err = flush(out->file);
	bool stays_open;

	if (!err)
		err = name_file(out, path);
	stays_open = !err && out->is_peek && out->goes_on;
	out->is_named = stays_open && !out->temporary;
	if (!stays_open)
		output_discard(out);
	if (err)
		return drop(out, path, err);
	say_it_works(out);
	if (out->kind == OUTPUT_SERIES)
		series_keep(&out->series, path);
	return 0;
}

static int commit_special(const struct output *out)
{
	int err = flush(out->file);

	if (err && err != -EPIPE)
		msg_errno(err, "%s: write failed", out->path ? out->path : "standard output");
	return err;
}

int output_commit(struct output *out)
{
	char *path;
	int err;

	out->n += !out->is_peek;
	if (out->is_special)
		return commit_special(out);
	if (out->is_sink) {
		output_discard(out);
		return 0;
	}
	path = out->kind == OUTPUT_SERIES
		       ? series_name(&out->series, out->n + out->is_peek, out->start_unix_ns)
		       : mem_strdup(out->path);
	err = commit_file(out, path);
	free(path);
	return err;
}

void output_discard(struct output *out)
{
	if (out->path && out->file) {
		fclose(out->file);
		free(out->buffer);
		out->buffer = NULL;
	}
	out->file = NULL;
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	out->temporary = NULL;
}

/* ---- drafts ---- */

int output_set_aside(struct output *out, struct output_draft *draft)
{
	int err = flush(out->file);

	*draft = (struct output_draft){ .fd = -1, .start_unix_ns = out->start_unix_ns };
	if (!err && !out->is_sink) {
		draft->fd = fcntl(fileno(out->file), F_DUPFD_CLOEXEC, 0);
		err = draft->fd < 0 ? -errno : 0;
	}
	if (draft->fd >= 0) {
		draft->temporary = out->temporary;
		out->temporary = NULL;
	}
	if (!err && !out->is_sink)
		say_it_works(out);
	output_discard(out);
	return err ? drop(out, out->path, err) : 0;
}

bool output_take_back(struct output *out, struct output_draft *draft)
{
	if (draft->fd < 0)
		return false;
	out->file = fdopen(draft->fd, "w");
	out->temporary = draft->temporary;
	out->start_unix_ns = draft->start_unix_ns;
	out->is_sink = out->is_named = false;
	*draft = (struct output_draft){ .fd = -1 };
	return true;
}

void output_drop_draft(struct output_draft *draft)
{
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->temporary)
		unlink(draft->temporary);
	free(draft->temporary);
	*draft = (struct output_draft){ .fd = -1 };
}
