/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layouts of .gopclntab, identified by its first word: the differences between Go releases.
 * Only gopclntab.c and gopclntab_open.c need it. "struct _func" and "inlinedCall" are the
 * runtime's.
 */
#ifndef GOPCLNTAB_LAYOUT_H
#define GOPCLNTAB_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct go_func;
struct gopclntab;

struct go_layout {
	uint32_t magic;
	uint8_t entry_bytes; /* bytes of a code location or pointer: 8, or 4 for offsets */
	/* place of the first of five offsets in the header; 0: the table is one part */
	uint8_t parts_at;
	uint8_t functab_at;  /* offset of the function list in its part */
	uint8_t func_words;  /* words of struct _func between its first member and funcID */
	bool has_units;	     /* source files are numbered by compilation unit */
	uint8_t calls_index; /* index of the inlined calls among the function's pointers */
	uint8_t call_bytes, call_name_at, call_pc_at; /* of inlinedCall */
};

#define GO_HEADER_BYTES 72 /* the longest */
#define GO_CALLS_VALUES 2  /* index of a function's table of values with the inlined calls */

/* An entry of a function's inlined calls: the function's name, and where in it the call is. */
struct go_call {
	int32_t name;
	uint32_t pc; /* from the function's start */
};

/*
 * Reads call number index of a function's inlined calls, if these are found relative to gofunc.
 * False: none, or broken.
 */
bool gopclntab_read_call(const struct gopclntab *g, const struct go_func *f, uint64_t gofunc,
			 uint32_t index, struct go_call *call);

/* Locates the inlined calls, once: sets has_calls and gofunc. */
void gopclntab_find_calls(struct gopclntab *g);

static inline uint32_t go_u32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t go_u64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

#endif
