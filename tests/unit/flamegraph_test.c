// SPDX-License-Identifier: GPL-2.0-only
/* Pictures: exact numbers, widths that add up, and names that can't break out. */
#include "output/flamegraph.h"
#include "../formats/samples.h"
#include "unit.h"
#include "written.h"

static struct calltree *tree_of(const char *leaf, uint64_t now, uint64_t before)
{
	struct calltree *tree = calltree_new(1000);
	uint32_t main_node = calltree_child(tree, CALLTREE_ROOT, "main", FRAME_USER);

	calltree_add(tree, calltree_child(tree, main_node, leaf, FRAME_KERNEL),
		     (struct calltree_value){ now, before });
	calltree_add(tree, main_node, (struct calltree_value){ 25, 25 });
	return tree;
}

static const struct flamegraph usual = FLAMEGRAPH_DEFAULT;
static struct flamegraph how;

BEFORE_EACH()
{
	how = usual;
}

/* Frees the tree. */
static char *draw(struct calltree *tree)
{
	char *svg;

	calltree_finish(tree);
	svg = PRINTED(f, flamegraph_write(f, tree, &how));
	calltree_free(tree);
	return svg;
}

static const struct writer_style plain;

TEST(titles_tell_exact_values)
{
	char *svg = draw(tree_of("read", 75, 0));

	CHECK_HAS(svg, "<title>all (100 samples, 100.00 %)</title>",
		  "<title>read (75 samples, 75.00 %)</title>",
		  " 100 all (100 samples, 100.00 %)\n1 ",
		  " 75 read (75 samples, 75.00 %)\n</metadata>");
	CHECK_HAS(svg, "width=\"885.00\""); /* of 1180 */
}

/* As a folded stack without marks has it: nothing says what is the kernel's. */
static struct calltree *tree_without_kinds(void)
{
	static const char *const names[] = { "main", "read", "entry_SYSCALL_64_after_hwframe",
					     "vfs_read" };
	struct calltree *tree = calltree_new(1000);
	uint32_t node = CALLTREE_ROOT;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		node = calltree_child(tree, node, names[i], FRAME_USER);
	calltree_add(tree, node, (struct calltree_value){ 10, 0 });
	calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, "entry_SYSCALL", FRAME_USER),
		     (struct calltree_value){ 10, 0 });
	return tree;
}

TEST(the_kernels_frames_are_known_by_where_it_is_entered)
{
	char *svg = draw(tree_without_kinds());

	CHECK_EQ(count_in(svg, "<rect class=\"k"), 2);
	CHECK_EQ(count_in(svg, "<rect class=\"u"), 3);
	how.leaves_first = true; /* then callers stand behind */
	svg = draw(tree_without_kinds());
	CHECK_EQ(count_in(svg, "<rect class=\"k"), 0);
}

/* Leaves first, what stands behind the mark is the stack that waited. */
TEST(wakers_stacks_are_known_by_their_mark)
{
	static const char *const names[] = { "main", "--", "wake" };

	for (int leaves_first = 0; leaves_first < 2; leaves_first++) {
		struct calltree *tree = calltree_new(1000);
		uint32_t node = CALLTREE_ROOT;
		char *svg;

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			node = calltree_child(tree, node, names[i],
					      i == 1 ? FRAME_MARK : FRAME_USER);
		calltree_add(tree, node, (struct calltree_value){ 10, 0 });
		how.leaves_first = leaves_first;
		svg = draw(tree);
		CHECK_EQ(count_in(svg, "<rect class=\"w"), !leaves_first);
	}
}

/* Markers of a thread's state have a colour each, other markers have none. */
TEST(marks_have_colours_by_what_they_say)
{
	static const char *const marks[][2] = { { "[on cpu]", "<rect class=\"c" },
						{ "[blocked]", "<rect class=\"o" },
						{ "[runnable]", "<rect class=\"q" },
						{ "[throttled]", "<rect class=\"t" },
						{ "[blocked at end]", "<rect class=\"m" } };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct calltree *tree = calltree_new(1000);
		char *svg;

		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, marks[i][0], FRAME_MARK),
			     (struct calltree_value){ 10, 0 });
		svg = draw(tree);
		CHECK_EQ(count_in(svg, marks[i][1]), i == 4 ? 2 : 1); /* "all" is a mark, too */
	}
}

TEST(a_comparison_has_a_legend)
{
	char *svg = draw(tree_of("read", 75, 0));

	CHECK_EQ(count_in(svg, "<g id=\"legend"), 0);
	how.differential = true;
	svg = draw(tree_of("read", 75, 0));
	CHECK_HAS(svg, "<g id=\"legend\">", ">less</text>", ">more than before</text>",
		  "<rect class=\"b7\" x=\"44\"", "<rect class=\"r7\" x=\"156\"");
}

TEST(hostile_names_and_units_stay_text)
{
	char *svg;

	how.title = "</title><script>alert(1)</script>";
	svg = draw(tree_of("x</text><script>alert(1)</script>\x1b&\"", 75, 0));
	CHECK(!strstr(svg, "<script>alert"));
	CHECK_HAS(svg, "x&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\x1b&amp;&quot; (75");
	how.unit = "R&D</title>";
	how.differential = true;
	svg = draw(tree_of("read", 75, 25));
	CHECK_HAS(svg, "<title>read (75 R&amp;D&lt;/title&gt;, 75.00 %; "
		       "before: 25 R&amp;D&lt;/title&gt;, +25.00 %)</title>");
	CHECK(!strstr(svg, "R&D"));
}

