// SPDX-License-Identifier: GPL-2.0-only
/* Objects of V8; see heap.h. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/v8/heap.h"

#define ARRAY_LENGTH 8
#define ARRAY_FIRST  16
#define MAX_PARTS    256 /* maximum strings visited for the characters of one string */
#define MAX_PENDING  32	 /* maximum number of second parts of ropes still to be visited */

uint16_t v8_heap_type(const struct v8_heap *heap, uint64_t *object)
{
	uint64_t map = v8_is_object(*object) ? peek_u64(heap->pid, *object - 1) : 0;
	uint16_t type;

	if (map && !(map & 7)) { /* the object has been moved there */
		*object = map + 1;
		map = peek_u64(heap->pid, map);
	}
	if (!v8_is_object(map) || !peek_all(heap->pid, map - 1 + V8_MAP_TYPE, &type, sizeof(type)))
		return V8_NO_TYPE;
	return type;
}

uint64_t v8_heap_word(const struct v8_heap *heap, uint64_t object, uint32_t offset)
{
	return v8_is_object(object) ? peek_u64(heap->pid, object - 1 + offset) : 0;
}

uint32_t v8_heap_number(const struct v8_heap *heap, uint64_t object, uint32_t offset)
{
	return v8_is_object(object) ? peek_u32(heap->pid, object - 1 + offset) : 0;
}

int32_t v8_heap_small(const struct v8_heap *heap, uint64_t object, uint32_t offset)
{
	uint64_t word = v8_heap_word(heap, object, offset);

	return (uint32_t)word ? 0 : (int32_t)v8_small(word);
}

uint64_t v8_heap_element(const struct v8_heap *heap, uint64_t array, uint32_t i)
{
	int32_t n = v8_heap_small(heap, array, ARRAY_LENGTH);

	return n > 0 && i < (uint32_t)n ? v8_heap_word(heap, array, ARRAY_FIRST + 8 * i) : 0;
}

bool v8_heap_read(const struct v8_heap *heap, uint64_t at, uint64_t n, struct v8_bytes *to)
{
	if (n > V8_BYTES_MAX)
		return false;
	*to = (struct v8_bytes){ mem_zalloc(n + 1, 1), n, 1 };
	if (peek_all(heap->pid, at, to->bytes, n))
		return true;
	free(to->bytes);
	return false;
}

bool v8_heap_array(const struct v8_heap *heap, uint64_t array, uint32_t max, struct v8_bytes *to)
{
	int32_t n = v8_heap_small(heap, array, ARRAY_LENGTH);

	return n > 0 && (uint32_t)n <= max &&
	       v8_heap_read(heap, array - 1 + ARRAY_FIRST, (uint64_t)n, to);
}

/* ---- strings ---- */

/* A part of a string whose characters are wanted. */
struct part {
	uint64_t string;
	uint32_t first, n;
};

struct copying {
	const struct v8_heap *heap;
	struct part pending[MAX_PENDING]; /* the last one is next */
	size_t n_pending;
	struct v8_bytes *to; /* unit 2 */
	size_t n;
};

static bool push_part(struct copying *c, uint64_t string, uint32_t first, uint32_t n)
{
	if (!n)
		return true;
	if (c->n_pending == MAX_PENDING)
		return false;
	c->pending[c->n_pending++] = (struct part){ string, first, n };
	return true;
}

static bool copy_flat(struct copying *c, const struct part *part, uint64_t at, uint8_t unit)
{
	struct v8_bytes bytes;
	uint16_t *to = (uint16_t *)c->to->bytes + c->n;

	if (part->n > c->to->n - c->n || !v8_heap_read(c->heap, at + (uint64_t)part->first * unit,
						       (uint64_t)part->n * unit, &bytes))
		return false;
	for (uint32_t i = 0; i < part->n; i++)
		to[i] = unit == 1 ? bytes.bytes[i] : ((const uint16_t *)bytes.bytes)[i];
	c->n += part->n;
	free(bytes.bytes);
	return true;
}

/* Pushes the parts of a rope, the first one last. */
static bool split_rope(struct copying *c, const struct part *part)
{
	uint64_t first = v8_heap_word(c->heap, part->string, V8_STRING_FIRST);
	uint32_t n_first = v8_heap_number(c->heap, first, V8_STRING_LENGTH), n_left = 0;

	if (part->first < n_first)
		n_left = part->n < n_first - part->first ? part->n : n_first - part->first;
	return push_part(c, v8_heap_word(c->heap, part->string, V8_STRING_SECOND),
			 part->first + n_left - n_first, part->n - n_left) &&
	       push_part(c, first, part->first, n_left);
}

/* Copies a part that has its own characters, or pushes the strings that have them. */
static bool copy_part(struct copying *c, struct part part)
{
	uint16_t type = v8_heap_type(c->heap, &part.string);
	uint8_t unit = type & V8_STRING_ONE_BYTE ? 1 : 2;
	uint64_t first;

	if (type >= c->heap->v8->layout.n_strings)
		return false;
	switch (type & V8_STRING_KIND) {
	case V8_STRING_FLAT:
		return copy_flat(c, &part, part.string - 1 + V8_STRING_FIRST, unit);
	case V8_STRING_EXTERNAL:
		first = v8_heap_word(c->heap, part.string, V8_STRING_SECOND);
		return copy_flat(c, &part, first, unit);
	case V8_STRING_ROPE:
		return split_rope(c, &part);
	case V8_STRING_SLICED:
		part.first += (uint32_t)v8_heap_small(c->heap, part.string, V8_STRING_SECOND);
		break;
	case V8_STRING_THIN:
		break;
	default:
		return false;
	}
	first = v8_heap_word(c->heap, part.string, V8_STRING_FIRST);
	return push_part(c, first, part.first, part.n);
}

bool v8_heap_string(const struct v8_heap *heap, uint64_t string, uint32_t max, struct v8_bytes *to)
{
	uint16_t type = v8_heap_type(heap, &string);
	uint32_t n = v8_heap_number(heap, string, V8_STRING_LENGTH);
	struct copying c = { .heap = heap, .to = to };
	bool is_good = true;

	if (type >= heap->v8->layout.n_strings || n > V8_BYTES_MAX / 2)
		return false;
	n = n < max ? n : max;
	*to = (struct v8_bytes){ mem_zalloc(n + 1, sizeof(uint16_t)), n, sizeof(uint16_t) };
	push_part(&c, string, 0, n);
	for (int i = 0; i < MAX_PARTS && c.n_pending && is_good; i++)
		is_good = copy_part(&c, c.pending[--c.n_pending]);
	if (is_good && c.n == n)
		return true;
	free(to->bytes);
	return false;
}
