// SPDX-License-Identifier: GPL-2.0-only
/* Which options go together in every tool. */
#include "run/command_line.h"
#include "silent.h"
#include "unit.h"

struct options {
	bool folded;
};

static const struct options defaults;
static const struct opt opts[] = { { 'f', "folded", NULL, OPT_FLAG(struct options, folded) }, {} };
static const struct module numbers = { .has_metrics = true };
static const struct tool tool = {
	.name = "tool",
	.unit = "samples",
	.operands = OPERANDS_DURATION,
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &numbers } },
};

static bool is_metrics; /* of the last command line */

#define PARSE(...) parse((const char *[]){ "tool", __VA_ARGS__, NULL })

static int parse(const char **argv)
{
	struct run run;
	int err, argc = 0;

	while (argv[argc])
		argc++;
	run_init(&run, &tool);
	SAID(err = command_line_parse(&run, argc, (char **)argv));
	is_metrics = run.is_metrics;
	run_free(&run);
	return err;
}

TEST(files_of_a_series_are_kept)
{
	static const char *const options[][2] = { { "--keep", "3" }, { "--keep-bytes", "1M" } };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *option = options[i][0], *value = options[i][1];

		CHECK_EQ(PARSE(option, value, "--output", "cpu-%Y%m%d.txt", "10"), 0);
		CHECK_EQ(PARSE(option, value, "--output", "cpu.txt", "--interval", "1"), 0);
		CHECK_EQ(PARSE(option, value, "--output", "cpu.txt", "10"), -EINVAL);
		CHECK_EQ(PARSE(option, value, "--interval", "1"), -EINVAL);
	}
}

TEST(folded_stacks_prevail_over_what_a_name_promises)
{
	CHECK_EQ(PARSE("--output", "cpu.prom"), 0);
	CHECK(is_metrics);
	CHECK_EQ(PARSE("-f", "--output", "cpu.prom"), 0);
	CHECK(!is_metrics);
}
