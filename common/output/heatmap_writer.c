// SPDX-License-Identifier: GPL-2.0-only
/*
 * A heat map: time in columns of a second (of several, if there are many), each divided from bottom
 * to top into 50 cells, whose shade is the value of all threads in that time. Below it is a flame
 * graph, which the script limits to the selected time: each event is listed with its frame. Waits
 * of idle threads are left out; if a thread's whole time is known, a cell's value is the time on
 * CPU or waiting for one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "output/calltree.h"
#include "output/flamegraph.h"
#include "output/numbering.h"
#include "output/quantity.h"
#include "output/timeline.h"
#include "output/writer.h"
#include "output/xml.h"

#include "heatmap.js.h"

#define PAD	      10
#define TOP	      60
#define PARTS	      50 /* cells of a column */
#define CELL_HEIGHT   5
#define CELL_WIDTH    24 /* maximum width of a cell */
#define PICTURE_WIDTH 1200
#define MAX_COLUMNS   (PICTURE_WIDTH - 2 * PAD)
#define MAP_HEIGHT    (TOP + PARTS * CELL_HEIGHT + 40)
#define SHADES	      9
#define LABEL_WIDTH   70
#define NO_BOX	      UINT32_MAX

struct heatmap {
	FILE *f;
	const struct writer_style *style;
	const char *unit;
	struct calltree *tree;
	struct numbering nodes;	    /* nodes of the tree, by sample and kind of row */
	uint32_t *boxes;	    /* number in the flame graph's table, by node */
	uint64_t first_ns, cell_ns; /* start of the first cell, and length of each */
	size_t n_columns;
	uint64_t *cells, most; /* values, column by column; the largest one */
	size_t n_lines;
	bool has_runs;		   /* shades show time on CPU and waits for a CPU */
	const struct track *track; /* track that is being visited */
};

/* ---- stacks ---- */

static bool is_shown(const struct row *row)
{
	return row->value && (row->sample ? !writer_is_idle(row->sample) : row->state != NULL);
}

static uint32_t add_stack(struct heatmap *map, const struct row *row)
{
	const struct sample *latest = map->track->events[map->track->n - 1].sample;
	const struct sample nothing = { .comm = latest->comm };
	const struct sample *s = row->sample ? row->sample : &nothing;

	return svg_add_frames(map->tree,
			      calltree_child(map->tree, CALLTREE_ROOT, escape_no_name(s->comm),
					     FRAME_USER),
			      s, row->state);
}

/* Returns the row's node. The number of stacks of single events is limited, so the tree is, too. */
static uint32_t find_node(struct heatmap *map, const struct row *row)
{
	const char *at = row->sample ? (const char *)row->sample + row->kind
				     : (const char *)map->track->events;
	uint64_t number;

	if (!numbering_known(&map->nodes, at, &number))
		numbering_remember(&map->nodes, at, number = add_stack(map, row));
	return (uint32_t)number;
}

/* Numbers the nodes as the flame graph does: callers first, from left to right. */
static uint32_t number_boxes(struct heatmap *map, uint32_t index, uint32_t box)
{
	const struct calltree_node *node = calltree_node(map->tree, index);

	map->boxes[index] = node->total.now || index == CALLTREE_ROOT ? box++ : NO_BOX;
	for (uint32_t i = node->first_child; i != CALLTREE_NONE;
	     i = calltree_node(map->tree, i)->next_sibling)
		box = number_boxes(map, i, box);
	return box;
}

/* ---- cells ---- */

static void heat(struct heatmap *map, uint64_t cell, uint64_t value)
{
	if (cell >= map->n_columns * PARTS)
		return;
	map->cells[cell] += value;
	if (map->cells[cell] > map->most)
		map->most = map->cells[cell];
}

/* Divides a run or a wait among the cells of its time, without the time before the first cell. */
static void heat_time(struct heatmap *map, uint64_t start_ns, uint64_t end_ns)
{
	start_ns = start_ns > map->first_ns ? start_ns - map->first_ns : 0;
	end_ns = end_ns > map->first_ns ? end_ns - map->first_ns : 0;
	while (start_ns < end_ns) {
		uint64_t cell = start_ns / map->cell_ns, until_ns = (cell + 1) * map->cell_ns;

		until_ns = until_ns < end_ns ? until_ns : end_ns;
		heat(map, cell, until_ns - start_ns);
		start_ns = until_ns;
	}
}

