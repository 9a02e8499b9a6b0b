// SPDX-License-Identifier: GPL-2.0-only
/* Names of files by time or number, and their retention; see series.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/path.h"
#include "run/series.h"

/* A conversion of a pattern, as in strftime(3). They are listed from the finest on. */
struct field {
	char letter;
	int width;
	uint64_t unit_s, period_s; /* minimum durations: of one value, and until it repeats */
	int add;		   /* offset added to the member for printing */
	size_t offset;
};

#define DAY_S 86400

static const struct field fields[] = {
	{ 'S', 2, 1, 60, 0, offsetof(struct tm, tm_sec) },
	{ 'M', 2, 60, 3600, 0, offsetof(struct tm, tm_min) },
	{ 'H', 2, 3600, DAY_S, 0, offsetof(struct tm, tm_hour) },
	{ 'd', 2, DAY_S, 28 * DAY_S, 0, offsetof(struct tm, tm_mday) },
	{ 'j', 3, DAY_S, 365 * DAY_S, 1, offsetof(struct tm, tm_yday) },
	{ 'm', 2, 28 * DAY_S, 365 * DAY_S, 1, offsetof(struct tm, tm_mon) },
	{ 'Y', 4, 365 * DAY_S, UINT64_MAX, 1900, offsetof(struct tm, tm_year) },
};

/* A file written by this run, which is not removed if it was changed or replaced since. */
struct series_file {
	char *path;
	struct stat stat;
};

static const struct field *find_field(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].letter == letter)
			return &fields[i];
	return NULL;
}

/* Returns the location of the next '%'; NULL: none. */
static const char *next_percent(const char *at)
{
	return *at ? strchr(at, '%') : NULL;
}

bool series_is_timed(const char *path)
{
	for (const char *at = next_percent(path_last(path)); at && at[1]; at = next_percent(at + 2))
		if (at[1] != '%')
			return true;
	return false;
}

static int *member_of(struct tm *tm, const struct field *field)
{
	return (int *)((char *)tm + field->offset);
}

/* Returns the start of the extension, such as ".pb.gz"; the name's end if there is none. */
static const char *find_extension(const char *file)
{
	const char *dot = strrchr(file, '.'), *before;

	if (!dot || dot == file)
		return file + strlen(file);
	if (strcmp(dot, ".gz"))
		return dot;
	before = memrchr(file, '.', (size_t)(dot - file));
	return before && before != file ? before : dot;
}

/* ---- making names ---- */

static char *timed_name(const char *path, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	char *name = mem_zalloc(strlen(path) * 2 + 1, 1), *to = name; /* "%Y" becomes 4 digits */
	struct tm tm;

	gmtime_r(&seconds, &tm);
	for (const char *from = path; *from; from++) {
		const struct field *field = *from == '%' ? find_field(from[1]) : NULL;

		if (field)
			to += sprintf(to, "%0*d", field->width,
				      *member_of(&tm, field) + field->add);
		else
			*to++ = *from;
		from += *from == '%';
	}
	return name;
}

char *series_plain_path(const char *path)
{
	const char *file = path_last(path);
	char *name, *plain;

	if (series_is_timed(path))
		return mem_strdup(path);
	name = timed_name(file, 0);
	plain = mem_printf("%.*s%s", (int)(file - path), path, name);
	free(name);
	return plain;
}

char *series_name(const struct series *series, unsigned int n, uint64_t start_unix_ns)
{
	const char *extension;
	char *path, *name;

	if (series_is_timed(series->path))
		return timed_name(series->path, start_unix_ns);
	path = series_plain_path(series->path);
	extension = find_extension(path_last(path));
	name = mem_printf("%.*s.%03u%s", (int)(extension - path), path, n, extension);
	free(path);
	return name;
}

/* ---- files of earlier runs ---- */

static bool match_number(const char *pattern, const char *name)
{
	const char *extension = find_extension(pattern);
	size_t stem = (size_t)(extension - pattern), digits;

	if (strncmp(name, pattern, stem) || name[stem] != '.')
		return false;
	name += stem + 1;
	digits = strspn(name, "0123456789");
	return digits >= 3 && !strcmp(name + digits, extension);
}

