// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function symbols of an ELF file, as a sorted array. elfsources.c delivers symbols of 16 bytes,
 * sorted, the best one per address, and the strings with their names. Both are stored unchanged, so
 * that reading a large file takes hardly more memory than its result.
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

#define NESTING_MAX 16
#define NO_PARENT   UINT32_MAX

/* An overlong name is cut to this length (with terminator), which marks it as overlong. */
#define ABSURD_BYTES (SYMBOL_NAME_MAX + 2)

struct elfsyms {
	/* value: a union candidate with the function's size */
	struct addr_item *syms;
	/* index of the symbol around this one's start; or NO_PARENT */
	uint32_t *parents;
	size_t count;
	struct source_strings strings[N_SOURCES];
	struct elfsegs segs;
	char **readable; /* demangled names of requested symbols; NULL: none yet */
	size_t readable_bytes;
};

static union candidate candidate_of(const struct addr_item *sym)
{
	return (union candidate){ .value = sym->value };
}

static bool covers(const struct addr_item *sym, uint64_t addr)
{
	return addr - sym->addr < candidate_of(sym).size;
}

/*
 * Returns the innermost symbol that covers addr. Skipped symbols are never visited again, so that
 * all calls together take linear time.
 */
static uint32_t find_parent(const struct elfsyms *es, uint64_t addr)
{
	uint32_t i = es->count ? es->count - 1 : NO_PARENT;

	while (i != NO_PARENT && !covers(&es->syms[i], addr))
		i = es->parents[i];
	return i;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Adds a symbol, unless it is a label: without size, inside a function, which it does not end. */
static void add_symbol(struct elfsyms *es, struct addr_item sym, uint64_t end)
{
	union candidate c = candidate_of(&sym);
	uint32_t parent = find_parent(es, sym.addr);

	if (!c.size && parent != NO_PARENT)
		return;
	c.size = min_u64(end - sym.addr, CANDIDATE_MAX_BYTES);
	es->parents[es->count] = parent;
	es->syms[es->count++] = (struct addr_item){ .addr = sym.addr, .value = c.value };
}

/*
 * Returns the end of a symbol: by its size, else by the next symbol, at most its section's end. If
 * only exported functions are known, others may lie before the next symbol.
 */
static uint64_t find_end(struct elfsources *sources, size_t i)
{
	const struct addr_item *sym = &sources->candidates[i];
	uint64_t next = i + 1 < sources->n_candidates ? sym[1].addr : UINT64_MAX;
	uint64_t size = candidate_of(sym).size, end;

	end = min_u64(elfsources_section(sources, sym->addr)->value,
		      size ? sym->addr + size : next);
	if (size || elfsources_has_all(sources))
		return end;
	return elfsources_code_end(sources, sym->addr, end);
}

/* Builds the symbols in the memory of the candidates. */
static struct elfsyms *build(struct elfsources *sources)
{
	struct elfsyms *es = mem_zalloc(1, sizeof(*es));
	size_t n = sources->n_candidates;

	es->segs = sources->segs;
	es->syms = sources->candidates;
	es->parents = mem_realloc(NULL, n, sizeof(*es->parents));
	for (size_t i = 0; i < n; i++)
		add_symbol(es, sources->candidates[i], find_end(sources, i));
	sources->candidates = NULL;
	es->syms = mem_realloc(es->syms, es->count, sizeof(*es->syms));
	es->parents = mem_realloc(es->parents, es->count, sizeof(*es->parents));
	memcpy(es->strings, sources->strings, sizeof(es->strings));
	memset(sources->strings, 0, sizeof(sources->strings));
	return es;
}

static struct elfsyms *load(const struct elffile *f, const struct debug_place *place)
{
	struct elfsyms *es = NULL;
	struct elfsources sources;
	int err;

	errno = 0; /* libelf does not report failed reads: errno shows them */
	err = elfsources_read(&sources, f, place);
	if (!err)
		es = build(&sources);
	unreadable_report(-errno);
	elfsources_free(&sources);
	errno = -err;
	return es;
}

/* ---- names ---- */

/* Progress of compacting the names of one source. */
struct moved_names {
	size_t used;  /* bytes of compacted names */
	size_t start; /* new offset of the last moved name */
	size_t from;  /* its old offset */
	size_t end;   /* old offset of its end */
	bool is_absurd;
};

static char *text_of_name(const struct elfsyms *es, size_t i)
{
	union candidate c = candidate_of(&es->syms[i]);

	return es->strings[c.source].text + c.name;
}

static int compare_places(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns symbol indices sorted by the offsets of their names (upper 32 bits). */
static uint64_t *sort_names(const struct elfsyms *es)
{
	uint64_t *order = mem_realloc(NULL, es->count, sizeof(*order));

	for (size_t i = 0; i < es->count; i++)
		order[i] = (uint64_t)candidate_of(&es->syms[i]).name << 32 | i;
	qsort(order, es->count, sizeof(*order), compare_places);
	return order;
}

/* Moves a name down; cuts it to ABSURD_BYTES, which marks it, if it is overlong. */
static void move_text(char *text, size_t from, struct moved_names *moved)
{
	size_t bytes = strlen(text + from) + 1;

	moved->is_absurd = bytes > 2 * ABSURD_BYTES;
	bytes = moved->is_absurd ? ABSURD_BYTES : bytes;
	memmove(text + moved->used, text + from, bytes);
	moved->start = moved->used;
	moved->used += bytes;
	moved->from = from;
	moved->end = from + bytes;
	text[moved->used - 1] = '\0';
}

/* Moves a name down, unless it is a suffix of the last moved one and so has moved with it. */
static void move_name(struct elfsyms *es, size_t i, struct moved_names *moved)
{
	union candidate c = candidate_of(&es->syms[i]);

	if (c.name >= moved->end)
		move_text(es->strings[c.source].text, c.name, moved);
	c.name = moved->is_absurd ? moved->start : c.name - moved->from + moved->start;
	es->syms[i].value = c.value;
}

/*
 * Drops all names but the functions': names of variables are most strings of some files. Compacts
 * in place, since a copy would need the memory twice for a moment.
 */
static void keep_used_names(struct elfsyms *es)
{
	struct moved_names moved[N_SOURCES] = { { 0 } };
	uint64_t *order = sort_names(es);

	for (size_t k = 0; k < es->count; k++) {
		size_t i = (uint32_t)order[k];

		move_name(es, i, &moved[candidate_of(&es->syms[i]).source]);
	}
	free(order);
	for (size_t i = 0; i < N_SOURCES; i++) {
		es->strings[i].text = mem_realloc(es->strings[i].text, moved[i].used, 1);
		es->strings[i].size = moved[i].used;
	}
}

/* Loads the symbols, if opening the file succeeded (err), and closes it. */
static struct elfsyms *load_and_close(struct elffile *f, int err, const struct debug_place *place)
{
	struct elfsyms *es = NULL;

	if (!err) {
		es = load(f, place);
		err = -errno;
		elffile_close(f);
	}
	if (es)
		keep_used_names(es);
	errno = -err;
	return es;
}

struct elfsyms *elfsyms_load(int fd, const struct debug_place *place)
{
	struct elffile f;

	return load_and_close(&f, elffile_open(&f, fd), place);
}

struct elfsyms *elfsyms_load_image(const void *image, size_t size)
{
	struct elffile f;

	return load_and_close(&f, elffile_open_image(&f, image, size), NULL);
}

/* Returns a symbol's name; NULL: it is overlong, or empty. */
static char *name_of(const struct elfsyms *es, uint32_t i)
{
	char *name = text_of_name(es, i);

	return *name && strnlen(name, SYMBOL_NAME_MAX + 1) <= SYMBOL_NAME_MAX ? name : NULL;
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	for (size_t i = 0; es->readable && i < es->count; i++)
		if (es->readable[i] != text_of_name(es, i))
			free(es->readable[i]);
	for (size_t i = 0; i < N_SOURCES; i++)
		free(es->strings[i].text);
	free(es->readable);
	free(es->parents);
	free(es->syms);
	free(es);
}

static uint32_t find_symbol(const struct elfsyms *es, uint64_t vaddr)
{
	size_t rank = SEARCH_RANK(es->syms, es->count, addr, vaddr);
	uint32_t i = rank ? (uint32_t)rank - 1 : NO_PARENT;

	for (int depth = 0; depth < NESTING_MAX && i != NO_PARENT; depth++) {
		if (covers(&es->syms[i], vaddr))
			return i;
		i = es->parents[i];
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
	return name_of(es, i);
}

/* Demangles a symbol's name; returns the name itself if it is not mangled. */
static char *make_readable(struct elfsyms *es, uint32_t i)
{
	char *name = name_of(es, i), *text = name ? demangle(name) : NULL;

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
	size_t bytes = sizeof(*es) + es->readable_bytes;

	bytes += es->count * (sizeof(*es->syms) + sizeof(*es->parents));
	bytes += es->readable ? es->count * sizeof(*es->readable) : 0;
	for (size_t i = 0; i < N_SOURCES; i++)
		bytes += es->strings[i].size;
	return bytes;
}
