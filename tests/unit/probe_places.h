/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the tests of probe places. Each test has a place_code() for its machine's code. */
#ifndef PROBE_PLACES_H
#define PROBE_PLACES_H

#include "probes/probe_place.h"
#include "unit.h"

#define CODE_MAX 256

#define STRICT(n) ((struct probe_request){ .n_args = (n), .wants_return = true })
#define ENTRY(n)  ((struct probe_request){ .n_args = (n) })

/* How a real function begins, and where a probe belongs. */
struct entry {
	const char *library, *function;
	unsigned int n_args;
	bool wants_return;
	unsigned int offset;
	enum probe_kind kind;
	unsigned int moved_offset;
	enum probe_kind moved_kind;
	const char *code;
};

static struct probe_place place_code(const char *text, struct probe_request request);

static void check_place(const struct entry *e, struct probe_place at, unsigned int offset,
			enum probe_kind kind)
{
	if (at.offset != offset || at.kind != kind)
		UNIT_FAIL("%s of %s: +%u (%s), not +%u (%s)", e->function, e->library, at.offset,
			  probe_kind_name(at.kind), offset, probe_kind_name(kind));
}

/* Its code begins shift bytes later than the entry says. */
static void check_entry(const struct entry *e, const char *code, unsigned int shift)
{
	struct probe_request request = { .n_args = e->n_args, .wants_return = e->wants_return };
	struct probe_place place = place_code(code, request);

	check_place(e, place, e->kind == PROBE_STEP ? 0 : e->offset + shift, e->kind);
	CHECK(!place.is_moved);
	request.may_move_args = true;
	check_place(e, place_code(code, request),
		    e->moved_kind == PROBE_STEP ? 0 : e->moved_offset + shift, e->moved_kind);
}

#define CHECK_PLACE(text, request, wanted_offset, wanted_kind)                                  \
	do {                                                                                    \
		struct probe_place at = place_code(text, request);                              \
		unsigned int due = (wanted_offset);                                             \
		if (at.offset != due || at.kind != (wanted_kind))                               \
			UNIT_FAIL("%s: +%u (%s), not +%u (%s)", text, at.offset,                \
				  probe_kind_name(at.kind), due, probe_kind_name(wanted_kind)); \
	} while (0)

#endif
