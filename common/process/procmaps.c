// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parser for /proc/PID/maps. Lines are
 *	start-end perms offset major:minor inode      path
 * with everything but the inode in hex. The traced side chooses paths and can change its mappings
 * while they are read, so a line that makes no sense or overlaps an earlier one is left out.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/readfile.h"
#include "base/search.h"
#include "process/procmaps.h"
#include "process/procstate.h"

/* A million mappings with paths of 500 bytes; what has more is not worth root's memory. */
#define MAPS_MAX_BYTES (512u << 20)

/* Takes a number and the delimiter after it. */
static bool take_number(const char **s, int base, char delimiter, uint64_t *value)
{
	char *end;

	if (!strchr("0123456789abcdef", **s) || !**s)
		return false;
	errno = 0;
	*value = strtoull(*s, &end, base);
	if (errno || *end != delimiter)
		return false;
	*s = end + 1;
	return true;
}

/* "r-xp", or "rw-s" where processes share it. */
static bool take_perms(const char **s, bool *executable, bool *is_shared)
{
	if (strnlen(*s, 5) < 5 || (*s)[4] != ' ')
		return false;
	*executable = (*s)[2] == 'x';
	*is_shared = (*s)[3] == 's';
	*s += 5;
	return true;
}

/* The inode ends its line where there is no path. */
static bool take_inode(const char **s, ino_t *ino)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*ino = strtoull(*s, &end, 10);
	*s = end;
	return !errno && strchr(" \n", *end);
}

/* The kernel escapes the newline only, not the backslash: undoing others would garble names. */
static char *copy_path(const char *s)
{
	size_t n = strcspn(s, "\n");
	char *path, *to;

	for (; *s == ' '; n--)
		s++;
	to = path = mem_strndup(s, n);
	for (const char *from = path; *from; from++) {
		bool newline = !strncmp(from, "\\012", 4);

		*to++ = newline ? '\n' : *from;
		from += newline ? 3 : 0;
	}
	*to = '\0';
	return path;
}

/* Fills in everything but the path, to whose beginning it returns a pointer; NULL: not for us. */
static const char *parse_line(const char *s, bool is_code_only, struct mapping *m)
{
	uint64_t dev_major, dev_minor;
	bool executable;

	if (!take_number(&s, 16, '-', &m->start) || !take_number(&s, 16, ' ', &m->end) ||
	    !take_perms(&s, &executable, &m->is_shared) || !take_number(&s, 16, ' ', &m->offset) ||
	    !take_number(&s, 16, ':', &dev_major) || !take_number(&s, 16, ' ', &dev_minor) ||
	    !take_inode(&s, &m->ino))
		return NULL;
	m->dev = makedev(dev_major, dev_minor);
	return (executable || !is_code_only) && m->start < m->end ? s : NULL;
}

static void parse_lines(struct mappings *maps, const char *text, bool is_code_only)
{
	size_t cap = 0;
	uint64_t end = 0;

	memset(maps, 0, sizeof(*maps));
	for (const char *next; *text; text = next) {
		struct mapping m = { 0 };
		const char *path = parse_line(text, is_code_only, &m);

		next = strchrnul(text, '\n');
		next += *next == '\n';
		if (!path || m.start < end)
			continue;
		m.path = copy_path(path);
		end = m.end;
		maps->items = mem_grow(maps->items, maps->count, &cap, sizeof(m));
		maps->items[maps->count++] = m;
	}
}

void mappings_parse(struct mappings *maps, const char *text)
{
	parse_lines(maps, text, true);
}

static char *read_maps(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return readfile(path, MAPS_MAX_BYTES, NULL);
}

static int read_lines(struct mappings *maps, pid_t pid, bool is_code_only)
{
	char *text = read_maps(pid);
	pid_t live = text && !*text ? process_live_task(pid) : pid;

	memset(maps, 0, sizeof(*maps));
	if (live != pid) {
		free(text);
		text = read_maps(live);
	}
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	parse_lines(maps, text, is_code_only);
	free(text);
	return 0;
}

int mappings_read(struct mappings *maps, pid_t pid)
{
	return read_lines(maps, pid, true);
}

int mappings_read_all(struct mappings *maps, pid_t pid)
{
	return read_lines(maps, pid, false);
}

void mappings_free(struct mappings *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		free(maps->items[i].path);
	free(maps->items);
	memset(maps, 0, sizeof(*maps));
}

const struct mapping *mappings_find(const struct mappings *maps, uint64_t addr)
{
	size_t i = SEARCH_RANK(maps->items, maps->count, end, addr);

	return i < maps->count && maps->items[i].start <= addr ? &maps->items[i] : NULL;
}
