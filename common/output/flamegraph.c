// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call tree drawn as a flame graph; see flamegraph.h. Browsers are slow with many elements, so
 * only the widest frames are elements, with a title; the other frames of a row that have one colour
 * are one path. A table of all frames, callers first, is for the script, which draws zoomed frames
 * in the same way. Styles and script are in flamegraph.css and flamegraph.js.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "output/flamegraph.h"
#include "output/quantity.h"
#include "output/remarks.h"
#include "output/xml.h"

#include "flamegraph.css.h"
#include "flamegraph.js.h"

/* ---- the kernel's part of stacks without frame suffixes ---- */

/*
 * Functions that enter the kernel, and first functions of kernel threads; only names that programs
 * don't use for their own functions: arch/x86/entry (entry_64.S, entry_64_compat.S, idtentry.h,
 * entry_64_fred.S), arch/x86/kernel/head_64.S, and arch/arm64/kernel/entry.S. A name that ends with
 * "*" is a prefix.
 */
static const char *const roots[] = {
	"entry_SYSCALL_64*",
	"entry_SYSCALL_compat*",
	"entry_SYSENTER_compat*",
	"entry_INT80_compat*",
	"asm_int80_emulation",
	"asm_fred_entrypoint_*",
	"asm_exc_*",
	"asm_sysvec_*",
	"asm_common_interrupt",
	"secondary_startup_64*",
	"ret_from_fork",
	"ret_from_fork_asm",
	"el0_sync",
	"el0_sync_compat",
	"el0_irq",
	"el1_sync",
	"el1_irq",
	"el0t_64_*",
	"el0t_32_*",
	"el1h_64_*",
};

static bool matches(const char *name, const char *pattern)
{
	size_t length = strlen(pattern);

	return pattern[length - 1] == '*' ? !strncmp(name, pattern, length - 1)
					  : !strcmp(name, pattern);
}

/*
 * Returns true for a function that enters the kernel: from it to the leaf, frames are the kernel's.
 */
static bool kernel_is_root(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (matches(name, roots[i]))
			return true;
	return false;
}

/* ---- the picture ---- */

#define FRAME_HEIGHT	 16
#define PAD_SIDE	 10
#define PAD_TOP		 58
#define PAD_BOTTOM	 34
#define CHARACTER_WIDTH	 7.2 /* pixels, monospace text of 12 pixels */
#define SHADES		 6
#define DIFF_SHADES	 7
#define LEGEND_MIN_WIDTH 800
#define MAX_ELEMENTS	 4000 /* the same as the script's maxElements */
#define MIN_ELEMENT	 1.0  /* minimum width, pixels */
#define END		 "</svg>\n"

struct drawing {
	FILE *f;
	const struct calltree *tree;
	const struct flamegraph *how;
	uint64_t total;
	double before_scale;
	double max_delta; /* largest growth or shrinkage, in units of value */
	double pixels;	  /* width of one unit of value */
	size_t rows;
	struct box *boxes; /* ordered callers first, from left to right */
	size_t n_boxes, boxes_capacity;
	double min_element; /* pixels; narrower boxes are parts of a path */
};

/* A drawn frame: a node, or several too narrow siblings together. */
struct box {
	const struct calltree_node *node; /* NULL: several narrow nodes */
	struct calltree_value value;
	double width; /* units of value; a vanished stack's are `before`, scaled */
	double left;  /* total width of the boxes to its left */
	uint32_t row;
	uint32_t n_merged;
	bool is_waker;	/* belongs to a waker's stack: after "--" */
	bool is_kernel; /* the kernel's entry function or below it, in stacks without suffixes */
};

/* A colour: a class of the style sheet, which is a letter and a digit. */
#define COLOUR(letter, shade) ((unsigned int)(letter) << 8 | (unsigned int)(shade))
#define COLOUR_FORMAT	      "%c%u"
#define COLOUR_ARGS(colour)   (colour) >> 8, (colour)&0xff

#define for_each_child(tree, node, child)                                      \
	for (uint32_t i_ = (node)->first_child;                                \
	     i_ != CALLTREE_NONE && ((child) = calltree_node(tree, i_), true); \
	     i_ = (child)->next_sibling)

