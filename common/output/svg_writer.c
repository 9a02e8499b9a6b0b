// SPDX-License-Identifier: GPL-2.0-only
/* Stacks as a flame graph, drawn by flamegraph.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/text_stream.h"
#include "output/calltree.h"
#include "output/flamegraph.h"
#include "output/quantity.h"
#include "output/writer.h"

#define NAME_MAX_BYTES 200 /* limit of names in a picture that doesn't fit otherwise */

/* Adds a child; frees the text of its name. */
static uint32_t add_text(struct calltree *tree, uint32_t node, char *text, enum frame_kind kind)
{
	node = calltree_child(tree, node, text, kind);
	free(text);
	return node;
}

uint32_t svg_add_frames(struct calltree *tree, uint32_t node, const struct sample *s,
			const char *state)
{
	for (size_t i = 0; i < s->n_frames; i++)
		node = add_text(tree, node, writer_frame_text(sample_frame(s, i)),
				sample_frame(s, i)->kind);
	return state ? add_text(tree, node, mem_printf("[%s]", state), FRAME_MARK) : node;
}

static void add_sample(struct calltree *tree, const struct sample *s)
{
	uint32_t node = CALLTREE_ROOT;

	if (s->cpu >= 0)
		node = add_text(tree, node, mem_printf("cpu%d", s->cpu), FRAME_MARK);
	if (s->tid)
		node = add_text(tree, node, mem_printf("tid%" PRIu32, s->tid), FRAME_MARK);
	node = calltree_child(tree, node, escape_no_name(s->comm), FRAME_USER);
	node = svg_add_frames(tree, node, s, s->remark);
	calltree_add(tree, node, (struct calltree_value){ .now = s->value });
	calltree_shrink(tree);
}

/* Returns "profile, on CPU: samples", freed by the caller. part may be NULL. */
static char *make_title(const struct writer_facts *facts, const char *part, const char *unit)
{
	return facts ? mem_printf("%s%s%s: %s", facts->tool, part ? ", " : "", part ? part : "",
				  unit)
		     : NULL;
}

char *svg_subtitle(const struct writer_facts *facts, const char *unit)
{
	char lost[QUANTITY_MAX];

	if (!facts)
		return NULL;
	quantity_format(lost, facts->lost, unit);
	return mem_printf("%s, Linux %s%s%s, %.2f s%s%s", facts->host, facts->kernel,
			  facts->event ? ", " : "", facts->event ? facts->event : "",
			  (double)facts->duration_ns / NS_PER_S, facts->lost ? ", lost: " : "",
			  facts->lost ? lost : "");
}

/* Draws the picture until it fits: with short names, then with fewer and wider frames. */
static void draw(FILE *f, const struct calltree *tree, struct flamegraph *picture, size_t max_bytes)
{
	struct text_stream drawn;
	char *text;

	text_stream_open(&drawn);
	for (bool fits = false; !fits;) {
		text_stream_restart(&drawn);
		flamegraph_write(drawn.f, tree, picture);
		text_stream_text(&drawn);
		fits = drawn.size <= max_bytes || picture->min_width > picture->width;
		if (!picture->name_max)
			picture->name_max = NAME_MAX_BYTES;
		else
			picture->min_width *= 2;
	}
	text = text_stream_close(&drawn);
	fputs(text, f);
	free(text);
}

void svg_write_part(FILE *f, struct profile *p, const struct writer_style *style, const char *part,
		    bool (*takes)(const struct sample *s), size_t max_bytes)
{
	struct calltree *tree = calltree_new(CALLTREE_MAX_NODES);
	struct flamegraph picture = FLAMEGRAPH_DEFAULT;
	char *title = make_title(style->facts, part, profile_unit(p));
	char *subtitle = svg_subtitle(style->facts, profile_unit(p));

	for (size_t i = 0; i < profile_count(p); i++)
		if (!takes || takes(profile_sample(p, i)))
			add_sample(tree, profile_sample(p, i));
	calltree_finish(tree);
	picture.unit = profile_unit(p);
	picture.title = title;
	picture.subtitle = subtitle;
	picture.in_html = max_bytes;
	if (max_bytes)
		draw(f, tree, &picture, max_bytes);
	else
		flamegraph_write(f, tree, &picture);
	calltree_free(tree);
	free(title);
	free(subtitle);
}

static void write_svg(FILE *f, struct profile *p, const struct writer_style *style)
{
	svg_write_part(f, p, style, NULL, NULL, 0);
}

static void note_svg(FILE *f, const char *reason, const char *moment)
{
	flamegraph_note(f, reason, moment);
}

const struct writer svg_writer = {
	.name = "svg", .extension = "svg", .is_single = true, .write = write_svg, .note = note_svg
};
