// SPDX-License-Identifier: GPL-2.0-only
/* See unwind_options.h. */
#include <string.h>

#include "base/msg.h"
#include "stacks/unwind_options.h"

static const struct unwind_options defaults = { .mem_bytes = 128 << 20 };

static const struct opt unwind_opts[] = {
	{ 0, "unwind", "METHOD", OPT_STRING(struct unwind_options, method),
	  "walk user stacks by cfi, fp (frame pointers), auto (default)" },
	{ 0, "unwind-mem", "SIZE", OPT_SIZE(struct unwind_options, mem_bytes),
	  "limit unwind table memory (default 128M)" },
	{},
};

const struct unwind_options *unwind_options_of(const struct run *run)
{
	return run_state(run, &unwind_module);
}

static int check_unwind(struct run *run)
{
	const char *method = unwind_options_of(run)->method;

	if (!method || !strcmp(method, "auto"))
		return 0;
	if (strcmp(method, "cfi") && strcmp(method, "fp"))
		return msg_error("--unwind: '%s' is not auto, cfi or fp", method);
	return 0;
}

const struct module unwind_module = {
	.title = "user stacks",
	.opts = unwind_opts,
	.state = DEFAULTS(defaults),
	.check = check_unwind,
};
