// SPDX-License-Identifier: GPL-2.0-only
/* Call trees: nothing is counted twice, nothing is lost, however small the memory. */
#include "output/calltree.h"
#include "output/functions.h"
#include "unit.h"

/* Adds a stack of one-letter functions. */
static void add(struct calltree *tree, const char *letters, uint64_t now, uint64_t before)
{
	uint32_t node = CALLTREE_ROOT;
	char name[2] = "";

	for (; *letters; letters++) {
		name[0] = *letters;
		node = calltree_child(tree, node, name, FRAME_USER);
	}
	calltree_add(tree, node, (struct calltree_value){ now, before });
	calltree_shrink(tree);
}

static const struct calltree_node *find(const struct calltree *tree, const char *letters)
{
	const struct calltree_node *node = calltree_node(tree, CALLTREE_ROOT);
	uint32_t i;

	for (; *letters; letters++) {
		for (i = node->first_child; i != CALLTREE_NONE;
		     i = calltree_node(tree, i)->next_sibling)
			if (calltree_node(tree, i)->name[0] == *letters)
				break;
		if (i == CALLTREE_NONE) {
			UNIT_FAIL("no node %s", letters);
			return calltree_node(tree, CALLTREE_ROOT);
		}
		node = calltree_node(tree, i);
	}
	return node;
}

TEST(equal_stacks_are_one_and_totals_add_up)
{
	struct calltree *tree = calltree_new(1000);

	add(tree, "abc", 5, 1);
	add(tree, "ab", 2, 0);
	add(tree, "abc", 7, 2);
	add(tree, "ad", 1, 9);
	calltree_finish(tree);
	CHECK_EQ(find(tree, "")->total.now, 15);
	CHECK_EQ(find(tree, "")->total.before, 12);
	CHECK_EQ(find(tree, "ab")->self.now, 2);
	CHECK_EQ(find(tree, "ab")->total.now, 14);
	CHECK_EQ(find(tree, "abc")->self.now, 12);
	CHECK_EQ(find(tree, "ad")->total.before, 9);
	calltree_free(tree);
}

TEST(children_are_in_the_order_of_their_names)
{
	struct calltree *tree = calltree_new(1000);
	const struct calltree_node *root;

	add(tree, "c", 1, 0);
	add(tree, "a", 1, 0);
	add(tree, "b", 1, 0);
	calltree_finish(tree);
	root = calltree_node(tree, CALLTREE_ROOT);
	CHECK_STR(calltree_node(tree, root->first_child)->name, "a");
	CHECK_STR(calltree_node(tree, calltree_node(tree, root->first_child)->next_sibling)->name,
		  "b");
	calltree_free(tree);
}

TEST(kinds_keep_equal_names_apart)
{
	struct calltree *tree = calltree_new(1000);
	uint32_t user = calltree_child(tree, CALLTREE_ROOT, "read", FRAME_USER);

	CHECK(user != calltree_child(tree, CALLTREE_ROOT, "read", FRAME_KERNEL));
	CHECK_EQ(user, calltree_child(tree, CALLTREE_ROOT, "read", FRAME_USER));
	calltree_free(tree);
}

/* One hot stack in a crowd of others that do not fit. */
TEST(a_full_tree_merges_the_small_and_loses_no_value)
{
	struct calltree *tree = calltree_new(256);
	uint64_t total = 0;
	char letters[8];

	for (unsigned int i = 0; i < 5003; i++) {
		snprintf(letters, sizeof(letters), "x%04u", i);
		add(tree, letters, 1, 0);
		add(tree, "hot", 3, 0);
		total += 4;
	}
	calltree_finish(tree);
	CHECK_EQ(find(tree, "")->total.now, total);
	CHECK_EQ(find(tree, "hot")->self.now, 3 * 5003);
	CHECK(calltree_merged(tree) > 1000);
	calltree_free(tree);
}

/* Few nodes, but names of 1 KB each; those of what is merged are not kept, so that new ones fit. */
TEST(long_names_are_bounded_too)
{
	struct calltree *tree = calltree_new(256);
	uint64_t merged_before;
	char name[1024];

	memset(name, 'n', sizeof(name) - 1);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%04u", i);
		name[4] = 'n';
		name[sizeof(name) - 1] = '\0';
		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, name, FRAME_USER),
			     (struct calltree_value){ .now = 1 });
		calltree_shrink(tree);
	}
	add(tree, "hot", 3, 0);
	merged_before = calltree_merged(tree);
	CHECK(merged_before > 100);
	for (unsigned int i = 0; i < 5; i++)
		add(tree, (const char *[]){ "a", "b", "c", "d", "e" }[i], 1, 0);
	calltree_finish(tree);
	CHECK_EQ(calltree_merged(tree), merged_before);
	CHECK_EQ(find(tree, "")->total.now, 208);
	CHECK_EQ(find(tree, "hot")->self.now, 3);
	calltree_free(tree);
}

