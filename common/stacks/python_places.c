// SPDX-License-Identifier: GPL-2.0-only
/* Python frames among the places of a stack; see python_places.h. */
#include "abi/python.h"
#include "runtimes/python_code.h"
#include "stacks/python_places.h"

/* The words of a stack that are still to be put into their places. */
struct rest {
	const struct python_codes *codes;
	const struct stack_def *def;
	uint32_t at; /* the next word */
	struct place *out;
	uint32_t n;
};

uint32_t python_places_native(const struct stack_def *def)
{
	uint32_t n = 0;

	while (n < def->n_words && n < STACK_DEPTH && !python_is_word(def->words[n]))
		n++;
	return n;
}

/* The next segment's native frame; UINT32_MAX: there is none. */
static uint32_t next_frame(const struct rest *r)
{
	if (r->at >= r->def->n_words || !python_is_segment(r->def->words[r->at]))
		return UINT32_MAX;
	return python_segment_frame(r->def->words[r->at]);
}

/* The frame's word, and its instruction's if that is there. */
static void append_rest(struct rest *r)
{
	struct place *place = &r->out[r->n++];

	*place = (struct place){ .python = python_codes_find(r->codes, (pid_t)r->def->tgid,
							     r->def->words[r->at++]) };
	if (r->at >= r->def->n_words || python_is_word(r->def->words[r->at]))
		return;
	place->line =
		python_line(place->python->lines_kind, place->python->lines, place->python->n_lines,
			    place->python->first_line, (uint32_t)r->def->words[r->at++]);
}

static void append_segment(struct rest *r)
{
	r->at++;
	while (r->at < r->def->n_words && python_is_word(r->def->words[r->at]) &&
	       !python_is_segment(r->def->words[r->at]))
		append_rest(r);
}

uint32_t python_places_merge(const struct python_codes *codes, const struct stack_def *def,
			     const struct place *native, struct place *out)
{
	uint32_t n_native = python_places_native(def);
	struct rest r = { codes, def, n_native, out, 0 };

	for (uint32_t i = 0; i < n_native; i++) {
		if (next_frame(&r) != i)
			out[r.n++] = native[i];
		while (next_frame(&r) == i)
			append_segment(&r);
	}
	while (next_frame(&r) != UINT32_MAX)
		append_segment(&r);
	return r.n;
}
