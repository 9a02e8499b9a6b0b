// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a process do now, when it hangs? Reads all threads with their state, system call and
 * stacks, the goroutines of Go programs, and which threads have the locks that other threads wait
 * for: once, from outside, without BPF, and without stopping the process.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/msg.h"
#include "dump/snapshot.h"
#include "dump/targets.h"
#include "run/output.h"
#include "run/plain.h"

static struct options {
	struct targets targets;
	const char *format;
	bool folded, lines;
	struct plain_options common;
} options;

static const struct opt opts[] = {
	{ 'p', "pid", "PID", OPT_LIST(struct options, targets, targets_parse),
	  "read these processes (comma-separated)" },
	{ 0, "container", "ID", OPT_STRING(struct options, targets.cgroup.container),
	  "read the processes of this container (id or name)", "pid" },
	{ 0, "unit", "NAME", OPT_STRING(struct options, targets.cgroup.unit),
	  "read the processes of this systemd unit", "pid" },
	{ 'f', "folded", NULL, OPT_FLAG(struct options, folded),
	  "print one line per stack (input for flame graphs)", "format" },
	{ 0, "format", "NAME", OPT_STRING(struct options, format),
	  "print text, folded, svg, json or csv" },
	{ 0, "lines", NULL, OPT_FLAG(struct options, lines),
	  "show source lines and inlined functions (needs debug info)" },
	{},
};

/* Chooses the format; *writer NULL: text for people. */
static int choose_writer(const struct writer **writer)
{
	static const struct writer *const others[] = { &folded_writer, &svg_writer, &json_writer,
						       &csv_writer };
	const char *name = options.folded ? folded_writer.name : options.format;
	const struct writer *wanted = &text_writer;

	*writer = NULL;
	if (name)
		wanted = writer_by_name(name);
	else if (options.common.output)
		wanted = writer_by_extension(options.common.output);
	if (wanted == &text_writer)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (wanted == others[i])
			*writer = wanted;
	return *writer ? 0
		       : msg_error("%s: not one of text, folded, svg, json or csv",
				   name ? name : options.common.output);
}

static int write_result(struct snapshot *snapshot, const struct writer *writer)
{
	struct output output = { .path = options.common.output };
	int err = output_check(&output);

	if (!err)
		err = output_begin(&output);
	if (err)
		return err;
	if (writer)
		snapshot_write(snapshot, output.file, writer);
	else
		snapshot_write_text(snapshot, output.file);
	err = output_commit(&output);
	return err == -EPIPE ? 0 : err;
}

/* Fails if no process could be read. */
static int dump(const struct writer *writer)
{
	struct snapshot *snapshot = snapshot_new(options.lines);
	int err = -ESRCH;

	for (size_t i = 0; i < options.targets.n; i++)
		if (!snapshot_take(snapshot, options.targets.pids[i]))
			err = 0;
	if (!err)
		err = write_result(snapshot, writer);
	if (!err)
		snapshot_print_losses(snapshot);
	snapshot_free(snapshot);
	free(options.targets.pids);
	return err ? 1 : 0;
}

/* Checks the command line. operand: the first one; NULL: none. */
static int check(const char *operand)
{
	const struct targets *targets = &options.targets;

	if (operand)
		return msg_error("operand '%s': unexpected (use -p PID)", operand);
	if (targets->n || targets->cgroup.container || targets->cgroup.unit)
		return 0;
	return msg_error("target: no process given (use -p PID, --container ID or --unit NAME)");
}

static int run(char **operands)
{
	const struct writer *writer;

	if (check(*operands) || choose_writer(&writer))
		return 2;
	return targets_find(&options.targets) ? 1 : dump(writer);
}

int main(int argc, char **argv)
{
	static const struct plain_tool tool = {
		.name = "dump",
		.summary = "Shows what all threads and goroutines of a process do now.",
		.usage = "",
		.examples = "  dump -p 185                  # all threads, and goroutines\n"
			    "  dump --unit web              # all processes of a service\n"
			    "  dump -p 185 -f | flame > now.svg\n",
		.usual = "pid container unit folded format lines output quiet help version",
		.opts = opts,
		.options = &options,
		.common = &options.common,
		.parse = opts_parse,
		.run = run,
	};

	return plain_main(&tool, argc, argv);
}
