// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call tree drawn as a flame graph; see flamegraph.h. Frames are written callers first, so that
 * the script knows a frame's callers and callees by the order of the elements alone. What it draws
 * with stands in flamegraph.css and flamegraph.js.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "mem.h"
#include "quantity.h"
#include "xml.h"

#include "flamegraph.css.h"
#include "flamegraph.js.h"

#define FRAME_HEIGHT	16
#define PAD_SIDE	10
#define PAD_TOP		58
#define PAD_BOTTOM	34
#define CHARACTER_WIDTH 7.2 /* of 12 pixel monospace text */
#define SHADES		6
#define DIFF_SHADES	7

struct drawing {
	FILE *f;
	const struct calltree *tree;
	const struct flamegraph *how;
	uint64_t total;
	double before_scale;
	double max_delta; /* the largest growth or shrinkage, as a value */
	double pixels;	  /* of one unit of value */
	size_t rows;
};

/* One frame as it is drawn: a node, or several that are too narrow. */
struct box {
	const struct calltree_node *node; /* NULL: several */
	struct calltree_value value;
	uint64_t left; /* the value of all that lies left of it */
	size_t row;
	size_t n_merged;
	bool is_waker; /* in a stack behind a "--" */
};

#define for_each_child(tree, node, child)                                      \
	for (uint32_t i_ = (node)->first_child;                                \
	     i_ != CALLTREE_NONE && ((child) = calltree_node(tree, i_), true); \
	     i_ = (child)->next_sibling)

static bool is_narrow(const struct drawing *d, uint64_t value)
{
	return (double)value * d->pixels < d->how->min_width || !value;
}

/* Rows from this node up that have something to draw. */
static size_t count_rows(const struct drawing *d, const struct calltree_node *node)
{
	const struct calltree_node *child;
	size_t deepest = 0;
	uint64_t narrow = 0;

	for_each_child(d->tree, node, child)
	{
		size_t rows = is_narrow(d, child->total.now) ? 0 : count_rows(d, child);

		narrow += rows ? 0 : child->total.now;
		deepest = rows > deepest ? rows : deepest;
	}
	if (!deepest && !is_narrow(d, narrow))
		deepest = 1;
	return deepest + 1;
}

/* ---- differences ---- */

static double delta_of(const struct drawing *d, struct calltree_value value)
{
	return (double)value.now - (double)value.before * d->before_scale;
}

static void prepare_differences(struct drawing *d, const struct calltree_node *node)
{
	const struct calltree_node *child;

	for_each_child(d->tree, node, child)
	{
		d->max_delta = fmax(d->max_delta, fabs(delta_of(d, child->total)));
		prepare_differences(d, child);
	}
}

/* ---- one frame ---- */

/* FNV-1a, cut down: a function has one shade in all graphs. */
static unsigned int shade_of(const char *name)
{
	uint32_t hash = 0x811c9dc5U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x01000193U;
	return (hash ^ hash >> 16) % SHADES;
}

static void print_diff_class(const struct drawing *d, const struct box *box)
{
	double delta = delta_of(d, box->value), share;
	int shade;

	share = d->max_delta > 0 ? fabs(delta) / d->max_delta : 0;
	shade = (int)ceil(sqrt(fmin(share, 1)) * DIFF_SHADES - 1e-9);
	fprintf(d->f, "%c%d", delta < 0 ? 'b' : 'r', shade);
}

