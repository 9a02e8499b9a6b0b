// SPDX-License-Identifier: GPL-2.0-only
/* Finds exported symbols by name; see elfexports.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elfexports.h"

#define NAME_MAX_BYTES 128
#define MAX_CHAIN      1024

/* Header of .gnu.hash. A Bloom filter of 64-bit words, buckets and a hash per symbol follow. */
struct head {
	uint32_t n_buckets, first_symbol, n_filter, shift;
};

struct exports {
	const struct elf64 *elf;
	/* the last two: read once a name passes the filter */
	Elf64_Shdr hashes, symbols, strings;
	struct head head;
};

static bool read_part(const struct exports *e, const Elf64_Shdr *section, uint64_t at, void *to,
		      size_t bytes)
{
	void *copy;

	if (at > section->sh_size || bytes > section->sh_size - at)
		return false;
	copy = elf64_read(e->elf, section->sh_offset + at, bytes, bytes);
	if (!copy)
		return false;
	memcpy(to, copy, bytes);
	free(copy);
	return true;
}

static bool open_exports(struct exports *e, const struct elf64 *elf)
{
	e->elf = elf;
	e->symbols.sh_size = e->strings.sh_size = 0;
	return !elf64_find_section(elf, ".gnu.hash", &e->hashes) &&
	       read_part(e, &e->hashes, 0, &e->head, sizeof(e->head)) && e->head.n_buckets &&
	       e->head.n_filter;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool passes_filter(const struct exports *e, uint32_t hash)
{
	uint64_t word, at = sizeof(e->head) + hash / 64 % e->head.n_filter * sizeof(word);

	return read_part(e, &e->hashes, at, &word, sizeof(word)) && word >> (hash % 64) & 1 &&
	       word >> ((hash >> (e->head.shift & 31)) % 64) & 1;
}

static bool open_symbols(struct exports *e)
{
	return e->symbols.sh_size || (!elf64_find_section(e->elf, ".dynsym", &e->symbols) &&
				      !elf64_find_section(e->elf, ".dynstr", &e->strings));
}

static bool is_symbol(const struct exports *e, uint32_t index, const char *name, Elf64_Sym *symbol)
{
	char found[NAME_MAX_BYTES];
	size_t bytes = strlen(name) + 1;

	return read_part(e, &e->symbols, (uint64_t)index * sizeof(*symbol), symbol,
			 sizeof(*symbol)) &&
	       bytes <= sizeof(found) && read_part(e, &e->strings, symbol->st_name, found, bytes) &&
	       !memcmp(found, name, bytes) && symbol->st_shndx != SHN_UNDEF;
}

/* Finds a symbol. Symbols of a bucket are consecutive; the last hash has its lowest bit set. */
static bool find(struct exports *e, const char *name, Elf64_Sym *symbol)
{
	uint32_t hash = hash_name(name), index, theirs;
	uint64_t buckets = sizeof(e->head) + (uint64_t)e->head.n_filter * sizeof(uint64_t),
		 chains = buckets + (uint64_t)e->head.n_buckets * sizeof(uint32_t);

	if (!passes_filter(e, hash) || !open_symbols(e) ||
	    !read_part(e, &e->hashes, buckets + hash % e->head.n_buckets * sizeof(index), &index,
		       sizeof(index)))
		return false;
	for (size_t i = 0; i < MAX_CHAIN && index >= e->head.first_symbol; i++, index++) {
		if (!read_part(e, &e->hashes,
			       chains + (uint64_t)(index - e->head.first_symbol) * sizeof(theirs),
			       &theirs, sizeof(theirs)))
			return false;
		if ((theirs | 1) == (hash | 1) && is_symbol(e, index, name, symbol))
			return true;
		if (theirs & 1)
			return false;
	}
	return false;
}

int elfexports_find(const struct elf64 *elf, const char *const *names, size_t n, uint64_t *vaddrs)
{
	struct exports e;
	Elf64_Sym symbol;

	if (!open_exports(&e, elf))
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		if (!find(&e, names[i], &symbol))
			return -ENOENT;
		vaddrs[i] = symbol.st_value;
	}
	return 0;
}

int elfexports_find_symbol(const struct elf64 *elf, const char *name, Elf64_Sym *symbol)
{
	struct exports e;

	return open_exports(&e, elf) && find(&e, name, symbol) ? 0 : -ENOENT;
}
