// SPDX-License-Identifier: GPL-2.0-only
/* Which options go together in every tool. */
#include "run/command_line.h"
#include "silent.h"
#include "unit.h"

static const struct opt no_opts[] = { {} };
static const struct tool tool = {
	.name = "tool",
	.unit = "samples",
	.operands = OPERANDS_DURATION,
	.opts = no_opts,
};

#define PARSE(...) parse((const char *[]){ "tool", __VA_ARGS__, NULL })

static int parse(const char **argv)
{
	struct run run;
	int err, argc = 0, stderr_fd = silence_stderr();

	while (argv[argc])
		argc++;
	run_init(&run, &tool);
	err = command_line_parse(&run, argc, (char **)argv);
	run_free(&run);
	restore_stderr(stderr_fd);
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
