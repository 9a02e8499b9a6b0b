// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of md_writer.c as HTML, and flame graphs below it: one file of at most 1 MB without
 * external resources, readable without its scripts, which are the graphs'.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "output/remarks.h"
#include "output/writer.h"
#include "output/xml.h"

#define GRAPH_BYTES 480000 /* maximum size of a flame graph */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
	"<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px sans-serif; max-width: 1200px; margin: 1em auto; padding: 0 1em; }\n"
	"pre, code { font-family: \"DejaVu Sans Mono\", Menlo, Consolas, monospace; }\n"
	"pre { overflow-x: auto; }\n"
	"td, th { padding: 0 1em 0 0; text-align: left; }\n"
	"td + td { text-align: right; }\n"
	"svg { display: block; max-width: 100%; height: auto; margin: 1em 0; }\n"
	"</style>\n";

/* ---- the page ---- */

enum block { NO_BLOCK, PARAGRAPH, TABLE, PREFORMATTED, BLOCKS };

/* Markdown being converted, line by line: only the constructs that the page uses. */
struct conversion {
	FILE *f;
	enum block block; /* the open element */
};

static void begin_block(struct conversion *to, enum block block)
{
	static const char *const names[BLOCKS] = { NULL, "p", "table", "pre" };

	if (to->block == block)
		return;
	if (to->block)
		fprintf(to->f, "</%s>\n", names[to->block]);
	if (block)
		fprintf(to->f, "<%s>\n", names[block]);
	to->block = block;
}

/* Writes text in which "`" begins and ends code. */
static void print_text(FILE *f, char *text)
{
	bool is_code = false;

	for (char *part = text, *end; part; part = end, is_code = !is_code) {
		end = strchr(part, '`');
		if (end)
			*end++ = '\0';
		fputs(is_code ? "<code>" : "", f);
		xml_print(f, part);
		fputs(is_code ? "</code>" : "", f);
	}
}

static void print_element(FILE *f, const char *name, char *text)
{
	fprintf(f, "<%s>", name);
	print_text(f, text);
	fprintf(f, "</%s>\n", name);
}

/* Writes the row of a table: "| a | b |". The line below the titles has no cells. */
static void print_row(struct conversion *to, char *line)
{
	const char *name = to->block == TABLE ? "td" : "th";
	char *rest = line;

	begin_block(to, TABLE);
	if (line[1] == ':')
		return;
	fputs("<tr>", to->f);
	for (char *cell; (cell = strtok_r(rest, "|", &rest));)
		print_element(to->f, name, cell);
	fputs("</tr>\n", to->f);
}

static void print_line(struct conversion *to, char *line)
{
	if (!strcmp(line, "```")) {
		begin_block(to, to->block == PREFORMATTED ? NO_BLOCK : PREFORMATTED);
	} else if (to->block == PREFORMATTED) {
		xml_print(to->f, line);
		fputc('\n', to->f);
	} else if (*line == '#') {
		begin_block(to, NO_BLOCK);
		print_element(to->f, line[1] == '#' ? "h2" : "h1", line + strspn(line, "# "));
	} else if (*line == '|') {
		print_row(to, line);
	} else if (!*line) {
		begin_block(to, NO_BLOCK);
	} else {
		begin_block(to, PARAGRAPH);
		print_text(to->f, line);
		fputs("<br>\n", to->f);
	}
}

static void print_page(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct conversion to = { .f = f };
	struct text_stream page;
	char *text, *rest;

	text_stream_open(&page);
	md_writer.write(page.f, p, style);
	text = text_stream_close(&page);
	for (rest = text; rest && *rest;)
		print_line(&to, strsep(&rest, "\n"));
	begin_block(&to, NO_BLOCK);
	free(text);
}

/* ---- flame graphs ---- */

static bool is_on_cpu(const struct sample *s)
{
	return s->remark && !strcmp(s->remark, REMARK_ON_CPU);
}

/* Returns true for waits that explain something: see rank() in md_writer.c. */
static bool is_waiting(const struct sample *s)
{
	return !is_on_cpu(s) && !writer_is_idle(s) &&
	       !(s->remark && !strcmp(s->remark, REMARK_BLOCKED_THROUGHOUT));
}

static bool has_any(const struct profile *p, bool (*takes)(const struct sample *s))
{
	for (size_t i = 0; i < profile_count(p); i++)
		if (takes(profile_sample(p, i)) && profile_sample(p, i)->value)
			return true;
	return false;
}

static void print_graphs(FILE *f, struct profile *p, const struct writer_style *style)
{
	static const struct {
		const char *title;
		bool (*takes)(const struct sample *s);
	} parts[] = { { "on CPU", is_on_cpu },
		      { "waiting, without idle threads and [blocked throughout]", is_waiting } };

	if (!has_any(p, is_on_cpu)) {
		svg_write_part(f, p, style, NULL, NULL, GRAPH_BYTES);
		return;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has_any(p, parts[i].takes))
			svg_write_part(f, p, style, parts[i].title, parts[i].takes, GRAPH_BYTES);
}

static void write_html(FILE *f, struct profile *p, const struct writer_style *style)
{
	fprintf(f, "%s<title>%s</title>\n", head, style->facts ? style->facts->tool : "tracelets");
	print_page(f, p, style);
	print_graphs(f, p, style);
}

/* HTML needs no end tags of the document, so that a note can follow. */
static void note_html(FILE *f, const char *reason, const char *moment)
{
	fprintf(f, "<p>Captured at %s: <code>", moment);
	xml_print(f, reason);
	fputs("</code></p>\n", f);
}

const struct writer html_writer = { .name = "html",
				    .extension = "html",
				    .is_page = true,
				    .is_single = true,
				    .write = write_html,
				    .note = note_html };
