// SPDX-License-Identifier: GPL-2.0-only
/* The choice of a format; see stack_format.h. */
#include <unistd.h>

#include "base/msg.h"
#include "stacks/stack_format.h"

static const struct writer *refuse_format(const struct run *run)
{
	msg_error("--format: '%s' is not one of %s", run->format, writer_names());
	return NULL;
}

static const struct writer *refuse_name(const struct run *run)
{
	msg_error("--output %s: unknown extension (use .txt, .folded, .svg, .pb.gz or .json, or "
		  "--format: %s)",
		  run->output_path, writer_names());
	return NULL;
}

/* -f says the format; a name may promise another one. */
static const struct writer *choose_folded(const struct run *run)
{
	const struct writer *promised =
		run->output_path ? writer_by_extension(run->output_path) : NULL;

	if (!promised || promised == &folded_writer || promised == &text_writer)
		return &folded_writer;
	msg_error("--output %s: -f writes folded stacks, not %s (drop -f)", run->output_path,
		  promised->name);
	return NULL;
}

static const struct writer *choose_by_format(const struct run *run)
{
	const struct writer *writer = writer_by_name(run->format);

	if (!writer)
		return refuse_format(run);
	if (writer != &pprof_writer || run->output_path || !isatty(STDOUT_FILENO))
		return writer;
	msg_error("--format pprof: binary output is not written to a terminal (use --output "
		  "FILE)");
	return NULL;
}

const struct writer *stack_format_choose(const struct run *run, bool is_folded, bool prefers_text)
{
	static const char *const filters[] = { "only", "without", NULL };
	const struct writer *writer;

	if (run->is_metrics)
		return run_refuse_in_metrics(run, filters) ? NULL : &pprof_writer;
	if (is_folded)
		return choose_folded(run);
	if (run->format)
		return choose_by_format(run);
	if (!run->output_path)
		return prefers_text || isatty(STDOUT_FILENO) ? &text_writer : &folded_writer;
	writer = writer_by_extension(run->output_path);
	return writer ? writer : refuse_name(run);
}
