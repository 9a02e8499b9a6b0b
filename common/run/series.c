// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of files by time or number; see series.h. A pattern's fields have fixed widths, so that a
 * name is read back as it was made.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
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

/* As in strftime(3). */
struct field {
	char letter;
	int width;
	uint64_t unit_s; /* how long its values last, the shortest of them */
	int add;	 /* what is shown of the member is more by that */
	size_t offset;
};

#define DAY_S 86400

static const struct field fields[] = {
	{ 'Y', 4, 365 * DAY_S, 1900, offsetof(struct tm, tm_year) },
	{ 'm', 2, 28 * DAY_S, 1, offsetof(struct tm, tm_mon) },
	{ 'd', 2, DAY_S, 0, offsetof(struct tm, tm_mday) },
	{ 'j', 3, DAY_S, 1, offsetof(struct tm, tm_yday) },
	{ 'H', 2, 3600, 0, offsetof(struct tm, tm_hour) },
	{ 'M', 2, 60, 0, offsetof(struct tm, tm_min) },
	{ 'S', 2, 1, 0, offsetof(struct tm, tm_sec) },
};

/* One of a folder's files that belong to the series. */
struct member {
	char *path;
	uint64_t order; /* younger ones have more: by the time in the name, if whole, or written */
	uint64_t bytes;
};

struct members {
	struct member *items;
	size_t count, cap;
	uint64_t bytes;
};

bool series_is_timed(const char *path)
{
	return strchr(path_last(path), '%');
}

static const struct field *find_field(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].letter == letter)
			return &fields[i];
	return NULL;
}

static int *member_of(struct tm *tm, const struct field *field)
{
	return (int *)((char *)tm + field->offset);
}

/* Where the extension begins; the end: there is none. That of a packed file has two parts. */
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
	char *name = mem_zalloc(strlen(path) * 2 + 1, 1), *to = name; /* 2 letters become 4 */
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

char *series_name(const struct series *series, unsigned int n, uint64_t start_unix_ns)
{
	const char *extension = find_extension(path_last(series->path));

	if (series_is_timed(series->path))
		return timed_name(series->path, start_unix_ns);
	return mem_printf("%.*s.%03u%s", (int)(extension - series->path), series->path, n,
			  extension);
}

/* ---- reading names ---- */

/* width digits; -1: they are none. */
static int read_digits(const char *text, int width)
{
	int value = 0;

	for (int i = 0; i < width; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
		value = value * 10 + text[i] - '0';
	}
	return value;
}

/* Years, months, days, or days of the year, down to seconds. */
static uint64_t order_of(const struct tm *tm)
{
	uint64_t days = (uint64_t)tm->tm_year * 1000 + (uint64_t)tm->tm_yday;

	days = days * 100 + (uint64_t)tm->tm_mon;
	days = days * 100 + (uint64_t)tm->tm_mday;
	return ((days * 100 + (uint64_t)tm->tm_hour) * 100 + (uint64_t)tm->tm_min) * 100 +
	       (uint64_t)tm->tm_sec;
}

/* False: not a name that the pattern makes. */
static bool match_time(const char *pattern, const char *name, uint64_t *order)
{
	struct tm tm = {};

	for (; *pattern; pattern++) {
		const struct field *field = *pattern == '%' ? find_field(pattern[1]) : NULL;
		int value = field ? read_digits(name, field->width) : *name == *pattern;

		if (field ? value < 0 : !value)
			return false;
		if (field)
			*member_of(&tm, field) = value;
		name += field ? field->width : 1;
		pattern += *pattern == '%';
	}
	*order = order_of(&tm);
	return !*name;
}

static bool match_number(const char *pattern, const char *name)
{
	const char *extension = find_extension(pattern);
	size_t stem = (size_t)(extension - pattern);

	if (strncmp(name, pattern, stem) || name[stem] != '.' ||
	    read_digits(name + stem + 1, 3) < 0)
		return false;
	name += stem + 1;
	return !strcmp(name + strspn(name, "0123456789"), extension);
}

static uint64_t modified_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static bool has_field(const char *pattern, char letter)
{
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
		if (at[1] == letter)
			return true;
	return false;
}

/*
 * Whether no name comes again: without the date, the first one of a day would be older than the
 * last one of the day before.
 */
static bool has_whole_time(const char *pattern)
{
	bool has_day =
		has_field(pattern, 'j') || (has_field(pattern, 'm') && has_field(pattern, 'd'));
	bool needs_minute = has_field(pattern, 'S');
	bool needs_hour = needs_minute || has_field(pattern, 'M');
	bool needs_day = needs_hour || has_field(pattern, 'H') || has_field(pattern, 'd');

	return has_field(pattern, 'Y') && (has_day || !needs_day) &&
	       (has_field(pattern, 'H') || !needs_hour) &&
	       (has_field(pattern, 'M') || !needs_minute);
}

