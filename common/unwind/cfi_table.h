/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of unwind rules by address. A large library has a million rows and some hundred different
 * rules, so a row takes 8 bytes: where it begins, and which rule.
 */
#ifndef CFI_TABLE_H
#define CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/unwind_rule.h"

#define CFI_ROWS_MAX (16u << 20)

/* The rule in force from vaddr on, until the next row. */
struct cfi_row {
	uint64_t vaddr; /* ELF virtual address */
	struct unwind_rule rule;
};

/* The same, as stored. */
struct cfi_cell {
	uint32_t at;   /* from the table's base */
	uint32_t rule; /* index */
};

/*
 * Rows ascend; no two have the same address and no neighbours the same rule; before the first one
 * there is a gap. All zero: no rows. Its base is a multiple of 64 KiB.
 */
struct cfi_table {
	struct cfi_cell *cells;
	size_t count;
	size_t n_ends;	   /* number of appended rows for outermost frames */
	size_t n_fdes;	   /* compiled, with or without success */
	size_t n_bad_fdes; /* records left out, and FDEs whose code is UNWIND_BAD from some point on
			      because their program is broken */
	struct unwind_rule *rules;
	size_t n_rules; /* a rule may be there more than once */

	uint64_t base;
	uint64_t last; /* the last row's rule, as bits */
	size_t cells_cap, rules_cap;
	uint32_t *recent; /* the last rule with each hash: index + 1 */
};

void cfi_free(struct cfi_table *t);

static inline uint64_t cfi_rule_bits(const struct unwind_rule *rule)
{
	uint64_t bits;

	_Static_assert(sizeof(*rule) == sizeof(bits), "a rule is 8 bytes");
	memcpy(&bits, rule, sizeof(bits));
	return bits;
}

static inline uint64_t cfi_vaddr(const struct cfi_table *t, size_t i)
{
	return t->base + t->cells[i].at;
}

static inline struct cfi_row cfi_row(const struct cfi_table *t, size_t i)
{
	return (struct cfi_row){ cfi_vaddr(t, i), t->rules[t->cells[i].rule] };
}

/* Returns true if that code is within 2 GiB of the first row: the table isn't larger than that. */
bool cfi_reaches(const struct cfi_table *t, uint64_t start, uint64_t end);

/*
 * Adds a rule in force from vaddr on. If that isn't after the last row, it replaces that one. 0 or
 * -EFBIG: too many rows, or further from the first one than a row can express.
 */
int cfi_append(struct cfi_table *t, uint64_t vaddr, const struct unwind_rule *rule);

/* Shrinks the memory to the rows, once all have been appended. */
void cfi_trim(struct cfi_table *t);

/*
 * Insert rows for code without unwind information, up to end, exclusive. False if there is such
 * information, or no table. The second takes the first n rows of another table.
 */
bool cfi_fill_gap(struct cfi_table *t, const struct cfi_row *rows, size_t n, uint64_t end);
bool cfi_fill_gap_from(struct cfi_table *t, const struct cfi_table *from, size_t n, uint64_t end);

/* Returns the end of the gap that vaddr is in, at most max_bytes further on. */
uint64_t cfi_gap_end(const struct cfi_table *t, uint64_t vaddr, uint64_t max_bytes);

/* UNWIND_GAP if nothing is known. */
struct unwind_rule cfi_find(const struct cfi_table *t, uint64_t vaddr);

#endif
