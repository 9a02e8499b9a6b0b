/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads DWARF's numbers from untrusted bytes (DWARF 5, sections 7.6 and 7.7; little endian). A
 * cursor never leaves its range: a read that does not fit returns zero and marks the cursor as
 * failed for good, so callers need to check only once, after a whole entry.
 */
#ifndef DWARF_READ_H
#define DWARF_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/load.h"

struct cursor {
	const uint8_t *p, *end;
	bool failed;
};

/* Storage format of an encoded pointer: the low half of its encoding, DW_EH_PE_* (LSB 5, 10.5). */
enum pointer_format {
	POINTER_ABSOLUTE = 0x00,
	POINTER_ULEB = 0x01,
	POINTER_U16 = 0x02,
	POINTER_U32 = 0x03,
	POINTER_U64 = 0x04,
	POINTER_SLEB = 0x09,
	POINTER_S16 = 0x0a,
	POINTER_S32 = 0x0b,
	POINTER_S64 = 0x0c,
	POINTER_FORMAT_MASK = 0x0f,
};

/* Base that an encoded pointer is relative to: the high half of its encoding. */
enum pointer_base {
	POINTER_TO_ZERO = 0x00,
	POINTER_TO_ITSELF = 0x10,
	POINTER_TO_DATA = 0x30,
	POINTER_BASE_MASK = 0xf0, /* includes DW_EH_PE_indirect, which is never followed */
};

static inline struct cursor cursor_over(const uint8_t *bytes, size_t size)
{
	return (struct cursor){ .p = bytes, .end = bytes + size };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->p;
}

static inline void cursor_fail(struct cursor *c)
{
	c->failed = true;
	c->p = c->end;
}

/* Skips bytes and returns their address. NULL if fewer are left; the cursor has failed then. */
static inline const uint8_t *cursor_skip(struct cursor *c, uint64_t bytes)
{
	const uint8_t *p = c->p;

	if (bytes > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	c->p += bytes;
	return p;
}

/* Skips the next bytes and returns a cursor over them, which has failed if c has. */
static inline struct cursor cursor_cut(struct cursor *c, uint64_t bytes)
{
	struct cursor part = { .p = cursor_skip(c, bytes), .failed = c->failed };

	part.end = part.p ? part.p + bytes : NULL;
	return part;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->p == c->end) {
		cursor_fail(c);
		return 0;
	}
	return *c->p++;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_skip(c, sizeof(uint16_t));

	return p ? load_u16(p) : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_skip(c, sizeof(uint32_t));

	return p ? load_u32(p) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_skip(c, sizeof(uint64_t));

	return p ? load_u64(p) : 0;
}

/* Reads a LEB128 number. Ten bytes hold 64 bits; longer numbers, even if only padded, fail. */
static inline uint64_t cursor_leb(struct cursor *c, unsigned int *shift, uint8_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	do {
		*last = cursor_u8(c);
		if (*shift > 63) {
			cursor_fail(c);
			return 0;
		}
		value |= (uint64_t)(*last & 0x7f) << *shift;
		*shift += 7;
	} while (*last & 0x80);
	return value;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	unsigned int shift;
	uint8_t last;

	return cursor_leb(c, &shift, &last);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	unsigned int shift;
	uint8_t last;
	uint64_t value = cursor_leb(c, &shift, &last);

	if (last & 0x40 && shift < 64)
		value |= ~0ULL << shift;
	return (int64_t)value;
}

/* Returns the stored number of an encoded pointer; the caller adds the base. */
static inline uint64_t cursor_pointer(struct cursor *c, uint8_t encoding)
{
	switch (encoding & POINTER_FORMAT_MASK) {
	case POINTER_ABSOLUTE:
	case POINTER_U64:
	case POINTER_S64:
		return cursor_u64(c);
	case POINTER_ULEB:
		return cursor_uleb(c);
	case POINTER_U16:
		return cursor_u16(c);
	case POINTER_U32:
		return cursor_u32(c);
	case POINTER_SLEB:
		return (uint64_t)cursor_sleb(c);
	case POINTER_S16:
		return (uint64_t)(int16_t)cursor_u16(c);
	case POINTER_S32:
		return (uint64_t)(int32_t)cursor_u32(c);
	default:
		cursor_fail(c);
		return 0;
	}
}

#endif