static double width_of(const struct drawing *d, const struct calltree_node *node)
{
	return (double)node->total.now + (double)node->vanished * d->before_scale;
}

static bool is_narrow(const struct drawing *d, double width)
{
	return width * d->pixels < d->how->min_width || !(width > 0);
}

/* Returns the number of rows with drawn frames, from this node upwards. */
static size_t count_rows(const struct drawing *d, const struct calltree_node *node)
{
	const struct calltree_node *child;
	size_t deepest = 0;
	double narrow = 0;

	for_each_child(d->tree, node, child)
	{
		double width = width_of(d, child);
		size_t rows = is_narrow(d, width) ? 0 : count_rows(d, child);

		narrow += rows ? 0 : width;
		deepest = rows > deepest ? rows : deepest;
	}
	if (!deepest && !is_narrow(d, narrow))
		deepest = 1;
	return deepest + 1;
}

/* ---- differences ---- */

static double delta_of(const struct drawing *d, struct calltree_value value)
{
	double before = (double)value.before * d->before_scale;
	double delta = (double)value.now - before;

	return fabs(delta) <= 1e-12 * before ? 0 : delta; /* a rounding error */
}

static void prepare_differences(struct drawing *d, const struct calltree_node *node)
{
	const struct calltree_node *child;

	for_each_child(d->tree, node, child)
	{
		double delta = fabs(delta_of(d, child->total));

		d->max_delta = delta > d->max_delta ? delta : d->max_delta;
		prepare_differences(d, child);
	}
}

/* ---- one frame ---- */

/* Hashes the name (FNV-1a), so that a function has the same shade in all graphs. */
static int shade_of(const char *name)
{
	uint32_t hash = 0x811c9dc5U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x01000193U;
	return (int)((hash ^ hash >> 16) % SHADES);
}

/* Returns the shade of a share, by its square root, since most shares are small. */
static int shade_of_share(double share)
{
	int shade = 0;

	while (shade < DIFF_SHADES &&
	       (shade + 1e-9) * (shade + 1e-9) < share * DIFF_SHADES * DIFF_SHADES)
		shade++;
	return shade;
}

static unsigned int diff_colour_of(const struct drawing *d, const struct box *box)
{
	double delta = delta_of(d, box->value);
	double share = d->max_delta > 0 ? fabs(delta) / d->max_delta : 0;

	return COLOUR(delta < 0 ? 'b' : 'r', shade_of_share(share));
}

/* Returns the colour's letter of a marker: a thread state, or 'm' for the rest. */
static char letter_of_mark(const char *name)
{
	static const struct {
		const char *name;
		char letter;
	} marks[] = { { "[" REMARK_ON_CPU "]", 'c' },
		      { "[" REMARK_BLOCKED "]", 'o' },
		      { "[" REMARK_RUNNABLE "]", 'q' },
		      { "[" REMARK_THROTTLED "]", 't' } };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (!strcmp(marks[i].name, name))
			return marks[i].letter;
	return 'm';
}

static char letter_of(const struct box *box)
{
	static const char letters[] = {
		[FRAME_USER] = 'u',    [FRAME_INLINED] = 'i', [FRAME_JIT] = 'j',
		[FRAME_RUNTIME] = 'p', [FRAME_KERNEL] = 'k',
	};

	if (box->node->kind == FRAME_USER && (box->is_waker || box->is_kernel))
		return box->is_waker ? 'w' : 'k';
	if (box->node->kind == FRAME_MARK)
		return letter_of_mark(box->node->name);
	return letters[box->node->kind];
}

