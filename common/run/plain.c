// SPDX-License-Identifier: GPL-2.0-only
/* Tools that load no BPF programs; see plain.h. */
#include <signal.h>
#include <stdio.h>

#include "base/msg.h"
#include "base/version.h"
#include "run/output.h"
#include "run/plain.h"

static const struct opt common_opts[] = {
	{ 0, "output", "FILE", OPT_STRING(struct plain_options, output),
	  "write to FILE, not to stdout" },
	{ 0, "quiet", NULL, OPT_FLAG(struct plain_options, quiet),
	  "print only results, losses and errors" },
	{ 'h', "help", NULL, OPT_FLAG(struct plain_options, want_help),
	  "print help (-h: one screen)" },
	{ 'V', "version", NULL, OPT_FLAG(struct plain_options, want_version), "print the version" },
	{},
};

static int print_help(const struct plain_tool *tool, const struct opt_set *set)
{
	printf("usage: %s [options]%s%s\n\n%s\n\nexamples:\n%s", tool->name,
	       *tool->usage ? " " : "", tool->usage, tool->summary, tool->examples);
	if (opts_given_by_letter(set, "help"))
		opts_print_brief(set, tool->name, tool->usual);
	else
		opts_print_help(set);
	return output_flush_standard() ? 1 : 0;
}

int plain_main(const struct plain_tool *tool, int argc, char **argv)
{
	struct opt_set set = { .sections = { { "options", tool->opts, tool->options },
					     { "all tools", common_opts, tool->common } },
			       .n_sections = 2 };
	int first;

	output_open_standard();
	if (argc == 0) /* see tool_main() */
		return printf(TOOL_LINE, tool->name, tool->summary) < 0;
	msg_set_name(tool->name);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	first = tool->parse(&set, argc, argv);
	if (first < 0)
		return 2;
	msg_quiet = tool->common->quiet;
	if (tool->common->want_help)
		return print_help(tool, &set);
	if (tool->common->want_version) {
		printf("%s (tracelets) %s\n", tool->name, TRACELETS_VERSION);
		return output_flush_standard() ? 1 : 0;
	}
	return tool->run(argv + first);
}