static void add_row(void *arg, const struct row *row)
{
	struct heatmap *map = arg;

	if (!is_shown(row))
		return;
	calltree_add(map->tree, find_node(map, row), (struct calltree_value){ .now = row->value });
	if (map->has_runs && row->kind == ROW_BLOCKED)
		return;
	if (map->track->is_time)
		heat_time(map, row->start_ns, row->start_ns + row->value);
	else if (row->start_ns >= map->first_ns)
		heat(map, (row->start_ns - map->first_ns) / map->cell_ns, row->value);
}

/* Writes a row for the script: frame, start, value. */
static void print_row(void *arg, const struct row *row)
{
	struct heatmap *map = arg;
	uint32_t box = is_shown(row) ? map->boxes[find_node(map, row)] : NO_BOX;

	if (box == NO_BOX)
		return;
	if (map->n_lines && map->n_lines % XML_TEXT_LINES == 0)
		fputs("</metadata>\n<metadata class=\"rows\">\n", map->f);
	fprintf(map->f, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", box, row->start_ns, row->value);
	map->n_lines++;
}

static void add_track(void *arg, const struct track *t)
{
	((struct heatmap *)arg)->track = t;
	track_visit(t, add_row, arg);
}

static void print_track(void *arg, const struct track *t)
{
	((struct heatmap *)arg)->track = t;
	track_visit(t, print_row, arg);
}

static void begin_map(struct heatmap *map, const struct profile *p)
{
	const struct writer_facts *facts = map->style->facts;
	uint64_t end_ns = facts ? facts->duration_ns : 0, seconds, column_s;
	size_t n;
	const struct event *events = profile_events(p, &n);

	for (size_t i = 0; i < n; i++) {
		end_ns = events[i].end_ns > end_ns ? events[i].end_ns : end_ns;
		map->has_runs |= events[i].kind == EVENT_RUN;
	}
	map->first_ns = facts ? facts->cut_ns / NS_PER_S * NS_PER_S : 0;
	seconds = (end_ns - map->first_ns) / NS_PER_S + 1;
	column_s = (seconds + MAX_COLUMNS - 1) / MAX_COLUMNS;
	map->cell_ns = column_s * NS_PER_S / PARTS;
	map->n_columns = (seconds + column_s - 1) / column_s;
	map->cells = mem_zalloc(map->n_columns * PARTS, sizeof(*map->cells));
}

/* ---- the picture ---- */

static double column_width(const struct heatmap *map)
{
	double width = (double)MAX_COLUMNS / (double)map->n_columns;

	return width < CELL_WIDTH ? width : CELL_WIDTH;
}

/* Returns the shade of a value, 1 or more, by its square root, since most values are small. */
static int shade_of(const struct heatmap *map, uint64_t value)
{
	return (int)ceil(SHADES * sqrt((double)value / (double)map->most));
}

static void print_cell(const struct heatmap *map, size_t cell)
{
	double width = column_width(map);
	uint64_t start_ns = map->first_ns + cell * map->cell_ns, column = cell / PARTS;
	char text[QUANTITY_MAX];

	if (!map->cells[cell])
		return;
	quantity_format(text, map->cells[cell], map->unit);
	fprintf(map->f, "<rect class=\"h%d\" x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\">",
		shade_of(map, map->cells[cell]), PAD + (double)column * width,
		TOP + (PARTS - 1 - cell % PARTS) * CELL_HEIGHT, width, CELL_HEIGHT);
	fprintf(map->f, "<title>%.2f s: %s</title></rect>\n", (double)start_ns / NS_PER_S, text);
}

/* Writes times below the columns. */
static void print_axis(const struct heatmap *map)
{
	size_t step = (size_t)ceil(LABEL_WIDTH / column_width(map));

	for (size_t i = 0; i < map->n_columns; i += step)
		fprintf(map->f, "<text x=\"%.2f\" y=\"%d\">%" PRIu64 " s</text>\n",
			PAD + (double)i * column_width(map), TOP + PARTS * CELL_HEIGHT + 14,
			(uint64_t)((map->first_ns + i * PARTS * map->cell_ns) / NS_PER_S));
}

static void print_style(FILE *f)
{
	fputs("<style>\n#heat { cursor: crosshair; }\n.empty { fill: none; pointer-events: all; }\n"
	      "#range { fill: none; stroke: #06c; stroke-width: 2; pointer-events: none; }\n"
	      "#all { cursor: pointer; fill: #06c; visibility: hidden; }\n",
	      f);
	for (int i = 1; i <= SHADES; i++)
		fprintf(f, ".h%d{fill:hsl(%d,90%%,%d%%)}\n", i, 50 - 5 * i, 92 - 6 * i);
	fputs("</style>\n", f);
}

static void print_map(const struct heatmap *map)
{
	FILE *f = map->f;
	const struct writer_facts *facts = map->style->facts;
	const char *shades = strcmp(map->unit, "nanoseconds") ? map->unit
			     : map->has_runs		      ? "time on CPU, runnable or throttled"
							      : "time off CPU";
	char *subtitle = svg_subtitle(facts, map->unit);

	fprintf(f, "<text id=\"title\" x=\"50%%\" y=\"22\">");
	xml_print(f, facts ? facts->tool : "Heat map");
	fprintf(f, ": %s", shades);
	fprintf(f, "</text>\n<text id=\"subtitle\" x=\"50%%\" y=\"40\">");
	xml_print(f, subtitle ? subtitle : "");
	fprintf(f, "</text>\n<g id=\"heat\" data-first=\"%" PRIu64 "\" data-cell=\"%" PRIu64 "\" ",
		map->first_ns, map->cell_ns);
	fprintf(f, "data-columns=\"%zu\" data-width=\"%.4f\" data-unit=\"", map->n_columns,
		column_width(map));
	xml_print(f, map->unit);
	fprintf(f, "\">\n<rect class=\"empty\" x=\"%d\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>\n",
		PAD, TOP, (double)map->n_columns * column_width(map), PARTS * CELL_HEIGHT);
	for (size_t i = 0; i < map->n_columns * PARTS; i++)
		print_cell(map, i);
	fputs("</g>\n", f);
	print_axis(map);
	fprintf(f,
		"<text id=\"all\" x=\"%d\" y=\"22\">All of the time</text>\n<path id=\"range\"/>\n",
		PAD);
	free(subtitle);
}

static void print_picture(const struct heatmap *map)
{
	/* with all frames, numbered as in number_boxes() */
	const struct flamegraph picture = { .title = "All of the time",
					    .unit = map->unit,
					    .width = PICTURE_WIDTH,
					    .in_html = true,
					    .inverted = true };
	double height = MAP_HEIGHT + flamegraph_height(map->tree, &picture);

	fprintf(map->f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n",
		PICTURE_WIDTH, height, PICTURE_WIDTH, height);
	print_style(map->f);
	fputs("<rect id=\"background\" width=\"100%\" height=\"100%\"/>\n", map->f);
	print_map(map);
	fprintf(map->f, "<g transform=\"translate(0,%d)\">\n", MAP_HEIGHT);
	flamegraph_write(map->f, map->tree, &picture);
	fputs("</g>\n", map->f);
}

static void write_heatmap(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct heatmap map = { .f = f,
			       .style = style,
			       .unit = profile_unit(p),
			       .tree = calltree_new(CALLTREE_MAX_NODES) };

	begin_map(&map, p);
	timeline_order(p);
	timeline_visit(p, style, add_track, &map);
	calltree_finish(map.tree);
	map.boxes = mem_zalloc(calltree_count(map.tree), sizeof(*map.boxes));
	number_boxes(&map, CALLTREE_ROOT, 0);
	print_picture(&map);
	fputs("<metadata class=\"rows\">\n", f);
	timeline_visit(p, style, print_track, &map);
	fputs("</metadata>\n<script><![CDATA[\n", f);
	fputs(heatmap_js, f);
	fputs("]]></script>\n</svg>\n", f);
	numbering_free(&map.nodes);
	calltree_free(map.tree);
	free(map.boxes);
	free(map.cells);
}

const struct writer heatmap_writer = { .name = "heatmap",
				       .extension = "heatmap.svg",
				       .is_single = true,
				       .in_time = true,
				       .is_exact = true,
				       .write = write_heatmap,
				       .note = flamegraph_note };