static unsigned int colour_of(const struct drawing *d, const struct box *box)
{
	if (!box->node)
		return COLOUR('m', 0);
	if (d->how->differential && box->row)
		return diff_colour_of(d, box);
	return COLOUR(letter_of(box), shade_of(box->node->name));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Returns the box's name, escaped, freed by the caller. */
static char *box_name(const struct drawing *d, const struct box *box)
{
	size_t max = d->how->name_max ? d->how->name_max : SIZE_MAX;

	return box->node ? mem_escape_short(box->node->name, max)
			 : mem_printf("(%" PRIu32 " narrow frames)", box->n_merged);
}

static void print_quantity(const struct drawing *d, const char *before, uint64_t value)
{
	char text[QUANTITY_MAX];

	fputs(before, d->f);
	xml_print(d->f,
		  quantity_format_decimal(text, value, calltree_decimals(d->tree), d->how->unit));
}

static void print_title(const struct drawing *d, const struct box *box)
{
	char *name = box_name(d, box);

	xml_print(d->f, name);
	free(name);
	print_quantity(d, " (", box->value.now);
	fprintf(d->f, ", %.2f %%", percent((double)box->value.now, (double)d->total));
	if (d->how->differential) {
		print_quantity(d, "; before: ", box->value.before);
		fprintf(d->f, ", %+.2f %%", percent(delta_of(d, box->value), (double)d->total));
	}
	fputc(')', d->f);
}

static double box_x(const struct drawing *d, const struct box *box)
{
	return PAD_SIDE + box->left * d->pixels;
}

static double box_y(const struct drawing *d, const struct box *box)
{
	return PAD_TOP +
	       (double)(d->how->inverted ? box->row : d->rows - 1 - box->row) * FRAME_HEIGHT;
}

static double box_width(const struct drawing *d, const struct box *box)
{
	return box->width * d->pixels;
}

static void print_element(const struct drawing *d, const struct box *box)
{
	fprintf(d->f,
		"<rect class=\"" COLOUR_FORMAT
		"\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"><title>",
		COLOUR_ARGS(colour_of(d, box)), box_x(d, box), box_y(d, box), box_width(d, box),
		FRAME_HEIGHT - 1);
	print_title(d, box);
	fputs("</title></rect>\n", d->f);
}

static void print_label(const struct drawing *d, const struct box *box)
{
	double width = box_width(d, box);
	size_t room = width > 6 ? (size_t)((width - 6) / CHARACTER_WIDTH) : 0;
	char *name;

	if (room < 3)
		return;
	name = box_name(d, box);
	fprintf(d->f, "<text x=\"%.2f\" y=\"%.1f\">", box_x(d, box) + 3, box_y(d, box) + 10.5);
	if (xml_length(name) <= room) {
		xml_print(d->f, name);
	} else {
		xml_print_start(d->f, name, room - 2);
		fputs("..", d->f);
	}
	fputs("</text>\n", d->f);
	free(name);
}

/* Writes a line of the script's table: row, colour, width, title. */
static void print_line(const struct drawing *d, const struct box *box)
{
	fprintf(d->f, "%" PRIu32 " " COLOUR_FORMAT " ", box->row, COLOUR_ARGS(colour_of(d, box)));
	if (box->width > (double)box->value.now)
		fprintf(d->f, "%.15g ", box->width);
	else
		fprintf(d->f, "%" PRIu64 " ", box->value.now);
	print_title(d, box);
	fputc('\n', d->f);
}

/* ---- all frames ---- */

static void add_narrow(struct box *narrow, const struct box *box)
{
	calltree_value_add(&narrow->value, box->value);
	narrow->width += box->width;
	narrow->n_merged++;
}

static void add_box(struct drawing *d, const struct box *box)
{
	*MEM_APPEND(d->boxes, d->n_boxes, d->boxes_capacity) = *box;
}

static bool begins_kernel(const struct drawing *d, const struct calltree_node *node)
{
	return !d->how->leaves_first && node->kind == FRAME_USER && kernel_is_root(node->name);
}

static bool begins_waker(const struct drawing *d, const struct calltree_node *node)
{
	return !d->how->leaves_first && !strcmp(node->name, "--");
}

static void add_subtree(struct drawing *d, const struct box *box)
{
	struct box narrow = { .row = box->row + 1, .is_waker = box->is_waker };
	double left = box->left;
	const struct calltree_node *child;

	add_box(d, box);
	for_each_child(d->tree, box->node, child)
	{
		struct box next = {
			.node = child,
			.value = child->total,
			.width = width_of(d, child),
			.left = left,
			.row = box->row + 1,
			.is_waker = box->is_waker || begins_waker(d, child),
			.is_kernel = box->is_kernel || begins_kernel(d, child),
		};

		if (is_narrow(d, next.width)) {
			add_narrow(&narrow, &next);
			continue;
		}
		add_subtree(d, &next);
		left += next.width;
	}
	narrow.left = left;
	if (!is_narrow(d, narrow.width))
		add_box(d, &narrow);
}

static bool is_element(const struct drawing *d, const struct box *box)
{
	return !box->row || box_width(d, box) >= d->min_element;
}

static size_t count_elements(const struct drawing *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_boxes; i++)
		n += is_element(d, &d->boxes[i]);
	return n;
}

