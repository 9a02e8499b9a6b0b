// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function symbols of an ELF file, as a sorted array. elfsources.c delivers them in 16 bytes each,
 * sorted, the best one for each address. Names are copied in the order of addresses, so that
 * lookups of neighbours touch neighbouring memory.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "elf/unreadable.h"
#include "symbols/demangle.h"
#include "symbols/elfsources.h"
#include "symbols/elfsyms.h"

#define SYMBOL_NAME_MAX	 (64u << 10)
#define NESTING_MAX	 16
#define NO_PARENT	 UINT32_MAX
#define POOL_SPARE_BYTES 4096

struct sym {
	uint64_t addr;
	uint32_t size;
	uint32_t name;	 /* offset in names */
	uint32_t parent; /* the symbol before this one that also covers its first address */
};

struct elfsyms {
	struct sym *syms;
	char *names;
	size_t count, names_bytes;
	struct elfsegs segs;
	char **readable; /* of each symbol that was asked for; NULL: none was */
	size_t readable_bytes;
};

struct builder {
	struct elfsyms *es;
	struct elfsources *sources;
	size_t names_used, names_cap;
	size_t wasted_bytes; /* of names that were looked at and not taken */
};

/* Without the version: memcpy, not memcpy@@GLIBC_2.14. */
static size_t name_length(const char *name, unsigned int source)
{
	size_t n = strnlen(name, SYMBOL_NAME_MAX + 1);
	bool is_elf = source == SOURCE_SYMTAB || source == SOURCE_DYNSYM;
	const char *at = n > 1 && is_elf ? memchr(name + 1, '@', n - 1) : NULL;

	return at ? (size_t)(at - name) : n;
}

static size_t write_name(const struct builder *b, const char *name, size_t n, unsigned int source)
{
	char *to = b->es->names + b->names_used;

	if (source == SOURCE_GO)
		return gopclntab_write_name(&b->sources->go, to, name, n);
	memcpy(to, name, n);
	return n;
}

/*
 * Names may share bytes in the file, so their copies could take any size; in real files they hardly
 * exceed the section. Names beyond that limit, and names of absurd length, are dropped.
 */
static bool copy_name(struct builder *b, union candidate c, uint32_t *offset)
{
	const char *name = candidate_name(b->sources, c);
	size_t n = b->wasted_bytes > b->names_cap ? SIZE_MAX : name_length(name, c.source);

	if (n > SYMBOL_NAME_MAX || n + GO_NAME_SPARE >= b->names_cap - b->names_used) {
		b->wasted_bytes += SYMBOL_NAME_MAX;
		return false;
	}
	*offset = b->names_used;
	b->names_used += write_name(b, name, n, c.source);
	b->es->names[b->names_used++] = '\0';
	return true;
}

static bool covers(const struct sym *s, uint64_t addr)
{
	return addr - s->addr < s->size;
}