/* Returns the name of an existing numbered file of the series, freed by the caller; NULL: none. */
static char *find_numbered(const struct series *series)
{
	char *path = series_plain_path(series->path);
	const char *pattern = path_last(path);
	int length = (int)(pattern - path);
	char *folder = length ? mem_strndup(path, (size_t)length) : mem_strdup(".");
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	char *found = NULL;
	struct stat st;

	while (dir && !found && (entry = readdir(dir)))
		if (match_number(pattern, entry->d_name) &&
		    !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			found = mem_printf("%.*s%s", length, path, entry->d_name);
	if (dir)
		closedir(dir);
	free(folder);
	free(path);
	return found;
}

/* ---- checking ---- */

/* Returns the duration of a value of the finest field; UINT64_MAX: no field; 0: unknown field. */
static uint64_t finest_unit_s(const char *file)
{
	uint64_t finest_s = UINT64_MAX;

	for (const char *at = next_percent(file); at; at = next_percent(at + 2)) {
		const struct field *field = find_field(at[1]);

		if (!field && at[1] != '%')
			return 0;
		if (field && field->unit_s < finest_s)
			finest_s = field->unit_s;
	}
	return finest_s;
}

static bool has_field(const char *file, char letter)
{
	for (const char *at = next_percent(file); at; at = next_percent(at + 2))
		if (at[1] == letter)
			return true;
	return false;
}

/* Returns the time until a name repeats: up to the first field that is missing above the finest. */
static uint64_t find_period_s(const char *file, uint64_t finest_s)
{
	uint64_t period_s = finest_s;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].unit_s <= period_s && has_field(file, fields[i].letter))
			period_s = fields[i].period_s;
	return period_s;
}

int series_check_pattern(const char *path, uint64_t interval_ns, uint64_t n)
{
	const char *file = path_last(path);
	uint64_t finest_s = finest_unit_s(file), period_s;

	if (!finest_s)
		return msg_error(
			"--output %s: unknown conversion (use %%Y %%m %%d %%j %%H %%M %%S, "
			"or %%%% for a '%%')",
			path);
	if (!series_is_timed(path))
		return 0;
	if (memchr(path, '%', (size_t)(file - path)))
		return msg_error("--output %s: conversions are allowed in the file name only",
				 path);
	if (interval_ns && interval_ns / NS_PER_S < finest_s)
		return msg_error("--output %s: two reports would get the same name (use a longer "
				 "--interval or a finer time)",
				 path);
	period_s = find_period_s(file, finest_s);
	if (n > 1 && interval_ns && period_s != UINT64_MAX && n > period_s * NS_PER_S / interval_ns)
		return msg_error("--output %s: names repeat, and a report would replace an earlier "
				 "one (use %%Y%%m%%dT%%H%%M%%SZ, or limit --keep or --count)",
				 path);
	return 0;
}

int series_check(const struct series *series, uint64_t start_unix_ns)
{
	bool is_timed = series_is_timed(series->path);
	char *name = series_name(series, 999, start_unix_ns);
	char *there = is_timed ? mem_strdup(name) : find_numbered(series);
	int err = 0;

	if (access(name, F_OK) && errno == ENAMETOOLONG)
		err = msg_errno(-ENAMETOOLONG, "--output %s: name of a report", series->path);
	else if (there && !access(there, F_OK))
		err = msg_error("--output %s: %s exists (remove it, or use another name)",
				series->path, there);
	if (err == -EINVAL && !is_timed)
		msg_hint("put '%%Y%%m%%dT%%H%%M%%SZ' into the name to separate runs");
	free(there);
	free(name);
	return err;
}

/* ---- retention ---- */

static void drop_file(struct series *series, size_t i)
{
	free(series->files[i].path);
	memmove(&series->files[i], &series->files[i + 1],
		(--series->n_files - i) * sizeof(*series->files));
}

/* Compares times, too: an inode number may be reused. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Drops files from the list that were removed or changed since. Returns the rest's total bytes. */
static uint64_t refresh(struct series *series)
{
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < series->n_files;) {
		if (lstat(series->files[i].path, &st) ||
		    !is_same_file(&series->files[i].stat, &st)) {
			drop_file(series, i);
			continue;
		}
		bytes += (uint64_t)series->files[i++].stat.st_size;
	}
	return bytes;
}

static void add_file(struct series *series, const char *path)
{
	struct stat st;

	for (size_t i = series->n_files; i-- > 0;)
		if (!strcmp(series->files[i].path, path))
			drop_file(series, i);
	if (lstat(path, &st))
		return;
	*MEM_APPEND(series->files, series->n_files, series->capacity) =
		(struct series_file){ mem_strdup(path), st };
}

static bool is_too_much(const struct series *series, uint64_t bytes)
{
	return (series->keep && series->n_files > series->keep) ||
	       (series->keep_bytes && bytes > series->keep_bytes && series->n_files > 1);
}

void series_keep(struct series *series, const char *latest)
{
	uint64_t bytes;

	if (!series->keep && !series->keep_bytes)
		return;
	add_file(series, latest);
	bytes = refresh(series);
	while (is_too_much(series, bytes)) {
		const struct series_file *oldest = &series->files[0];

		if (unlink(oldest->path) && errno != ENOENT)
			msg_warn("%s: remove failed: %s", oldest->path, strerror(errno));
		bytes -= (uint64_t)oldest->stat.st_size;
		drop_file(series, 0);
	}
}

void series_free(struct series *series)
{
	while (series->n_files)
		drop_file(series, series->n_files - 1);
	free(series->files);
	series->files = NULL;
	series->capacity = 0;
}
