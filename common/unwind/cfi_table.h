/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of unwind rules by address. A large library has a million rows and some hundred different
 * rules, so a row takes 8 bytes: its start address and a rule's index.
 */
#ifndef CFI_TABLE_H
#define CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/unwind_rule.h"
#include "elf/elf64.h"

#define CFI_ROWS_MAX (16u << 20)

/* The rule that applies from vaddr to the next row. */
struct cfi_row {
	uint64_t vaddr; /* ELF virtual address */
	struct unwind_rule rule;
};

/* Code without rules, up to end, exclusive. */
struct cfi_gap {
	uint64_t vaddr, end;
};

/* A row as stored. */
struct cfi_cell {
	uint32_t at;   /* start address, relative to the table's base */
	uint32_t rule; /* index into rules */
};

/*
 * Rows ascend; no two have the same address, and no neighbours the same rule. Addresses before the
 * first row are a gap. All zero: no rows. The base is a multiple of 64 KiB.
 */
struct cfi_table {
	struct cfi_cell *cells;
	size_t count;
	size_t n_ends;	   /* number of appended rows for outermost frames */
	size_t n_fdes;	   /* number of compiled FDEs, with or without success */
	size_t n_bad_fdes; /* omitted records, and FDEs cut off by an error in their program */
	struct unwind_rule *rules;
	size_t n_rules; /* number of rules; some may be equal */

	uint64_t base;
	uint64_t last; /* rule of the last row, as bits */
	size_t cells_cap, rules_cap;
	uint32_t *recent; /* index + 1 of the latest rule with each hash; 0: none */
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

/* Returns true if the code is within 2 GiB of the first row, the maximum extent of a table. */
bool cfi_reaches(const struct cfi_table *t, uint64_t start, uint64_t end);

/*
 * Appends a rule that applies from vaddr on. If vaddr isn't after the last row, the last row is
 * replaced. Returns 0, or -EFBIG: too many rows, or too far from the first row.
 */
int cfi_append(struct cfi_table *t, uint64_t vaddr, const struct unwind_rule *rule);

/* Frees unused capacity, once all rows have been appended. */
void cfi_trim(struct cfi_table *t);

/*
 * Insert rows for code without unwind information, up to end, exclusive. False if the table is
 * empty or has rules there. cfi_fill_gap_from() takes the first n rows of another table.
 */
bool cfi_fill_gap(struct cfi_table *t, const struct cfi_row *rows, size_t n, uint64_t end);
bool cfi_fill_gap_from(struct cfi_table *t, const struct cfi_table *from, size_t n, uint64_t end);

/* Returns the end of the gap that contains vaddr, at most vaddr + max_bytes. */
uint64_t cfi_gap_end(const struct cfi_table *t, uint64_t vaddr, uint64_t max_bytes);

/*
 * Finds the next gap of at least min_bytes in the file's code, from the gap's end on; 0: from the
 * beginning of .text, or from the first row without that section. False: no more.
 */
bool cfi_next_gap(const struct cfi_table *t, const struct elf64 *elf, uint64_t min_bytes,
		  struct cfi_gap *gap);

/* Returns the rule for vaddr; UNWIND_GAP if unknown. */
struct unwind_rule cfi_find(const struct cfi_table *t, uint64_t vaddr);

#endif