static void choose_min_element(struct drawing *d)
{
	d->min_element = MIN_ELEMENT;
	while (count_elements(d) > MAX_ELEMENTS && d->min_element < d->how->width)
		d->min_element *= 1.25;
}

/* ---- frames drawn as paths ---- */

struct part {
	const struct box *box;
	unsigned int colour;
};

static bool is_same_path(const struct part *a, const struct part *b)
{
	return a->box->row == b->box->row && a->colour == b->colour;
}

/* Orders by path, then from left to right. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->box->row != y->box->row)
		return x->box->row < y->box->row ? -1 : 1;
	if (x->colour != y->colour)
		return x->colour < y->colour ? -1 : 1;
	return (x->box->left > y->box->left) - (x->box->left < y->box->left);
}

/* Writes a path's rectangles, with adjacent parts merged. Returns the number of its parts. */
static size_t print_path(const struct drawing *d, const struct part *parts, size_t n)
{
	size_t i = 0;

	fprintf(d->f, "<path class=\"" COLOUR_FORMAT "\" d=\"", COLOUR_ARGS(parts->colour));
	while (i < n && is_same_path(parts, &parts[i])) {
		const struct box *first = parts[i].box;
		double end = first->left;

		while (i < n && is_same_path(parts, &parts[i]) && parts[i].box->left == end)
			end += parts[i++].box->width;
		fprintf(d->f, "M%.2f %.0fh%.2fv%dH%.2fz", box_x(d, first), box_y(d, first),
			(end - first->left) * d->pixels, FRAME_HEIGHT - 1, box_x(d, first));
	}
	fputs("\"/>\n", d->f);
	return i;
}

static void print_paths(const struct drawing *d)
{
	struct part *parts = mem_zalloc(d->n_boxes + 1, sizeof(*parts));
	size_t n = 0;

	for (size_t i = 0; i < d->n_boxes; i++)
		if (!is_element(d, &d->boxes[i]))
			parts[n++] = (struct part){ &d->boxes[i], colour_of(d, &d->boxes[i]) };
	SORT(parts, n, compare_parts);
	for (size_t i = 0; i < n;)
		i += print_path(d, parts + i, n - i);
	free(parts);
}

static void print_elements(const struct drawing *d)
{
	for (size_t i = 0; i < d->n_boxes; i++)
		if (is_element(d, &d->boxes[i]))
			print_element(d, &d->boxes[i]);
}

static void print_table(const struct drawing *d)
{
	for (size_t i = 0; i < d->n_boxes; i++) {
		if (i % XML_TEXT_LINES == 0)
			fputs(i ? "</metadata>\n<metadata>\n" : "<metadata>\n", d->f);
		print_line(d, &d->boxes[i]);
	}
	fputs("</metadata>\n", d->f);
}

static void print_frames(const struct drawing *d)
{
	fprintf(d->f, "<g id=\"frames\" data-rows=\"%zu\" data-inverted=\"%d\" data-unit=\"",
		d->rows, d->how->inverted);
	xml_print(d->f, d->how->unit);
	fputs("\">\n", d->f);
	print_paths(d);
	print_elements(d);
	fputs("</g>\n<g id=\"labels\">\n", d->f);
	for (size_t i = 0; i < d->n_boxes; i++)
		print_label(d, &d->boxes[i]);
	fputs("</g>\n<rect id=\"cursor\"/>\n", d->f);
	print_table(d);
}

/* ---- title, legend, script ---- */