/* Drops the symbols that end before addr for good, so that all calls together are linear. */
static uint32_t find_parent(const struct elfsyms *es, uint64_t addr)
{
	uint32_t i = es->count ? es->count - 1 : NO_PARENT;

	while (i != NO_PARENT && !covers(&es->syms[i], addr))
		i = es->syms[i].parent;
	return i;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A label without size inside a sized function belongs to the function and does not end it. */
static void add_symbol(struct builder *b, const struct addr_item *item, uint64_t next)
{
	union candidate c = { .value = item->value };
	uint64_t end = elfsources_section(b->sources, item->addr)->value, reach;
	struct sym *sym = &b->es->syms[b->es->count];

	sym->parent = find_parent(b->es, item->addr);
	if (!c.size && sym->parent != NO_PARENT)
		return;
	reach = min_u64(end, c.size ? item->addr + c.size : next) - item->addr;
	sym->addr = item->addr;
	sym->size = min_u64(reach, CANDIDATE_MAX_BYTES);
	if (copy_name(b, c, &sym->name))
		b->es->count++;
}

static void build_symbols(struct builder *b)
{
	size_t n = b->sources->n_candidates;
	struct elfsyms *es = b->es;

	b->names_cap = POOL_SPARE_BYTES; /* in the end at most 2^30 + 2^25 + 4K */
	for (size_t i = 0; i < N_SOURCES; i++)
		b->names_cap += 2 * b->sources->strings[i].size;
	es->names = mem_realloc(NULL, b->names_cap, 1);
	es->syms = mem_realloc(NULL, n, sizeof(*es->syms));
	for (size_t i = 0; i < n; i++)
		add_symbol(b, &b->sources->candidates[i],
			   i + 1 < n ? b->sources->candidates[i + 1].addr : UINT64_MAX);
	es->names = mem_realloc(es->names, b->names_used, 1);
	es->syms = mem_realloc(es->syms, es->count, sizeof(*es->syms));
}

static struct elfsyms *build(struct elfsources *sources)
{
	struct builder b = { .es = mem_zalloc(1, sizeof(*b.es)), .sources = sources };

	b.es->segs = sources->segs;
	build_symbols(&b);
	b.es->names_bytes = b.names_used;
	return b.es;
}

static struct elfsyms *load(const struct elffile *f, const struct debug_place *place)
{
	struct elfsyms *es = NULL;
	struct elfsources sources;
	int err;

	errno = 0; /* libelf says of a failed read only that something is missing */
	err = elfsources_read(&sources, f, place);
	if (!err)
		es = build(&sources);
	unreadable_report(-errno);
	elfsources_free(&sources);
	errno = -err;
	return es;
}

struct elfsyms *elfsyms_load(int fd, const struct debug_place *place)
{
	struct elfsyms *es = NULL;
	struct elffile f;
	int err = elffile_open(&f, fd);

	if (!err) {
		es = load(&f, place);
		err = -errno;
		elffile_close(&f);
	}
	errno = -err;
	return es;
}

struct elfsyms *elfsyms_load_image(const void *image, size_t size)
{
	struct elfsyms *es = NULL;
	struct elffile f;
	int err = elffile_open_image(&f, image, size);

	if (!err) {
		es = load(&f, NULL);
		err = -errno;
		elffile_close(&f);
	}
	errno = -err;
	return es;
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	for (size_t i = 0; es->readable && i < es->count; i++)
		if (es->readable[i] != es->names + es->syms[i].name)
			free(es->readable[i]);
	free(es->readable);
	free(es->syms);
	free(es->names);
	free(es);
}

static uint32_t find_symbol(const struct elfsyms *es, uint64_t vaddr)
{
	size_t rank = SEARCH_RANK(es->syms, es->count, addr, vaddr);
	uint32_t i = rank ? (uint32_t)rank - 1 : NO_PARENT;

	for (int depth = 0; depth < NESTING_MAX && i != NO_PARENT; depth++) {
		if (covers(&es->syms[i], vaddr))
			return i;
		i = es->syms[i].parent;
	}
	return NO_PARENT;
}

const char *elfsyms_find(const struct elfsyms *es, uint64_t vaddr, uint64_t *start)
{
	uint32_t i = find_symbol(es, vaddr);

	if (i == NO_PARENT)
		return NULL;
	if (start)
		*start = es->syms[i].addr;
	return es->names + es->syms[i].name;
}

/* If there is nothing to demangle, the readable name is the name itself. */
static char *make_readable(struct elfsyms *es, uint32_t i)
{
	char *name = es->names + es->syms[i].name, *text = demangle(name);

	if (!text)
		return name;
	es->readable_bytes += strlen(text) + 1;
	return text;
}

const char *elfsyms_find_readable(struct elfsyms *es, uint64_t vaddr)
{
	uint32_t i = find_symbol(es, vaddr);

	if (i == NO_PARENT)
		return NULL;
	if (!es->readable)
		es->readable = mem_zalloc(es->count, sizeof(*es->readable));
	if (!es->readable[i])
		es->readable[i] = make_readable(es, i);
	return es->readable[i];
}

uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset)
{
	return elfsegs_vaddr(&es->segs, file_offset);
}

size_t elfsyms_count(const struct elfsyms *es)
{
	return es->count;
}

size_t elfsyms_bytes(const struct elfsyms *es)
{
	return sizeof(*es) + es->count * sizeof(*es->syms) + es->names_bytes + es->readable_bytes +
	       (es->readable ? es->count * sizeof(*es->readable) : 0);
}
