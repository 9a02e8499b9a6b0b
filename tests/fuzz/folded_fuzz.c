// SPDX-License-Identifier: GPL-2.0-only
/* Folded stacks of arbitrary bytes, drawn, listed and folded again: no value may come or go. */
#include "base/msg.h"
#include "output/flamegraph.h"
#include "output/folded_tree.h"
#include "output/functions.h"
#include "fuzz.h"

static uint64_t sum_of_selves(const struct functions *functions)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < functions->n; i++)
		sum += functions->list[i].self.now;
	return sum;
}

static void write_all(FILE *f, const struct calltree *tree)
{
	struct flamegraph how = FLAMEGRAPH_DEFAULT;
	struct functions *functions = functions_new(tree, false);

	how.differential = true;
	flamegraph_write(f, tree, &how);
	folded_tree_write(f, tree, true);
	if (sum_of_selves(functions) != calltree_node(tree, CALLTREE_ROOT)->total.now)
		abort();
	functions_free(functions);
}

FUZZ(bytes, size)
{
	struct calltree *tree = calltree_new(64);
	struct folded_input input = { "input", NULL, FOLDED_NOW, false };
	FILE *null = fopen("/dev/null", "w");

	if (!size || !null)
		return calltree_free(tree), null ? fclose(null) : 0;
	input.column = bytes[0] % 3;
	input.reverse = bytes[0] & 4;
	input.file = fmemopen((void *)bytes, size, "r");
	folded_tree_read(tree, &input);
	calltree_finish(tree);
	write_all(null, tree);
	fclose(input.file);
	fclose(null);
	calltree_free(tree);
	return 0;
}
