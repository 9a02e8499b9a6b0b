// SPDX-License-Identifier: GPL-2.0-only
/* Command lines: what each type of option takes, and that a wrong line is refused as a whole. */
#include "base/parse.h"
#include "run/opts.h"
#include "silent.h"
#include "unit.h"

#define MAX_WORDS 16

struct tool_values {
	bool flag, other_flag, third_flag;
	uint32_t number;
	uint64_t time_ns;
};

struct shared_values {
	uint32_t tid;
	uint64_t bytes, parsed;
	const char *text;
	bool wordy;
};

static struct tool_values tool;
static struct shared_values shared;

static int parse_twice(const char *what, const char *word, void *dest)
{
	uint64_t value;
	int err = parse_uint(what, word, 0, 1000, &value);

	if (!err)
		*(uint64_t *)dest = 2 * value;
	return err;
}

static const struct opt tool_opts[] = {
	{ 'f', "flag", NULL, OPT_FLAG(struct tool_values, flag), "a flag", "other" },
	{ 'o', "other", NULL, OPT_FLAG(struct tool_values, other_flag), "another flag" },
	{ 'L', "third", NULL, OPT_FLAG(struct tool_values, third_flag), "a third flag" },
	{ 'n', "number", "N", OPT_UINT(struct tool_values, number, 2, 10), "a number" },
	{ 'm', "time", "USEC", OPT_DURATION(struct tool_values, time_ns, NS_PER_US), "a time" },
	{},
};

static const struct opt shared_opts[] = {
	{ 0, "tid", "TID", OPT_UINT(struct shared_values, tid, 1, 99), "a thread" },
	{ 0, "size", "BYTES", OPT_SIZE(struct shared_values, bytes), "a size" },
	{ 0, "text", "TEXT", OPT_STRING(struct shared_values, text), "a text" },
	{ 'd', "twice", "N", OPT_PARSED(struct shared_values, parsed, parse_twice),
	  "a number, doubled" },
	{ 'w', "wordy", NULL, OPT_FLAG(struct shared_values, wordy),
	  "words that end in the last column there is, really one more goes below and so does "
	  "a_word_that_is_longer_than_all_of_a_line_could_ever_hold" },
	{ 0, "a-name-as-long-as-the-column", "N",
	  OPT_PARSED(struct shared_values, parsed, parse_twice), "a long one" },
	{},
};

static struct opt_set set = {
	.sections = { { "options", tool_opts, &tool },
		      { "nothing", NULL },
		      { "shared", shared_opts, &shared } },
	.n_sections = 3,
};

static char *words[MAX_WORDS + 1];

/* Parses a line of words parted by blanks; no word is longer than what the line holds. */
static int parse_line(const char *line)
{
	static char copy[256];
	int n_words = 0;

	tool = (struct tool_values){};
	shared = (struct shared_values){};
	snprintf(copy, sizeof(copy), "tool %s", line);
	for (char *rest = copy, *word; n_words < MAX_WORDS && (word = strsep(&rest, " "));)
		words[n_words++] = word;
	words[n_words] = NULL;
	return opts_parse(&set, n_words, words);
}

static bool is_refused(const char *line)
{
	int err;

	SAID(err = parse_line(line));
	return err == -EINVAL;
}

static const char *help_text(void)
{
	return DIVERTED(stdout, opts_print_help(&set));
}

/* Returns the values that a command line sets, and its operands. */
static const char *values_of(const char *line)
{
	int first = parse_line(line);

	return PRINTED(f, {
		fprintf(f, "%s%s%s", tool.flag ? "f" : "", tool.other_flag ? "o" : "",
			tool.third_flag ? "L" : "");
		fprintf(f, " %u %llu %u", tool.number, (unsigned long long)tool.time_ns,
			shared.tid);
		fprintf(f, " %llu %llu %s:", (unsigned long long)shared.bytes,
			(unsigned long long)shared.parsed, shared.text ? shared.text : "-");
		for (; first > 0 && words[first]; first++)
			fprintf(f, " %s", words[first]);
	});
}

static const struct {
	const char *line, *values; /* flags, number, time, tid, size, parsed, text */
} readings[] = {
	{ "--flag --number 10 --time 3 --size 64K --text a=b --twice 21",
	  "f 10 3000 0 65536 42 a=b:" },
	/* letters alone, joined, and with their argument */
	{ "-oL -n5 -m 10ms", "oL 5 10000000 0 0 0 -:" },
	{ "--number=7 --text=", " 7 0 0 0 0 :" },
	{ "--nu 3", " 3 0 0 0 0 -:" }, /* getopt_long(3) lets names be cut short */
	{ "-f -L", "fL 0 0 0 0 0 -:" },
	/* operands may stand between options */
	{ "10 --flag 5 -n 3", "f 3 0 0 0 0 -: 10 5" },
	{ "-o -- --flag", "o 0 0 0 0 0 -: --flag" },
	{ "", " 0 0 0 0 0 -: " }, /* an empty word is an operand */
};

