// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function symbols of an ELF file, as a sorted array. elfsources.c returns an array of 16 bytes per
 * symbol, sorted, with the best ones of each address. It is reused, so that reading a large file
 * takes hardly more memory than its result. Names are read when they are requested.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/unreadable.h"
#include "symbols/demangle.h"
#include "symbols/elfsources.h"
#include "symbols/elfsyms.h"

#define NESTING_MAX 16
#define NO_PARENT   UINT32_MAX

/* The name of a requested symbol. */
struct found_name {
	char *readable; /* demangled name; `name` if it is not mangled; NULL: not requested yet */
	char name[];	/* "": none */
};

struct elfsyms {
	/* value: a union candidate, whose size reaches to the function's end */
	struct addr_item *syms;
	/* index of the symbol around this one's start; or NO_PARENT */
	uint32_t *parents;
	size_t count;
	struct symbol_names names;
	struct elfsegs segs;
	struct idmap found; /* struct found_name by index + 1 */
	size_t found_bytes;
};

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

/*
 * Adds n symbols of one address, which have equal sizes. Leaves labels out: they have no size, and
 * are inside a function.
 */
static void add_symbols(struct elfsyms *es, const struct addr_item *syms, size_t n, uint64_t end)
{
	uint32_t parent = find_parent(es, syms->addr);

	if (!candidate_of(syms).size && parent != NO_PARENT)
		return;
	for (size_t i = 0; i < n; i++) {
		struct addr_item sym = syms[i];
		union candidate c = candidate_of(&sym);

		c.size = min_u64(end - sym.addr, CANDIDATE_MAX_BYTES);
		es->parents[es->count] = parent;
		es->syms[es->count++] = (struct addr_item){ .addr = sym.addr, .value = c.value };
	}
}

/*
 * Returns the end of a symbol: by its size, else by the next one, at most its section's end. If
 * only exported functions are known, others may lie before the next symbol.
 */
static uint64_t find_end(struct elfsources *sources, const struct addr_item *sym, uint64_t next)
{
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
	struct addr_item *all = sources->candidates;
	size_t n = sources->n_candidates;

	es->segs = sources->segs;
	es->syms = all;
	es->parents = mem_realloc(NULL, n, sizeof(*es->parents));
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && all[next].addr == all[i].addr;)
			next++;
		add_symbols(es, &all[i], next - i,
			    find_end(sources, &all[i], next < n ? all[next].addr : UINT64_MAX));
	}
	sources->candidates = NULL;
	es->syms = mem_realloc(es->syms, es->count, sizeof(*es->syms));
	es->parents = mem_realloc(es->parents, es->count, sizeof(*es->parents));
	es->names = sources->names;
	sources->names = NO_NAMES;
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

/* Loads the symbols, if opening the file succeeded (err), and closes it. */
static struct elfsyms *load_and_close(struct elffile *f, int err, const struct debug_place *place)
{
	struct elfsyms *es = NULL;

	if (!err) {
		es = load(f, place);
		err = -errno;
		elffile_close(f);
	}
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

static void free_found(void *value)
{
	struct found_name *found = value;

	if (found->readable != found->name)
		free(found->readable);
	free(found);
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	idmap_free(&es->found, free_found);
	symbol_names_free(&es->names);
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

/* Returns the name of symbol i; reads it only once. */
static struct found_name *find_name(struct elfsyms *es, uint32_t i)
{
	struct found_name *found = idmap_find(&es->found, i + 1ULL);
	const char *name;
	size_t bytes;

	if (found)
		return found;
	name = symbol_names_best(&es->names, es->syms, i);
	bytes = name ? strlen(name) + 1 : 1;
	found = mem_zalloc(1, sizeof(*found) + bytes);
	memcpy(found->name, name ? name : "", bytes);
	es->found_bytes += sizeof(*found) + bytes;
	idmap_add(&es->found, i + 1ULL, found);
	return found;
}

const char *elfsyms_find(struct elfsyms *es, uint64_t vaddr, uint64_t *start)
{
	uint32_t i = find_symbol(es, vaddr);
	const char *name;

	if (i == NO_PARENT)
		return NULL;
	if (start)
		*start = es->syms[i].addr;
	name = find_name(es, i)->name;
	return *name ? name : NULL;
}

/* Demangles a name; returns the name itself if it is not mangled. */
static char *make_readable(struct elfsyms *es, char *name)
{
	char *text = demangle(name);

	if (!text)
		return name;
	es->found_bytes += strlen(text) + 1;
	return text;
}

const char *elfsyms_find_readable(struct elfsyms *es, uint64_t vaddr)
{
	uint32_t i = find_symbol(es, vaddr);
	struct found_name *found = i == NO_PARENT ? NULL : find_name(es, i);

	if (!found || !*found->name)
		return NULL;
	if (!found->readable)
		found->readable = make_readable(es, found->name);
	return found->readable;
}

uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset)
{
	return elfsegs_vaddr(&es->segs, file_offset);
}

bool elfsyms_are_current(const struct elfsyms *es)
{
	return symbol_names_are_current(&es->names);
}

size_t elfsyms_count(const struct elfsyms *es)
{
	return es->count;
}

size_t elfsyms_bytes(const struct elfsyms *es)
{
	size_t bytes = sizeof(*es) + es->found_bytes + es->names.bytes;

	bytes += es->count * (sizeof(*es->syms) + sizeof(*es->parents));
	for (size_t i = 0; i < N_SOURCES; i++)
		bytes += es->names.sources[i].text ? es->names.sources[i].size : 0;
	return bytes;
}
