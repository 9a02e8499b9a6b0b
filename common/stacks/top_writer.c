// SPDX-License-Identifier: GPL-2.0-only
/* The live view of stacks; see top_writer.h. */
#include "base/escape.h"
#include "base/text_stream.h"
#include "modules/topview.h"
#include "output/calltree.h"
#include "output/functions.h"
#include "stacks/top_writer.h"

#define MAX_NODES (1U << 18)

struct top {
	bool is_asked_for;
	struct calltree *whole; /* totals of the whole run */
};

static const struct opt top_opts[] = {
	{ 0, "top", NULL, OPT_FLAG(struct top, is_asked_for),
	  "show functions live (default: every second)", "folded" },
	{},
};

DEFINE_STATE(struct top, top_of, stacks_top_module)

bool stacks_top_is_asked_for(const struct run *run)
{
	const struct top *top = top_of(run);

	return top && top->is_asked_for;
}

/* Adds a sample; a task without a stack is represented by its comm. */
static void add_sample(struct calltree *tree, const struct sample *s)
{
	uint32_t node = CALLTREE_ROOT;

	for (size_t i = 0; i < s->n_frames; i++)
		node = calltree_child(tree, node, sample_frame(s, i)->name,
				      sample_frame(s, i)->kind);
	if (!s->n_frames)
		node = calltree_child(tree, node, escape_no_name(s->comm), FRAME_MARK);
	calltree_add(tree, node, (struct calltree_value){ .now = s->value });
	calltree_shrink(tree);
}

static void add_profile(struct calltree *tree, const struct profile *p)
{
	for (size_t i = 0; i < profile_count(p); i++)
		add_sample(tree, profile_sample(p, i));
}

static void print_table(FILE *f, const struct calltree *tree, size_t n, const char *unit,
			bool by_total)
{
	struct functions *functions;

	functions = functions_new(tree, by_total);
	functions_print(f, functions, tree, n, unit);
	functions_free(functions);
}

/*
 * Makes the view of a report, as text to be freed. For off-CPU time, the kernel's waiting function
 * has all of the self time: sorting by total shows the callers.
 */
static char *make_view(struct run *run, const struct profile *p, const struct calltree *tree,
		       bool by_total)
{
	struct text_stream s;

	text_stream_open(&s);
	topview_print_head(s.f, run, profile_total(p),
			   by_total ? "s sorts by self, " : "t sorts by total, ");
	print_table(s.f, tree, TOPVIEW_ROWS, profile_unit(p), by_total);
	return text_stream_close(&s);
}

static void draw(struct run *run, const struct profile *p)
{
	struct calltree *tree = calltree_new(MAX_NODES);

	add_profile(tree, p);
	calltree_finish(tree);
	topview_show(run, make_view(run, p, tree, false), make_view(run, p, tree, true));
	calltree_free(tree);
}

static void print_last(const struct run *run, const struct profile *p, struct calltree *tree)
{
	calltree_finish(tree);
	print_table(run->out, tree, topview_last_rows(), profile_unit(p), topview_is_by_total(run));
}

void top_write(struct run *run, const struct profile *p)
{
	struct top *top = top_of(run);

	if (!top->whole)
		top->whole = calltree_new(MAX_NODES);
	add_profile(top->whole, p);
	if (topview_is_over(run))
		print_last(run, p, top->whole);
	else
		draw(run, p);
}

static void finish_top(struct run *run)
{
	if (top_of(run)->whole)
		calltree_free(top_of(run)->whole);
	topview_finish(run);
}

const struct module stacks_top_module = {
	.title = "live view",
	.opts = top_opts,
	.state = ZEROES(struct top),
	.start = topview_start,
	.stop = topview_stop,
	.finish = finish_top,
};