TEST(lines_are_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++)
		CHECK_CASE_STR(readings[i].line, values_of(readings[i].line), readings[i].values);
}

TEST(knows_what_was_given)
{
	CHECK(parse_line("-n 2 --text x") > 0);
	CHECK(opts_given(&set, "number"));
	CHECK(opts_given(&set, "text"));
	CHECK(!opts_given(&set, "flag"));
	CHECK(parse_line("--flag") > 0);
	CHECK(opts_given(&set, "flag"));
	CHECK(!opts_given(&set, "number"));
	CHECK_EQ(parse_line(""), 1);
	CHECK(!opts_given(&set, "flag"));
}

static const struct {
	const char *line, *complaint;
} refusals[] = {
	{ "--nonsense", "unknown option '--nonsense' (see --help)" },
	{ "--numbr", "'--numbr' (did you mean --number?)" },
	{ "--txet=a", "'--txet=a' (did you mean --text?)" },
	{ "-z", "unknown option '-z'" },
	{ "-oz", "unknown option '-z'" },
	{ "--number", "'--number' needs an argument" },
	{ "-n", "'-n' needs an argument" },
	{ "-d", "'-d' needs an argument" },
	{ "--flag=1", "'--flag=1' takes no argument" },
	/* values that do not fit the type */
	{ "--number 1", "--number" },
	{ "--number 11", "--number" },
	{ "--number 3x", "--number" },
	{ "--number -3", "--number" },
	{ "-n 3x", "--number: '3x'" },
	{ "--time 3x", "--time" },
	{ "--size 3x", "--size" },
	{ "--twice abc", "--twice" },
	{ "--flag --other", "--flag and --other exclude each other" },
	{ "-of", "--flag and --other exclude each other" },
	{ "--text a --text b", "--text: given twice, 'a' and 'b'" },
	{ "--t 3", "--t" }, /* fits two options */
};

TEST(refuses_bad_lines_and_says_why)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		int err = 0;
		const char *said = SAID(err = parse_line(refusals[i].line));

		CHECK_CASE(refusals[i].line, err, -EINVAL);
		CHECK_HAS(said, refusals[i].complaint);
	}
}

TEST(the_tid_option_has_the_tools_letter)
{
	CHECK(is_refused("-t 5"));
	set.tid_letter = 't';
	CHECK(parse_line("-t 5") > 0);
	CHECK_EQ(shared.tid, 5);
	CHECK(opts_given(&set, "tid"));
	CHECK(parse_line("--tid 6") > 0);
	CHECK_EQ(shared.tid, 6);
	set.tid_letter = 0;
}

TEST(a_tool_gives_a_letter_to_a_shared_option)
{
	static const struct opt_letter letters[] = { { 'i', "number" }, {} };

	CHECK(is_refused("-i 5"));
	set.letters = letters;
	CHECK(parse_line("-i 5") > 0);
	CHECK_EQ(tool.number, 5);
	CHECK(opts_given(&set, "number"));
	CHECK_HAS(help_text(), "  -i, --number");
	set.letters = NULL;
}

TEST(brief_help_has_the_named_options_only)
{
	CHECK(parse_line("-f") > 0);
	CHECK(opts_given_by_letter(&set, "flag"));
	CHECK_STR(DIVERTED(stdout, opts_print_brief(&set, "tool", "flag tid")),
		  "\noptions (all: tool --help):\n"
		  "  -f, --flag     a flag\n"
		  "      --tid TID  a thread\n");
	CHECK(parse_line("--flag") > 0);
	CHECK(!opts_given_by_letter(&set, "flag"));
}

TEST(help_lists_options_by_section_wrapped_at_80_columns)
{
	const char *help = help_text();

	CHECK_HAS(
		help, "\noptions:\n  -f, --flag                  a flag\n",
		"\nshared:\n      --tid TID               a thread\n",
		/* long options on a line of their own */
		"      --a-name-as-long-as-the-column N\n"
		"                              a long one\n",
		"  -w, --wordy                 words that end in the last column there is, really\n"
		"                              one more goes below and so does\n"
		"                              a_word_that_is_longer_than_all_of_a_line_could_"
		"ever_hold\n");
	CHECK(!strstr(help, "nothing:"));
	set.tid_letter = 't';
	CHECK_HAS(help_text(), "  -t, --tid TID               a thread\n");
	set.tid_letter = 'L'; /* the tool's own */
	CHECK_HAS(help_text(), "      --tid TID               a thread\n");
	set.tid_letter = 0;
}
