// SPDX-License-Identifier: GPL-2.0-only
/*
 * Picking lines of /proc/kallsyms. The wanted addresses cut the address space into gaps; of each
 * gap only its lowest symbols, which bound the wanted address below, and its highest, which may
 * hold the wanted address above, can matter.
 *
 * A copy has a record for each line: its type, how far its address is from the one before, how much
 * of its name is as in the one before, and the rest of the name. Half of the names are of the padding
 * before functions: "__pfx_" is a bit of the type.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kallsyms.h"
#include "mem.h"

#define CHUNK_BYTES    (64u << 10)
#define ADDRESS_DIGITS 16
#define SPARE_BYTES    8 /* behind a chunk, so that they can be looked at together */

/* Lines that share an address, which is left out: "T NAME" and maybe "\t[MODULE]". */
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
	size_t n;    /* addresses; there is one gap more */
	size_t last; /* the gap that the last line was in */
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

/* Lines mostly come in order, so that the gap is often that of the line before. */
static struct gap *gap_of(struct picker *p, uint64_t addr)
{
	bool is_above = !p->last || p->addrs[p->last - 1] < addr;
	bool is_below = p->last == p->n || addr <= p->addrs[p->last];

	if (!is_above || !is_below)
		p->last = find_gap(p, addr);
	return &p->gaps[p->last];
}

/* text: what follows on the address, with the newline. */
static void pick_line(void *arg, uint64_t addr, const char *text, size_t length)
{
	struct picker *p = arg;
	struct gap *gap;

	if (!addr) {
		if (!p->hidden.used)
			put_line(&p->hidden, 0, text, length);
		return;
	}
	p->any_shown = true;
	gap = gap_of(p, addr);
	if (!gap->lowest.used || addr <= gap->lowest.addr)
		put_line(&gap->lowest, addr, text, length);
	if (addr >= gap->highest.addr)
		put_line(&gap->highest, addr, text, length);
}

/* ---- the file ---- */

typedef void line_fn(void *arg, uint64_t addr, const char *text, size_t length);

/* Eight hexadecimal digits at once: each becomes a byte's value, then they are packed in pairs. */
static uint32_t parse_digits(const char *s)
{
	uint64_t x;

	memcpy(&x, s, sizeof(x));
	x = __builtin_bswap64(x);
	x = (x & 0x0f0f0f0f0f0f0f0f) + 9 * (x >> 6 & 0x0101010101010101);
	x = (x | x >> 4) & 0x00ff00ff00ff00ff;
	x = (x | x >> 8) & 0x0000ffff0000ffff;
	return (uint32_t)(x | x >> 16);
}

/* The address, and what follows on it: 16 digits and a space, as long as addresses have 64 bits. */
static uint64_t parse_address(const char **line, const char *end)
{
	const char *s = *line;

	if (end - s <= ADDRESS_DIGITS || s[ADDRESS_DIGITS] != ' ')
		return 0;
	*line += ADDRESS_DIGITS + 1;
	return (uint64_t)parse_digits(s) << 32 | parse_digits(s + ADDRESS_DIGITS / 2);
}

/* Whole lines of a chunk; returns the bytes of the last, unfinished one. */
static size_t visit_lines(char *chunk, size_t size, line_fn *visit, void *arg)
{
	const char *line = chunk, *end;
	uint64_t addr;

	while ((end = memchr(line, '\n', size - (size_t)(line - chunk)))) {
		addr = parse_address(&line, end);
		visit(arg, addr, line, (size_t)(end + 1 - line));
		line = end + 1;
	}
	size -= (size_t)(line - chunk);
	memmove(chunk, line, size);
	return size;
}

static int visit_file(const char *path, line_fn *visit, void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	char *chunk;
	ssize_t n;

	if (fd < 0)
		return -errno;
	chunk = mem_zalloc(1, CHUNK_BYTES + SPARE_BYTES);
	while ((n = read(fd, chunk + kept, CHUNK_BYTES - kept)) > 0)
		kept = visit_lines(chunk, kept + (size_t)n, visit, arg);
	free(chunk);
	close(fd);
	return n < 0 ? -errno : 0;
}

/* ---- a copy ---- */