TEST(narrow_frames_are_merged_and_counted)
{
	struct calltree *tree = tree_of("wide", 1000000, 0);
	uint32_t main_node = calltree_child(tree, CALLTREE_ROOT, "main", FRAME_USER);
	char name[16], *svg;

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "thin%d", i);
		calltree_add(tree, calltree_child(tree, main_node, name, FRAME_USER),
			     (struct calltree_value){ .now = 7 });
	}
	svg = draw(tree);
	CHECK_HAS(svg, " 350 (50 narrow frames) (350 samples, 0.03 %)\n");
	CHECK(!strstr(svg, "thin1"));
}

/* Two rows of 3000 frames, of two colours each: paths, but for the roots. */
TEST(frames_narrower_than_a_pixel_are_parts_of_paths)
{
	struct calltree *tree = calltree_new(10000);
	char name[16], *svg;

	for (int i = 0; i < 3000; i++) {
		uint32_t node;

		snprintf(name, sizeof(name), "thin%d", i);
		node = calltree_child(tree, CALLTREE_ROOT, name, i % 2 ? FRAME_USER : FRAME_KERNEL);
		node = calltree_child(tree, node, "leaf", i % 2 ? FRAME_USER : FRAME_KERNEL);
		calltree_add(tree, node, (struct calltree_value){ .now = 1 });
	}
	svg = draw(tree);
	CHECK_EQ(count_in(svg, "<rect class=\""), 1);
	CHECK(count_in(svg, "<path class=\"") <= 2 * 12);
	CHECK_EQ(count_in(svg, "<path class=\"k"), count_in(svg, "<path class=\"u"));
	CHECK_EQ(count_in(svg, "\n2 "), 3000);
	CHECK_EQ(count_in(svg, "<metadata>\n"), 7); /* of 1000 lines each */
	CHECK_EQ(count_in(svg, "\n</metadata>\n"), 7);
	CHECK_HAS(svg, " 1 thin2999 (1 sample, 0.03 %)\n");
}

/* Each row is one frame from side to side. */
TEST(elements_are_bounded)
{
	struct calltree *tree = calltree_new(10000);
	uint32_t node = CALLTREE_ROOT;
	char *svg;

	for (int i = 0; i < 5000; i++) {
		node = calltree_child(tree, node, "f", FRAME_USER);
		calltree_add(tree, node, (struct calltree_value){ .now = 1 });
	}
	svg = draw(tree);
	CHECK(count_in(svg, "<rect class=\"") <= 4000);
	CHECK(count_in(svg, "<rect class=\"") >= 3000);
	CHECK_EQ(count_in(svg, "<rect class=\"") + count_in(svg, "<path class=\""), 5001);
}

TEST(labels_count_what_is_escaped)
{
	char *svg;

	how.width = 100; /* 60 pixels of 80 have room for 7 characters */
	svg = draw(tree_of("a\x01"
			   "b\x02"
			   "c\x03",
			   75, 0));
	CHECK_HAS(svg, ">a\\x01..</text>");
}

TEST(a_long_name_is_cut_on_its_frame_only)
{
	char name[4097] = "", title[4200], *svg;

	memset(name, 'n', sizeof(name) - 1);
	svg = draw(tree_of(name, 75, 0));
	snprintf(title, sizeof(title), "<title>%s (75 samples, 75.00 %%)</title>", name);
	CHECK(strstr(svg, title));
	CHECK_HAS(svg, ">nnnnnnnn", "nnnn..</text>");
}

TEST(differences_are_of_shares)
{
	char *svg;

	how.differential = true;
	svg = draw(tree_of("read", 75, 25)); /* 75 of 100 now, 25 of 50 before */
	CHECK_HAS(svg, "<title>read (75 samples, 75.00 %; before: 25 samples, +25.00 %)</title>",
		  "<rect class=\"r7\" x=\"10.00\" y=\"58\" width=\"885.00\"");
}

TEST(an_empty_tree_is_a_picture_too)
{
	char *svg = draw(calltree_new(1000));

	CHECK_HAS(svg, "<title>all (0 samples, 0.00 %)</title>");
	CHECK(!strstr(svg, "nan\""));
}

/* A document with this for a name has no byte but those, and no markup but ours. */
TEST(hostile_samples_stay_text)
{
	struct profile *p = samples_make("samples");
	char *svg = written_by(&svg_writer, p, &plain, NULL), total[64];

	snprintf(total, sizeof(total), " %llu all (", (unsigned long long)profile_total(p));
	CHECK_HAS(svg, total);
	CHECK_HAS(svg,
		  ">&quot;q\\u0041&quot; &lt;b&gt;;\\x0a\\x1b]0;t\\x07 \\xff\xc3\xa4 \\xe2\\x82 "
		  "\\xc2\\x9b (");
	CHECK_HAS(svg, "<script>");
	for (const char *c = svg; *c && strncmp(c, "<script>", 8); c++) {
		CHECK((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t');
		if (*c == '<')
			CHECK(strchr("?/gmprst", c[1])); /* ?xml svg style title rect text g path */
		if (*c == '&')
			CHECK(!strncmp(c, "&quot;", 6) || !strncmp(c, "&lt;", 4) ||
			      !strncmp(c, "&gt;", 4) || !strncmp(c, "&amp;", 5) ||
			      !strncmp(c, "&#39;", 5));
	}
	profile_free(p);
}
