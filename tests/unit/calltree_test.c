// SPDX-License-Identifier: GPL-2.0-only
/* Call trees: nothing is counted twice, nothing is lost, however small the memory. */
#include "output/calltree.h"
#include "output/functions.h"
#include "unit.h"

static struct calltree *tree;
static struct functions *functions;

/* Instead of the usual one. */
static void limit_to(uint32_t max_nodes)
{
	calltree_free(tree);
	tree = calltree_new(max_nodes);
}

BEFORE_EACH()
{
	limit_to(1000);
}

AFTER_EACH()
{
	functions_free(functions);
	functions = NULL;
	calltree_free(tree);
	tree = NULL;
}

static void list_functions(bool by_total)
{
	functions_free(functions);
	functions = functions_new(tree, by_total);
}

/* Adds a stack of one-letter functions. */
static void add(const char *letters, uint64_t now, uint64_t before)
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

static const struct calltree_node *find(const char *letters)
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
	add("abc", 5, 1);
	add("ab", 2, 0);
	add("abc", 7, 2);
	add("ad", 1, 9);
	calltree_finish(tree);
	CHECK_EQ(find("")->total.now, 15);
	CHECK_EQ(find("")->total.before, 12);
	CHECK_EQ(find("ab")->self.now, 2);
	CHECK_EQ(find("ab")->total.now, 14);
	CHECK_EQ(find("abc")->self.now, 12);
	CHECK_EQ(find("ad")->total.before, 9);
}

TEST(children_are_in_the_order_of_their_names)
{
	const struct calltree_node *root;

	add("c", 1, 0);
	add("a", 1, 0);
	add("b", 1, 0);
	calltree_finish(tree);
	root = calltree_node(tree, CALLTREE_ROOT);
	CHECK_STR(calltree_node(tree, root->first_child)->name, "a");
	CHECK_STR(calltree_node(tree, calltree_node(tree, root->first_child)->next_sibling)->name,
		  "b");
}

TEST(kinds_keep_equal_names_apart)
{
	uint32_t user = calltree_child(tree, CALLTREE_ROOT, "read", FRAME_USER);

	CHECK(user != calltree_child(tree, CALLTREE_ROOT, "read", FRAME_KERNEL));
	CHECK_EQ(user, calltree_child(tree, CALLTREE_ROOT, "read", FRAME_USER));
}

/* One hot stack in a crowd of others that do not fit. */
TEST(a_full_tree_merges_the_small_and_loses_no_value)
{
	uint64_t total = 0;
	char letters[8];

	limit_to(256);
	for (unsigned int i = 0; i < 5003; i++) {
		snprintf(letters, sizeof(letters), "x%04u", i);
		add(letters, 1, 0);
		add("hot", 3, 0);
		total += 4;
	}
	calltree_finish(tree);
	CHECK_EQ(find("")->total.now, total);
	CHECK_EQ(find("hot")->self.now, 3 * 5003);
	CHECK(calltree_merged(tree) > 1000);
}

/* Few nodes, but names of 1 KB each; those of what is merged are not kept, so that new ones fit. */
TEST(long_names_are_bounded_too)
{
	uint64_t merged_before;
	char name[1024];

	limit_to(256);
	memset(name, 'n', sizeof(name) - 1);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%04u", i);
		name[4] = 'n';
		name[sizeof(name) - 1] = '\0';
		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, name, FRAME_USER),
			     (struct calltree_value){ .now = 1 });
		calltree_shrink(tree);
	}
	add("hot", 3, 0);
	merged_before = calltree_merged(tree);
	CHECK(merged_before > 100);
	for (unsigned int i = 0; i < 5; i++)
		add((const char *[]){ "a", "b", "c", "d", "e" }[i], 1, 0);
	calltree_finish(tree);
	CHECK_EQ(calltree_merged(tree), merged_before);
	CHECK_EQ(find("")->total.now, 208);
	CHECK_EQ(find("hot")->self.now, 3);
}