#define NAME_MAX_BYTES	 1024 /* KSYM_NAME_LEN is 512 */
#define MODULE_MAX_BYTES 128
#define RECORD_MAX_BYTES (NAME_MAX_BYTES + MODULE_MAX_BYTES + 32)

#define TYPE_IS_PADDING 0x80 /* a bit of a record's first byte */
#define TYPE_MODULE	0    /* no symbol: from here on they are of another module */

static const char padding_prefix[] = "__pfx_";
#define PREFIX_BYTES (sizeof(padding_prefix) - 1)

struct kallsyms_copy {
	uint8_t *bytes;
	size_t used, cap;
};

struct copier {
	struct kallsyms_copy *copy;
	uint64_t addr; /* of the line before, and its name and module */
	char name[NAME_MAX_BYTES + SPARE_BYTES];
	size_t name_length;
	char module[MODULE_MAX_BYTES];
	size_t module_length;
};

static void put_byte(struct kallsyms_copy *copy, uint8_t byte)
{
	copy->bytes[copy->used++] = byte;
}

static void put_bytes(struct kallsyms_copy *copy, const char *from, size_t n)
{
	memcpy(copy->bytes + copy->used, from, n);
	copy->used += n;
	put_byte(copy, 0);
}

/* Seven bits at a time; the sign is the last bit. */
static void put_distance(struct kallsyms_copy *copy, uint64_t distance)
{
	uint64_t value = distance << 1 ^ (distance >> 63 ? UINT64_MAX : 0);

	for (; value >= 0x80; value >>= 7)
		put_byte(copy, (uint8_t)(value | 0x80));
	put_byte(copy, (uint8_t)value);
}