/* Seven nodes weigh more than half of what 64 bits hold, and each has something small below it. */
TEST(the_largest_values_end_the_search_for_what_is_small)
{
	static const char *const small[] = { "x",      "ax",	  "abx", "abcx", "abcdx",
					     "abcdex", "abcdefx", "y",	 "ay",	 "aby" };
	struct calltree *tree = calltree_new(16);

	add(tree, "abcdef", UINT64_MAX / 2 + 100, 0);
	for (size_t i = 0; i < ARRAY_SIZE(small); i++)
		add(tree, small[i], 1, 0);
	calltree_finish(tree);
	CHECK(find(tree, "")->total.now == UINT64_MAX / 2 + 110);
	calltree_free(tree);
}

TEST(functions_are_sorted_by_either_sum)
{
	struct calltree *tree = calltree_new(1000);

	add(tree, "mab", 1, 0);
	add(tree, "mc", 5, 0);
	calltree_finish(tree);
	for (int by_total = 0; by_total < 2; by_total++) {
		struct functions *functions = functions_new(tree, by_total);

		CHECK_EQ(functions->n, 4);
		CHECK_STR(functions->list[0].name, by_total ? "m" : "c");
		CHECK_STR(functions->list[1].name, by_total ? "c" : "b");
		functions_free(functions);
	}
	calltree_free(tree);
}

/* "-" is all of one stack, and the beginning of another one. */
TEST(a_mark_without_a_function_keeps_its_value)
{
	struct calltree *tree = calltree_new(1000);
	uint32_t mark = calltree_child(tree, CALLTREE_ROOT, "-", FRAME_MARK);
	struct functions *functions;
	uint64_t sum = 0;

	calltree_add(tree, mark, (struct calltree_value){ 1, 0 });
	calltree_add(tree, calltree_child(tree, mark, "d", FRAME_KERNEL),
		     (struct calltree_value){ 7, 0 });
	calltree_finish(tree);
	functions = functions_new(tree, false);
	for (size_t i = 0; i < functions->n; i++)
		sum += functions->list[i].self.now;
	CHECK_EQ(sum, 8);
	functions_free(functions);
	calltree_free(tree);
}

/* Merged frames are not their caller's own value: only L has one. */
TEST(merged_frames_are_a_row_of_their_own)
{
	struct calltree *tree = calltree_new(256);
	struct functions *functions;
	uint64_t merged = 0, leaf = 0, sum = 0;
	char letters[8];

	for (unsigned int i = 0; i < 5003; i++) {
		snprintf(letters, sizeof(letters), "x%04uL", i);
		add(tree, letters, 1, 0);
	}
	calltree_finish(tree);
	functions = functions_new(tree, false);
	for (size_t i = 0; i < functions->n; i++) {
		const struct function *function = &functions->list[i];

		sum += function->self.now;
		leaf += strcmp(function->name, "L") ? 0 : function->self.now;
		merged += strcmp(function->name, CALLTREE_MERGED) ? 0 : function->self.now;
	}
	CHECK(merged > 0);
	CHECK_EQ(merged + leaf, 5003);
	CHECK_EQ(sum, 5003);
	functions_free(functions);
	calltree_free(tree);
}

/* Code of a function may be inlined, compiled or interpreted; the kernel has its own functions. */
TEST(a_functions_kinds_are_one_row_but_the_kernels)
{
	static const enum frame_kind kinds[] = { FRAME_USER,	FRAME_INLINED, FRAME_JIT,
						 FRAME_RUNTIME, FRAME_KERNEL,  FRAME_MARK };
	struct calltree *tree = calltree_new(1000);
	struct functions *functions;
	uint32_t node = CALLTREE_ROOT;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, "f", kinds[i]),
			     (struct calltree_value){ 1ULL << i, 0 });
		node = calltree_child(tree, node, "f", kinds[i]);
	}
	calltree_add(tree, node, (struct calltree_value){ 64, 0 });
	calltree_finish(tree);
	functions = functions_new(tree, false);
	CHECK_EQ(functions->n, 3);
	CHECK_EQ(functions->list[0].self.now, 16 + 64);
	CHECK_EQ(functions->list[1].self.now, 32);
	CHECK_EQ(functions->list[2].self.now, 15);
	CHECK_EQ(functions->list[2].total.now, 15 + 64);
	functions_free(functions);
	calltree_free(tree);
}

TEST(recursion_counts_once_in_a_total)
{
	struct calltree *tree = calltree_new(1000);
	struct functions *functions;

	add(tree, "aba", 5, 0);
	add(tree, "ab", 2, 0);
	calltree_finish(tree);
	functions = functions_new(tree, false);
	CHECK_EQ(functions->n, 2);
	CHECK_STR(functions->list[0].name, "a");
	CHECK_EQ(functions->list[0].self.now, 5);
	CHECK_EQ(functions->list[0].total.now, 7);
	CHECK_EQ(functions->list[1].total.now, 7);
	functions_free(functions);
	calltree_free(tree);
}