/* Prints the style of each kind's shades, which differ slightly in hue and lightness. */
static void print_shades(FILE *f)
{
	static const struct {
		char letter;
		int hue, saturation, lightness;
	} kinds[] = {
		{ 'u', 48, 88, 64 },  { 'k', 20, 86, 62 },  { 'i', 176, 50, 62 },
		{ 'j', 105, 52, 62 }, { 'p', 205, 65, 68 }, { 'w', 268, 55, 74 },
		{ 'm', 0, 0, 74 },    { 'c', 352, 78, 60 }, { 'o', 222, 42, 72 },
		{ 'q', 130, 48, 52 }, { 't', 312, 52, 60 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (int shade = 0; shade < SHADES; shade++)
			fprintf(f, ".%c%d{fill:hsl(%d,%d%%,%d%%)}\n", kinds[i].letter, shade,
				kinds[i].hue + (shade % 3 - 1) * 5, kinds[i].saturation,
				kinds[i].lightness + shade);
}

static void print_diff_shades(FILE *f)
{
	for (int shade = 0; shade <= DIFF_SHADES; shade++)
		fprintf(f, ".r%d{fill:hsl(4,85%%,%d%%)}\n.b%d{fill:hsl(214,80%%,%d%%)}\n", shade,
			94 - 5 * shade, shade, 94 - 5 * shade);
}

static void print_text(FILE *f, const char *id, uint32_t x, double y, const char *text)
{
	fprintf(f, "<text id=\"%s\" x=\"%" PRIu32 "\" y=\"%.0f\">", id, x, y);
	xml_print(f, text);
	fputs("</text>\n", f);
}

/* Explains the colours of a comparison, below the title. */
static void print_legend(FILE *f)
{
	const int n = 2 * DIFF_SHADES + 1;

	fprintf(f, "<g id=\"legend\">\n<text x=\"%d\" y=\"48\">less</text>\n", PAD_SIDE);
	for (int i = 0; i < n; i++) {
		int shade = i - DIFF_SHADES;

		fprintf(f, "<rect class=\"%c%d\" x=\"%d\" y=\"39\" width=\"8\" height=\"10\"/>\n",
			shade < 0 ? 'b' : 'r', abs(shade), PAD_SIDE + 34 + 8 * i);
	}
	fprintf(f, "<text x=\"%d\" y=\"48\">more than before</text>\n</g>\n",
		PAD_SIDE + 34 + 8 * n + 6);
}

static void print_head(const struct drawing *d, double height)
{
	const struct flamegraph *how = d->how;
	const char *title = how->title ? how->title : "Flame graph";
	FILE *f = d->f;

	if (!how->in_html)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
	fprintf(f,
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
	if (how->differential && how->width >= LEGEND_MIN_WIDTH)
		print_legend(f);
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

static struct drawing begin(FILE *f, const struct calltree *tree, const struct flamegraph *how)
{
	const struct calltree_node *root = calltree_node(tree, CALLTREE_ROOT);
	struct drawing d = { .f = f, .tree = tree, .how = how, .total = root->total.now };
	double width;

	d.before_scale = how->before_scale;
	if (!(d.before_scale > 0))
		d.before_scale =
			root->total.before ? (double)d.total / (double)root->total.before : 1;
	width = width_of(&d, root);
	d.pixels = width > 0 ? (how->width - 2.0 * PAD_SIDE) / width : 0;
	d.rows = count_rows(&d, root);
	return d;
}

static double height_of(const struct drawing *d)
{
	return PAD_TOP + (double)d->rows * FRAME_HEIGHT + PAD_BOTTOM;
}

double flamegraph_height(const struct calltree *tree, const struct flamegraph *how)
{
	struct drawing d = begin(NULL, tree, how);

	return height_of(&d);
}

void flamegraph_write(FILE *f, const struct calltree *tree, const struct flamegraph *how)
{
	const struct calltree_node *root = calltree_node(tree, CALLTREE_ROOT);
	struct drawing d = begin(f, tree, how);
	struct box all = { .node = root, .value = root->total, .width = width_of(&d, root) };

	if (how->differential)
		prepare_differences(&d, root);
	add_subtree(&d, &all);
	choose_min_element(&d);
	print_head(&d, height_of(&d));
	print_frames(&d);
	print_script(f);
	fputs(END, f);
	free(d.boxes);
}

void flamegraph_note(FILE *f, const char *reason, const char *moment)
{
	if (fseek(f, -(long)strlen(END), SEEK_END))
		return;
	fprintf(f, "<text id=\"note\" x=\"%d\" y=\"54\">captured at %s: ", PAD_SIDE, moment);
	xml_print(f, reason);
	fputs("</text>\n" END, f);
}