static uint64_t take_distance(const uint8_t **at)
{
	uint64_t value = 0;
	int shift = 0;

	for (; **at & 0x80; shift += 7)
		value |= (uint64_t)(*(*at)++ & 0x7f) << shift;
	value |= (uint64_t) * (*at)++ << shift;
	return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static void make_room(struct kallsyms_copy *copy)
{
	if (copy->cap - copy->used >= RECORD_MAX_BYTES)
		return;
	copy->cap += copy->cap / 4 + CHUNK_BYTES;
	copy->bytes = mem_realloc(copy->bytes, copy->cap, 1);
}

static void copy_module(struct copier *c, const char *module, size_t length)
{
	if (length == c->module_length && !memcmp(module, c->module, length))
		return;
	memcpy(c->module, module, length);
	c->module_length = length;
	put_byte(c->copy, TYPE_MODULE);
	put_bytes(c->copy, module, length);
}

/* Eight bytes at a time: of padding and its function, all are. There are some to spare behind both. */
static size_t count_shared(const struct copier *c, const char *name, size_t length)
{
	size_t max = length < c->name_length ? length : c->name_length, n;
	uint64_t a, b;

	max = max < UINT8_MAX ? max : UINT8_MAX;
	for (n = 0; n < max; n += SPARE_BYTES) {
		memcpy(&a, name + n, sizeof(a));
		memcpy(&b, c->name + n, sizeof(b));
		if (a != b) {
			n += (size_t)__builtin_ctzll(a ^ b) / 8;
			break;
		}
	}
	return n < max ? n : max;
}

static void copy_symbol(struct copier *c, uint64_t addr, char type, const char *name, size_t length)
{
	bool is_padding = length > PREFIX_BYTES && !memcmp(name, padding_prefix, PREFIX_BYTES);
	size_t shared;

	name += is_padding ? PREFIX_BYTES : 0;
	length -= is_padding ? PREFIX_BYTES : 0;
	shared = count_shared(c, name, length);
	put_byte(c->copy, (uint8_t)type | (is_padding ? TYPE_IS_PADDING : 0));
	put_distance(c->copy, addr - c->addr);
	put_byte(c->copy, (uint8_t)shared);
	put_bytes(c->copy, name + shared, length - shared);
	memcpy(c->name + shared, name + shared, length - shared);
	c->name_length = length;
	c->addr = addr;
}

/* "T NAME\n" or "t NAME\t[MODULE]\n". What is nothing of the kind is left out. */
static void copy_line(void *arg, uint64_t addr, const char *text, size_t length)
{
	const char *end = text + length - 1, *name = text + 2, *tab;
	struct copier *c = arg;

	if (length < 4 || *text <= 0 || text[1] != ' ')
		return;
	tab = end[-1] == ']' ? memchr(name, '\t', (size_t)(end - name)) : NULL;
	if ((tab ? tab : end) - name >= NAME_MAX_BYTES || (tab && end - tab >= MODULE_MAX_BYTES))
		return;
	make_room(c->copy);
	copy_module(c, tab ? tab : end, tab ? (size_t)(end - tab) : 0);
	copy_symbol(c, addr, *text, name, (size_t)((tab ? tab : end) - name));
}

struct kallsyms_copy *kallsyms_copy(const char *path)
{
	struct kallsyms_copy *copy = mem_zalloc(1, sizeof(*copy));
	struct copier copier = { .copy = copy };
	int err = visit_file(path, copy_line, &copier);

	if (!err)
		return copy;
	kallsyms_free(copy);
	errno = -err;
	return NULL;
}

void kallsyms_free(struct kallsyms_copy *copy)
{
	if (!copy)
		return;
	free(copy->bytes);
	free(copy);
}

size_t kallsyms_bytes(const struct kallsyms_copy *copy)
{
	return copy->cap;
}

/* A line as it is put together again: its name stays at its place, for the next one. */
struct line {
	char text[RECORD_MAX_BYTES]; /* "t __pfx_NAME", of which maybe only "t NAME" is wanted */
	const char *module;	     /* "\t[MODULE]" or "" */
};

static void visit_record(struct line *line, uint8_t type, size_t name_length, uint64_t addr,
			 line_fn *visit, void *arg)
{
	bool is_padding = type & TYPE_IS_PADDING;
	char *start = line->text + (is_padding ? 0 : PREFIX_BYTES);
	char *end = line->text + 2 + PREFIX_BYTES + name_length;

	if (is_padding)
		memcpy(start + 2, padding_prefix, PREFIX_BYTES);
	start[0] = (char)(type & ~TYPE_IS_PADDING);
	start[1] = ' ';
	end = stpcpy(end, line->module);
	*end++ = '\n';
	visit(arg, addr, start, (size_t)(end - start));
}

static void visit_copy(const struct kallsyms_copy *copy, line_fn *visit, void *arg)
{
	const uint8_t *at = copy->bytes, *end = copy->bytes + copy->used;
	struct line line = { .module = "" };
	uint64_t addr = 0;

	while (at < end) {
		uint8_t type = *at++;
		size_t shared = 0, rest;

		if (type != TYPE_MODULE) {
			addr += take_distance(&at);
			shared = *at++;
		}
		rest = strlen((const char *)at);
		if (type == TYPE_MODULE) {
			line.module = (const char *)at;
		} else {
			memcpy(line.text + 2 + PREFIX_BYTES + shared, at, rest);
			visit_record(&line, type, shared + rest, addr, visit, arg);
		}
		at += rest + 1;
	}
}

/* ---- what is picked ---- */

/* With their address again. */
static void append(struct lines *to, struct lines *lines)
{
	char *line = lines->text, *end = line + lines->used, *next;
	char addr[20];

	for (; line < end; line = next) {
		next = (char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		snprintf(addr, sizeof(addr), "%016llx ", (unsigned long long)lines->addr);
		put_line(to, 0, addr, strlen(addr));
		put_line(to, 0, line, (size_t)(next - line));
	}
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
	free(p->gaps);
	*size = all.used;
	put_line(&all, 0, "", 1);
	return all.text;
}

static struct picker new_picker(const uint64_t *addrs, size_t n)
{
	return (struct picker){
		.addrs = addrs,
		.n = n,
		.gaps = mem_zalloc(n + 1, sizeof(struct gap)),
	};
}

char *kallsyms_around(const char *path, const uint64_t *addrs, size_t n, size_t *size)
{
	struct picker p = new_picker(addrs, n);
	int err = visit_file(path, pick_line, &p);
	char *text = join(&p, size);

	if (!err)
		return text;
	free(text);
	errno = -err;
	return NULL;
}

char *kallsyms_copied(const struct kallsyms_copy *copy, const uint64_t *addrs, size_t n,
		      size_t *size)
{
	struct picker p = new_picker(addrs, n);

	visit_copy(copy, pick_line, &p);
	return join(&p, size);
}