static void print_class(const struct drawing *d, const struct box *box)
{
	static const char letters[] = { [FRAME_USER] = 'u',
					[FRAME_INLINED] = 'i',
					[FRAME_JIT] = 'j',
					[FRAME_KERNEL] = 'k',
					[FRAME_MARK] = 'm' };

	if (!box->node)
		fputs("m0", d->f);
	else if (d->how->differential && box->row)
		print_diff_class(d, box);
	else
		fprintf(d->f, "%c%u",
			box->is_waker && box->node->kind == FRAME_USER ? 'w'
								       : letters[box->node->kind],
			shade_of(box->node->name));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void print_name(const struct drawing *d, const struct box *box)
{
	if (box->node)
		xml_print(d->f, box->node->name);
	else
		fprintf(d->f, "(%zu narrow frames)", box->n_merged);
}

static void print_title(const struct drawing *d, const struct box *box)
{
	char value[QUANTITY_MAX];

	print_name(d, box);
	fprintf(d->f, " (%s, %.2f %%", quantity_format(value, box->value.now, d->how->unit),
		percent((double)box->value.now, (double)d->total));
	if (d->how->differential)
		fprintf(d->f, "; before: %s, %+.2f %%",
			quantity_format(value, box->value.before, d->how->unit),
			percent(delta_of(d, box->value), (double)d->total));
	fputc(')', d->f);
}

static void print_label(const struct drawing *d, const struct box *box, double x, double y,
			double width)
{
	size_t room = width > 6 ? (size_t)((width - 6) / CHARACTER_WIDTH) : 0;

	if (room < 3 || !box->node)
		return;
	fprintf(d->f, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 11.5);
	if (xml_length(box->node->name) <= room) {
		xml_print(d->f, box->node->name);
	} else {
		xml_print_start(d->f, box->node->name, room - 2);
		fputs("..", d->f);
	}
	fputs("</text>", d->f);
}

static double row_y(const struct drawing *d, size_t row)
{
	return PAD_TOP + (double)(d->how->inverted ? row : d->rows - 1 - row) * FRAME_HEIGHT;
}

static void print_box(const struct drawing *d, const struct box *box)
{
	double x = PAD_SIDE + (double)box->left * d->pixels, y = row_y(d, box->row);
	double width = (double)box->value.now * d->pixels;

	fputs("<g class=\"", d->f);
	print_class(d, box);
	fprintf(d->f, "\" data-v=\"%" PRIu64 "\" data-r=\"%zu\"><title>", box->value.now, box->row);
	print_title(d, box);
	fprintf(d->f, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/>", x, y,
		width, FRAME_HEIGHT - 1);
	print_label(d, box, x, y, width);
	fputs("</g>\n", d->f);
}

/* ---- all frames ---- */

static void add_narrow(struct box *narrow, const struct calltree_node *node)
{
	calltree_value_add(&narrow->value, node->total);
	narrow->n_merged++;
}

static void print_subtree(const struct drawing *d, const struct box *box)
{
	struct box narrow = { .row = box->row + 1, .is_waker = box->is_waker };
	uint64_t left = box->left;
	const struct calltree_node *child;

	print_box(d, box);
	for_each_child(d->tree, box->node, child)
	{
		struct box next = {
			.node = child,
			.value = child->total,
			.left = left,
			.row = box->row + 1,
			.is_waker = box->is_waker || !strcmp(child->name, "--"),
		};

		if (is_narrow(d, child->total.now)) {
			add_narrow(&narrow, child);
			continue;
		}
		print_subtree(d, &next);
		left += child->total.now;
	}
	narrow.left = left;
	if (!is_narrow(d, narrow.value.now))
		print_box(d, &narrow);
}

/* ---- what is around them ---- */

/* A kind's shades differ a little in hue and lightness. */
static void print_shades(FILE *f)
{
	static const struct {
		char letter;
		int hue, saturation, lightness;
	} kinds[] = {
		{ 'u', 48, 88, 64 },  { 'k', 20, 86, 62 },  { 'i', 176, 50, 62 },
		{ 'j', 105, 52, 62 }, { 'w', 268, 55, 74 }, { 'm', 0, 0, 74 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (int shade = 0; shade < SHADES; shade++)
			fprintf(f, ".%c%d rect{fill:hsl(%d,%d%%,%d%%)}\n", kinds[i].letter, shade,
				kinds[i].hue + (shade % 3 - 1) * 5, kinds[i].saturation,
				kinds[i].lightness + shade);
}

static void print_diff_shades(FILE *f)
{
	for (int shade = 0; shade <= DIFF_SHADES; shade++)
		fprintf(f, ".r%d rect{fill:hsl(4,85%%,%d%%)}\n.b%d rect{fill:hsl(214,80%%,%d%%)}\n",
			shade, 94 - 5 * shade, shade, 94 - 5 * shade);
}

static void print_text(FILE *f, const char *id, uint32_t x, double y, const char *text)
{
	fprintf(f, "<text id=\"%s\" x=\"%" PRIu32 "\" y=\"%.0f\">", id, x, y);
	xml_print(f, text);
	fputs("</text>\n", f);
}

static void print_head(const struct drawing *d, double height)
{
	const struct flamegraph *how = d->how;
	const char *title = how->title ? how->title : "Flame graph";
	FILE *f = d->f;

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%" PRIu32
		"\" height=\"%.0f\" viewBox=\"0 0 %" PRIu32 " %.0f\">\n<title>",
		how->width, height, how->width, height);
	xml_print(f, title);
	fputs("</title>\n<style>\n", f);
	fputs(flamegraph_css, f);
	if (how->differential)
		print_diff_shades(f);
	print_shades(f);
	fprintf(f, "</style>\n<rect id=\"background\" width=\"100%%\" height=\"100%%\"/>\n");
	print_text(f, "title", how->width / 2, 22, title);
	print_text(f, "subtitle", how->width / 2, 40, how->subtitle ? how->subtitle : "");
	print_text(f, "reset", PAD_SIDE, 22, "Reset zoom");
	print_text(f, "search", how->width - PAD_SIDE, 22, "Search");
	print_text(f, "matched", how->width - PAD_SIDE, height - 12, "");
	print_text(f, "details", PAD_SIDE, height - 12, "");
}

static void print_script(FILE *f)
{
	fputs("<script><![CDATA[\n", f);
	fputs(flamegraph_js, f);
	fputs("]]></script>\n", f);
}

void flamegraph_write(FILE *f, const struct calltree *tree, const struct flamegraph *how)
{
	const struct calltree_node *root = calltree_node(tree, CALLTREE_ROOT);
	struct drawing d = { .f = f, .tree = tree, .how = how, .total = root->total.now };
	struct box all = { .node = root, .value = root->total };

	d.pixels = d.total ? (how->width - 2.0 * PAD_SIDE) / (double)d.total : 0;
	d.before_scale = how->before_scale;
	if (!(d.before_scale > 0))
		d.before_scale =
			root->total.before ? (double)d.total / (double)root->total.before : 1;
	if (how->differential)
		prepare_differences(&d, root);
	d.rows = count_rows(&d, root);
	print_head(&d, PAD_TOP + (double)d.rows * FRAME_HEIGHT + PAD_BOTTOM);
	fputs("<g id=\"frames\">\n", f);
	print_subtree(&d, &all);
	fputs("</g>\n", f);
	print_script(f);
	fputs("</svg>\n", f);
}