/* Seven nodes weigh more than half of what 64 bits hold, and each has something small below it. */
TEST(the_largest_values_end_the_search_for_what_is_small)
{
	static const char *const small[] = { "x",      "ax",	  "abx", "abcx", "abcdx",
					     "abcdex", "abcdefx", "y",	 "ay",	 "aby" };

	limit_to(16);
	add("abcdef", UINT64_MAX / 2 + 100, 0);
	for (size_t i = 0; i < ARRAY_SIZE(small); i++)
		add(small[i], 1, 0);
	calltree_finish(tree);
	CHECK(find("")->total.now == UINT64_MAX / 2 + 110);
}

TEST(functions_are_sorted_by_either_sum)
{
	add("mab", 1, 0);
	add("mc", 5, 0);
	calltree_finish(tree);
	for (int by_total = 0; by_total < 2; by_total++) {
		list_functions(by_total);
		CHECK_EQ(functions->n, 4);
		CHECK_STR(functions->list[0].name, by_total ? "m" : "c");
		CHECK_STR(functions->list[1].name, by_total ? "c" : "b");
	}
}

/* "-" is all of one stack, and the beginning of another one. */
TEST(a_mark_without_a_function_keeps_its_value)
{
	uint32_t mark = calltree_child(tree, CALLTREE_ROOT, "-", FRAME_MARK);
	uint64_t sum = 0;

	calltree_add(tree, mark, (struct calltree_value){ 1, 0 });
	calltree_add(tree, calltree_child(tree, mark, "d", FRAME_KERNEL),
		     (struct calltree_value){ 7, 0 });
	calltree_finish(tree);
	list_functions(false);
	for (size_t i = 0; i < functions->n; i++)
		sum += functions->list[i].self.now;
	CHECK_EQ(sum, 8);
}

/* Merged frames are not their caller's own value: only L has one. */
TEST(merged_frames_are_a_row_of_their_own)
{
	uint64_t merged = 0, leaf = 0, sum = 0;
	char letters[8];

	limit_to(256);
	for (unsigned int i = 0; i < 5003; i++) {
		snprintf(letters, sizeof(letters), "x%04uL", i);
		add(letters, 1, 0);
	}
	calltree_finish(tree);
	list_functions(false);
	for (size_t i = 0; i < functions->n; i++) {
		const struct function *function = &functions->list[i];

		sum += function->self.now;
		leaf += strcmp(function->name, "L") ? 0 : function->self.now;
		merged += strcmp(function->name, CALLTREE_MERGED) ? 0 : function->self.now;
	}
	CHECK(merged > 0);
	CHECK_EQ(merged + leaf, 5003);
	CHECK_EQ(sum, 5003);
}

/* Code of a function may be inlined, compiled or interpreted; the kernel has its own functions. */
TEST(a_functions_kinds_are_one_row_but_the_kernels)
{
	static const enum frame_kind kinds[] = { FRAME_USER,	FRAME_INLINED, FRAME_JIT,
						 FRAME_RUNTIME, FRAME_KERNEL,  FRAME_MARK };
	uint32_t node = CALLTREE_ROOT;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, "f", kinds[i]),
			     (struct calltree_value){ 1ULL << i, 0 });
		node = calltree_child(tree, node, "f", kinds[i]);
	}
	calltree_add(tree, node, (struct calltree_value){ 64, 0 });
	calltree_finish(tree);
	list_functions(false);
	CHECK_EQ(functions->n, 3);
	CHECK_EQ(functions->list[0].self.now, 16 + 64);
	CHECK_EQ(functions->list[1].self.now, 32);
	CHECK_EQ(functions->list[2].self.now, 15);
	CHECK_EQ(functions->list[2].total.now, 15 + 64);
}

TEST(recursion_counts_once_in_a_total)
{
	add("aba", 5, 0);
	add("ab", 2, 0);
	calltree_finish(tree);
	list_functions(false);
	CHECK_EQ(functions->n, 2);
	CHECK_STR(functions->list[0].name, "a");
	CHECK_EQ(functions->list[0].self.now, 5);
	CHECK_EQ(functions->list[0].total.now, 7);
	CHECK_EQ(functions->list[1].total.now, 7);
}
