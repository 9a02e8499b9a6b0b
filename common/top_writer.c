// SPDX-License-Identifier: GPL-2.0-only
/* The live view; see top_writer.h. */
#include <stdlib.h>
#include <unistd.h>

#include "calltree.h"
#include "functions.h"
#include "msg.h"
#include "parse.h"
#include "quantity.h"
#include "screen.h"
#include "top_writer.h"

#define MAX_NODES (1U << 18)

static struct calltree *whole; /* of all reports */
static bool is_stopped;

/* Tasks without a stack stand for themselves. */
static void add_sample(struct calltree *tree, const struct sample *s)
{
	uint32_t node = CALLTREE_ROOT;

	for (size_t i = 0; i < s->n_frames; i++)
		node = calltree_child(tree, node, s->frames[i].name, s->frames[i].kind);
	if (!s->n_frames)
		node = calltree_child(tree, node, s->comm, FRAME_MARK);
	calltree_add(tree, node, (struct calltree_value){ .now = s->value });
	calltree_shrink(tree);
}

static void add_profile(struct calltree *tree, const struct profile *p)
{
	for (size_t i = 0; i < profile_count(p); i++)
		add_sample(tree, profile_sample(p, i));
}

static void print_table(FILE *f, struct calltree *tree, size_t n, const char *unit)
{
	struct functions *functions;

	calltree_finish(tree);
	functions = functions_new(tree);
	functions_print(f, functions, tree, n, unit);
	functions_free(functions);
}

static void print_header(FILE *f, const struct profile *p, const struct writer_facts *facts)
{
	char total[QUANTITY_MAX], lost[QUANTITY_MAX];

	fprintf(f, "%s: %s in %.2f s", facts->tool,
		quantity_format(total, profile_total(p), profile_unit(p)),
		(double)facts->duration_ns / NS_PER_S);
	if (facts->lost)
		fprintf(f, ", lost: %s", quantity_format(lost, facts->lost, profile_unit(p)));
	fputs("  (q quits)\n", f);
}

/* What has no room is not printed: the header and the titles take two rows. */
static void draw(const struct profile *p, const struct writer_style *style)
{
	struct calltree *tree = calltree_new(MAX_NODES);
	unsigned int rows = screen_rows();
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	add_profile(tree, p);
	print_header(f, p, style->facts);
	print_table(f, tree, rows > 2 ? rows - 2 : 1, profile_unit(p));
	fclose(f);
	screen_draw(text);
	free(text);
	calltree_free(tree);
}

static void write_top(FILE *f, struct profile *p, const struct writer_style *style)
{
	unsigned int rows = screen_rows();

	add_profile(whole, p);
	if (is_stopped)
		print_table(f, whole, rows > 6 ? rows - 6 : 1, profile_unit(p));
	else
		draw(p, style);
}

const struct writer top_writer = { .name = "top", .write = write_top };

static enum loop_verdict on_key(int fd, void *arg)
{
	char key;

	(void)arg;
	return read(fd, &key, 1) == 1 && key != 'q' && key != 'Q' ? LOOP_GO : LOOP_STOP;
}

int top_start(struct loop *loop)
{
	int err = screen_take_keys() ? loop_watch(loop, STDIN_FILENO, on_key, NULL) : 0;

	whole = calltree_new(MAX_NODES);
	return err ? msg_errno(err, "watching the keyboard") : 0;
}

void top_stop(void)
{
	is_stopped = true;
	screen_close();
}

void top_finish(void)
{
	if (whole)
		calltree_free(whole);
}
