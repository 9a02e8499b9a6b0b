// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks read into a call tree and written from one; see folded_tree.h. Adjacent lines often
 * begin with the same frames: these are compared as text instead of looked up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "output/folded.h"
#include "output/folded_tree.h"
#include "output/quantity.h"

/* ---- reading ---- */

/* The previous line's nodes, root first. */
struct path {
	uint32_t nodes[FOLDED_MAX_FRAMES];
	size_t n;
};

static bool is_node(const struct calltree *tree, uint32_t node, const struct folded_frame *frame)
{
	const struct calltree_node *n = calltree_node(tree, node);

	return n->kind == frame->kind && !strcmp(n->name, frame->name);
}

static bool is_wanted(const struct folded_line *line, struct name_filter *names)
{
	unsigned int verdict = 0;

	for (size_t i = 0; names && i < line->n_frames; i++)
		verdict |= name_filter_judge(names, line->frames[i].name);
	return !names || name_filter_keeps(names, verdict);
}

/* Adds a value, in the finest unit used so far that doesn't overflow 64 bits. False: overflow. */
static bool add_value(struct calltree *tree, uint32_t node, struct folded_number now,
		      struct folded_number before, bool *is_rounded)
{
	unsigned int wanted = calltree_decimals(tree);

	wanted = now.decimals > wanted ? now.decimals : wanted;
	wanted = before.decimals > wanted ? before.decimals : wanted;
	for (unsigned int decimals = wanted;; decimals--) {
		struct calltree_value value = { now.digits, before.digits };

		if (quantity_shift(&value.now, (int)decimals - (int)now.decimals) &&
		    quantity_shift(&value.before, (int)decimals - (int)before.decimals) &&
		    calltree_set_decimals(tree, decimals, value)) {
			*is_rounded |= decimals < wanted;
			return calltree_add(tree, node, value);
		}
		if (!decimals)
			return false;
	}
}

/* Adds a line's stack unless filtered. False: the total overflows. */
static bool add_line(struct calltree *tree, struct path *path, const struct folded_line *line,
		     const struct folded_input *input, bool *is_rounded)
{
	bool is_before = input->column == FOLDED_BEFORE;
	struct folded_number now = is_before ? line->before : line->value;
	uint32_t node = CALLTREE_ROOT;
	bool same = true, added;

	if (!is_wanted(line, input->names)) {
		*input->left_out += quantity_double(now.digits, now.decimals);
		return true;
	}
	for (size_t i = 0; i < line->n_frames; i++) {
		size_t from = input->reverse ? line->n_frames - 1 - i : i;
		const struct folded_frame *frame = &line->frames[from];

		same = same && i < path->n && is_node(tree, path->nodes[i], frame);
		node = same ? path->nodes[i] : calltree_child(tree, node, frame->name, frame->kind);
		path->nodes[i] = node;
	}
	path->n = line->n_frames;
	added = add_value(tree, node, now, is_before ? line->value : line->before, is_rounded);
	if (calltree_shrink(tree))
		path->n = 0;
	return added;
}

static int check_reader(const struct folded_reader *reader, const char *path, uint64_t stacks,
			unsigned int decimals)
{
	if (ferror(reader->file))
		return msg_errno(-(errno ?: EIO), "%s: read failed", path);
	if (!stacks && reader->has_two_values)
		return msg_error("%s: no stacks with two values (use files of --merge --diff, or "
				 "compare two files)",
				 path);
	if (!stacks)
		return msg_error("%s: contains no folded stacks", path);
	if (reader->is_rounded)
		msg_warn("%s: values rounded to %u decimals", path, decimals);
	if (reader->refused)
		msg_warn("%s: %" PRIu64 " of %" PRIu64
			 " lines skipped, not folded stacks (first: line %" PRIu64 ")",
			 path, reader->refused, reader->lines, reader->first_refused);
	return 0;
}

int folded_tree_read(struct calltree *tree, const struct folded_input *input)
{
	struct folded_line *line = mem_zalloc(1, sizeof(*line));
	struct path *path = mem_zalloc(1, sizeof(*path));
	struct folded_reader reader;
	uint64_t stacks = 0;
	int err;

	folded_open(&reader, input->file, input->column == FOLDED_BOTH);
	while (folded_read(&reader, line)) {
		if (add_line(tree, path, line, input, &reader.is_rounded))
			stacks++;
		else
			folded_refuse(&reader);
	}
	err = check_reader(&reader, input->path, stacks, calltree_decimals(tree));
	folded_close(&reader);
	free(path);
	free(line);
	return err;
}