/* Numbers may be of another run; when the file was written tells. */
static void add_member(const struct series *series, struct members *members, const char *name)
{
	const char *pattern = path_last(series->path);
	bool is_timed = series_is_timed(pattern);
	struct member member = {};
	struct stat st;

	if (is_timed ? !match_time(pattern, name, &member.order) : !match_number(pattern, name))
		return;
	member.path = mem_printf("%.*s%s", (int)(pattern - series->path), series->path, name);
	if (lstat(member.path, &st) || !S_ISREG(st.st_mode)) {
		free(member.path);
		return;
	}
	member.bytes = (uint64_t)st.st_size;
	if (!is_timed || !has_whole_time(pattern))
		member.order = modified_ns(&st);
	members->items =
		mem_grow(members->items, members->count, &members->cap, sizeof(*members->items));
	members->items[members->count++] = member;
	members->bytes += member.bytes;
}

static int by_order(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Oldest first. */
static struct members find_members(const struct series *series)
{
	int length = (int)(path_last(series->path) - series->path);
	char *folder = length ? mem_strndup(series->path, (size_t)length) : mem_strdup(".");
	struct members members = {};
	const struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir)))
		add_member(series, &members, entry->d_name);
	if (dir)
		closedir(dir);
	free(folder);
	if (members.count)
		qsort(members.items, members.count, sizeof(*members.items), by_order);
	return members;
}

static void free_members(struct members *members)
{
	for (size_t i = 0; i < members->count; i++)
		free(members->items[i].path);
	free(members->items);
}

/* ---- checking and pruning ---- */

/* finest_s: of its fields. */
static int check_pattern(const char *path, uint64_t *finest_s)
{
	const char *file = path_last(path);

	*finest_s = UINT64_MAX;
	if (memchr(path, '%', (size_t)(file - path)))
		return msg_error(
			"--output %s: only the file's name can have '%%', not its folder's", path);
	for (const char *at = strchr(file, '%'); at; at = strchr(at + 2, '%')) {
		const struct field *field = find_field(at[1]);

		if (!field && at[1] != '%')
			return msg_error("--output %s: behind '%%' comes one of Y m d j H M S %%",
					 path);
		if (field && field->unit_s < *finest_s)
			*finest_s = field->unit_s;
	}
	return 0;
}

static int check_timed(const struct series *series, uint64_t start_unix_ns, uint64_t interval_ns)
{
	uint64_t finest_s;
	char *first;
	int err = check_pattern(series->path, &finest_s);

	if (err)
		return err;
	if (interval_ns && interval_ns / NS_PER_S < finest_s)
		return msg_error(
			"--output %s: two reports may have the same name (a longer --interval, "
			"or a finer time)",
			series->path);
	first = series_name(series, 1, start_unix_ns);
	if (!series->overwrite && !access(first, F_OK))
		err = msg_error("--output %s: %s exists (--overwrite replaces it)", series->path,
				first);
	free(first);
	return err;
}

/* Numbers begin with 1 again: whatever an earlier run has left would be met in time. */
static int check_numbers(const struct series *series)
{
	struct members members = find_members(series);
	int err = 0;

	if (members.count && !series->overwrite) {
		err = msg_error("--output %s: %s exists", series->path, members.items[0].path);
		msg_hint("--overwrite replaces it, '%%Y%%m%%dT%%H%%M%%SZ' in the name keeps runs "
			 "apart");
	}
	free_members(&members);
	return err;
}

int series_check(const struct series *series, uint64_t start_unix_ns, uint64_t interval_ns)
{
	return series_is_timed(series->path) ? check_timed(series, start_unix_ns, interval_ns)
					     : check_numbers(series);
}

static bool is_too_much(const struct series *series, size_t count, uint64_t bytes)
{
	return (series->keep && count > series->keep) ||
	       (series->keep_bytes && bytes > series->keep_bytes && count > 1);
}

void series_prune(const struct series *series, const char *latest)
{
	struct members members;
	size_t left;

	if (!series->keep && !series->keep_bytes)
		return;
	members = find_members(series);
	left = members.count;
	for (size_t i = 0; is_too_much(series, left, members.bytes) && i < members.count; i++) {
		const struct member *member = &members.items[i];

		if (!strcmp(member->path, latest))
			continue;
		if (unlink(member->path) && errno != ENOENT)
			msg_warn("removing %s: %s", member->path, strerror(errno));
		members.bytes -= member->bytes;
		left--;
	}
	free_members(&members);
}
