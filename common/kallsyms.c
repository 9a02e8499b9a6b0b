// SPDX-License-Identifier: GPL-2.0-only
/*
 * Picking lines of /proc/kallsyms. The wanted addresses cut the address space into gaps; of each
 * gap only its lowest symbols, which bound the wanted address below, and its highest, which may
 * hold the wanted address above, can matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kallsyms.h"
#include "mem.h"

#define CHUNK_BYTES (64u << 10)

/* Lines that share an address. */
struct lines {
	uint64_t addr;
	char *text;
	size_t used, cap;
};

/* Symbols above the wanted address before, up to and with the one that ends the gap. */
struct gap {
	struct lines lowest, highest;
};

struct picker {
	const uint64_t *addrs;
	size_t n; /* addresses; there is one gap more */
	struct gap *gaps;
	struct lines hidden; /* the first line, for a file that tells no addresses */
	bool any_shown;
};

static void put_line(struct lines *to, uint64_t addr, const char *line, size_t length)
{
	if (!length)
		return;
	if (to->addr != addr)
		to->used = 0;
	to->addr = addr;
	if (to->used + length > to->cap) {
		to->cap = 2 * (to->used + length);
		to->text = mem_realloc(to->text, to->cap, 1);
	}
	memcpy(to->text + to->used, line, length);
	to->used += length;
}

/* The first wanted address at or above addr. */
static size_t find_gap(const struct picker *p, uint64_t addr)
{
	size_t below = 0, above = p->n, middle;

	while (below < above) {
		middle = (below + above) / 2;
		if (p->addrs[middle] < addr)
			below = middle + 1;
		else
			above = middle;
	}
	return below;
}

static uint64_t parse_hex(const char *s)
{
	uint64_t value = 0;

	for (; *s != ' ' && *s != '\n'; s++)
		value = value << 4 | (uint64_t)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
	return value;
}

/* length includes the newline. */
static void pick_line(struct picker *p, const char *line, size_t length)
{
	uint64_t addr = parse_hex(line);
	struct gap *gap;

	if (!addr) {
		if (!p->hidden.used)
			put_line(&p->hidden, 0, line, length);
		return;
	}
	p->any_shown = true;
	gap = &p->gaps[find_gap(p, addr)];
	if (!gap->lowest.used || addr <= gap->lowest.addr)
		put_line(&gap->lowest, addr, line, length);
	if (addr >= gap->highest.addr)
		put_line(&gap->highest, addr, line, length);
}

/* Whole lines of a chunk; returns the bytes of the last, unfinished one. */
static size_t pick_lines(struct picker *p, char *chunk, size_t size)
{
	char *line = chunk, *end;

	while ((end = memchr(line, '\n', size - (size_t)(line - chunk)))) {
		pick_line(p, line, (size_t)(end + 1 - line));
		line = end + 1;
	}
	size -= (size_t)(line - chunk);
	memmove(chunk, line, size);
	return size;
}

static int pick_file(struct picker *p, int fd)
{
	char *chunk = mem_zalloc(1, CHUNK_BYTES);
	size_t kept = 0;
	ssize_t n;

	while ((n = read(fd, chunk + kept, CHUNK_BYTES - kept)) > 0)
		kept = pick_lines(p, chunk, kept + (size_t)n);
	free(chunk);
	return n < 0 ? -errno : 0;
}

static void append(struct lines *to, struct lines *lines)
{
	put_line(to, 0, lines->text, lines->used);
	free(lines->text);
}

static char *join(struct picker *p, size_t *size)
{
	struct lines all = {};

	if (!p->any_shown)
		append(&all, &p->hidden);
	else
		free(p->hidden.text);
	for (size_t i = 0; i <= p->n; i++) {
		bool is_one = p->gaps[i].lowest.addr == p->gaps[i].highest.addr;

		append(&all, &p->gaps[i].lowest);
		if (is_one)
			free(p->gaps[i].highest.text);
		else
			append(&all, &p->gaps[i].highest);
	}
	*size = all.used;
	put_line(&all, 0, "", 1);
	return all.text;
}

char *kallsyms_around(const char *path, const uint64_t *addrs, size_t n, size_t *size)
{
	struct picker p = { .addrs = addrs, .n = n };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *text;

	if (fd < 0)
		return NULL;
	p.gaps = mem_zalloc(n + 1, sizeof(*p.gaps));
	err = pick_file(&p, fd);
	close(fd);
	text = join(&p, size);
	free(p.gaps);
	if (!err)
		return text;
	free(text);
	errno = -err;
	return NULL;
}