static int read_path(struct calltree *tree, const char *path, enum folded_column column,
		     const struct folded_set *set, double *left_out)
{
	bool is_stdin = !strcmp(path, "-");
	struct folded_input input = {
		.path = is_stdin ? "standard input" : path,
		.file = is_stdin ? stdin : fopen(path, "re"),
		.column = column,
		.reverse = set->reverse,
		.names = set->names,
		.left_out = left_out,
	};
	int err;

	if (!input.file)
		return msg_errno(-errno, "%s: open failed", path);
	err = folded_tree_read(tree, &input);
	if (!is_stdin)
		fclose(input.file);
	return err;
}

static enum folded_column column_of(size_t file, size_t n_files, const struct folded_set *set)
{
	if (!set->compares)
		return FOLDED_NOW;
	return n_files == 1 ? FOLDED_BOTH : file < set->n_before ? FOLDED_BEFORE : FOLDED_NOW;
}

static void print_left_out(const struct calltree *tree, double left_out)
{
	double shown = quantity_double(calltree_node(tree, CALLTREE_ROOT)->total.now,
				       calltree_decimals(tree));

	if (left_out > 0)
		msg_info("%.2f %% filtered out by --only or --without",
			 100.0 * left_out / (shown + left_out));
}

int folded_tree_read_files(struct calltree *tree, size_t n, char **paths,
			   const struct folded_set *set)
{
	double left_out = 0;
	int err = n ? 0 : read_path(tree, "-", FOLDED_NOW, set, &left_out);

	for (size_t i = 0; !err && i < n; i++)
		err = read_path(tree, paths[i], column_of(i, n, set), set, &left_out);
	calltree_finish(tree);
	if (calltree_merged(tree))
		msg_warn("flame graph: %llu small frames merged into their callers (memory limit)",
			 (unsigned long long)calltree_merged(tree));
	print_left_out(tree, left_out);
	return err;
}

/* ---- writing ---- */

struct leaf {
	uint32_t node;
	struct calltree_value value;
};

struct leaves {
	struct leaf *list;
	size_t n, capacity;
};

static void collect(struct leaves *leaves, const struct calltree *tree, uint32_t index)
{
	const struct calltree_node *node = calltree_node(tree, index);

	if (index != CALLTREE_ROOT && (node->self.now || node->self.before)) {
		*MEM_APPEND(leaves->list, leaves->n, leaves->capacity) =
			(struct leaf){ index, node->self };
	}
	for (uint32_t i = node->first_child; i != CALLTREE_NONE;
	     i = calltree_node(tree, i)->next_sibling)
		collect(leaves, tree, i);
}

/* Orders leaves by value, largest first. Equal ones stay in the tree's order, by name. */
static int compare_leaves(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	if (x->value.now != y->value.now)
		return x->value.now < y->value.now ? 1 : -1;
	return (x->value.before < y->value.before) - (x->value.before > y->value.before);
}

static void print_path(FILE *f, const struct calltree *tree, uint32_t index)
{
	static const char *const suffixes[] = {
		[FRAME_USER] = "",	  [FRAME_INLINED] = "_[i]", [FRAME_JIT] = "_[j]",
		[FRAME_RUNTIME] = "_[p]", [FRAME_KERNEL] = "_[k]",  [FRAME_MARK] = "",
	};
	const struct calltree_node *node = calltree_node(tree, index);

	if (node->parent != CALLTREE_ROOT) {
		print_path(f, tree, node->parent);
		fputc(';', f);
		escape_print(f, node->name, ";");
	} else {
		folded_print_root(f, node->name);
	}
	fputs(suffixes[node->kind], f);
}

void folded_tree_write(FILE *f, const struct calltree *tree, bool has_two_values)
{
	unsigned int decimals = calltree_decimals(tree);
	struct leaves leaves = {};
	char text[QUANTITY_MAX];

	collect(&leaves, tree, CALLTREE_ROOT);
	SORT(leaves.list, leaves.n, compare_leaves);
	for (size_t i = 0; i < leaves.n; i++) {
		const struct leaf *leaf = &leaves.list[i];

		print_path(f, tree, leaf->node);
		if (has_two_values)
			fprintf(f, " %s", quantity_digits(text, leaf->value.before, decimals));
		fprintf(f, " %s\n", quantity_digits(text, leaf->value.now, decimals));
	}
	free(leaves.list);
}
