// SPDX-License-Identifier: GPL-2.0-only
/* Groups of requests; see groups.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/msg.h"
#include "biolat/groups.h"
#include "output/table.h"
#include "output/writer.h"
#include "stacks/stacks.h"

const char *groups_operation(uint64_t key, char buf[HIST_TEXT_MAX])
{
	/* include/linux/blk_types.h, enum req_op; other values depend on the kernel */
	static const char *const names[] = {
		[0] = "read",	      [1] = "write",	    [2] = "flush",	[3] = "discard",
		[5] = "secure erase", [9] = "write zeroes", [34] = "driver in", [35] = "driver out",
	};
	uint8_t op = (uint8_t)(key >> KEY_OP_SHIFT), class = (uint8_t)(key >> KEY_CLASS_SHIFT);
	int n = snprintf(buf, HIST_TEXT_MAX, "%s%s%s", class & CLASS_SYNC ? "sync " : "",
			 class & CLASS_METADATA ? "metadata " : "",
			 class & CLASS_READAHEAD ? "readahead " : "");

	if (op < ARRAY_SIZE(names) && names[op])
		snprintf(buf + n, HIST_TEXT_MAX - (size_t)n, "%s", names[op]);
	else
		snprintf(buf + n, HIST_TEXT_MAX - (size_t)n, "operation %u", op);
	return buf;
}

static enum biolat_time time_of(uint64_t key)
{
	return (key >> KEY_TIME_SHIFT & 0xf) % TIMES;
}

static bool is_other_time(uint64_t key)
{
	return time_of(key) != TIME_DEVICE;
}

static const char *name_time(uint64_t key)
{
	static const char *const names[] = { "device", "queue", "total" };

	return names[time_of(key)];
}

static const char *name_parts(uint64_t key, const char *disk, char buf[HIST_TEXT_MAX])
{
	char op[HIST_TEXT_MAX];
	const char *const texts[] = {
		key & KEY_HAS_DISK ? disk : NULL,
		key & KEY_HAS_OP ? groups_operation(key, op) : NULL,
		key & KEY_HAS_TIME ? name_time(key) : NULL,
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && n < HIST_TEXT_MAX; i++)
		if (texts[i])
			n += (size_t)snprintf(buf + n, HIST_TEXT_MAX - n, "%s%s", n ? ", " : "",
					      texts[i]);
	return buf;
}

static const char *name_process(uint64_t tgid, const char *label, char buf[HIST_TEXT_MAX])
{
	(void)label;
	(void)buf;
	return process_is_kernels((uint32_t)tgid) ? "0" : NULL;
}

uint64_t groups_parts(const struct groups *groups)
{
	return (groups->disk ? KEY_HAS_DISK : 0) | (groups->operation ? KEY_HAS_OP : 0) |
	       (groups->time ? KEY_HAS_TIME : 0);
}

/* Returns true for a format, by --format or the output's extension, that tables don't have. */
static bool is_format_of_stacks(const struct run *run)
{
	const struct writer *writer = NULL;

	if (run->format)
		writer = writer_by_name(run->format);
	else if (run->output_path)
		writer = writer_by_extension(run->output_path);
	return writer && !table_format_by_name(writer->name);
}

bool groups_want_stacks(const struct run *run)
{
	const struct groups *groups = run->options;

	return groups->stacks || stacks_options_are_given(run) || is_format_of_stacks(run);
}

bool groups_want_lines(const struct run *run)
{
	return ((const struct groups *)run->options)->slower_ns > 0;
}

bool groups_are_stacks(const struct run *run)
{
	return groups_want_stacks(run) && !groups_want_lines(run);
}

enum biolat_by groups_by(const struct run *run)
{
	const struct groups *groups = run->options;

	return groups_want_stacks(run)		     ? BY_STACK
	       : groups_parts(groups)		     ? BY_PARTS
	       : groups->process		     ? BY_PROCESS
	       : groups->cgroup || groups->container ? BY_CGROUP
						     : BY_NOTHING;
}

const struct hist_grouping *groups_find(const struct groups *groups)
{
	static const struct hist_grouping by_parts[] = {
		{},
		{ "disk", .name_of = name_parts },
		{ "operation", .name_of = name_parts },
		{ "disk, operation", .name_of = name_parts },
		{ "time", .name_of = name_parts, .is_repeated = is_other_time },
		{ "disk, time", .name_of = name_parts, .is_repeated = is_other_time },
		{ "operation, time", .name_of = name_parts, .is_repeated = is_other_time },
		{ "disk, operation, time", .name_of = name_parts, .is_repeated = is_other_time },
	};
	static const struct hist_grouping by_process = { "pid", .name_of = name_process,
							 .with_comm = true };
	static const struct hist_grouping by_cgroup = { "cgroup", .with_cgroup = true };
	static const struct hist_grouping by_container = { "container", .by_container = true };

	return groups_parts(groups) ? &by_parts[groups_parts(groups) / KEY_HAS_DISK]
	       : groups->process    ? &by_process
	       : groups->cgroup	    ? &by_cgroup
	       : groups->container  ? &by_container
				    : NULL;
}

/* Refuses options that have no effect with lines or stacks. */
static int check_others(const struct run *run, const char *option)
{
	char where[32];

	snprintf(where, sizeof(where), "with %s", option);
	if (groups_find(run->options))
		return msg_error("%s excludes -Q, -D, -F, -P, --per-cgroup and --per-container",
				 option);
	if (histograms_refuse_units(run, where))
		return -EINVAL;
	return run_refuse(run, (const char *[]){ "timestamp", "bytes", NULL }, where);
}

static int check_lines(struct run *run)
{
	if (run->is_metrics)
		return msg_error(
			"--slower prints events; it can't be combined with --format prometheus");
	if (is_format_of_stacks(run) || run_given(run, "folded") || run_given(run, "top"))
		return msg_error("--slower prints lines: text, json or csv");
	return check_others(run, "--slower");
}

static int check_stacks(const struct run *run)
{
	if (run->is_metrics)
		return msg_error("--format prometheus has no stacks");
	return check_others(run, "--stacks");
}

int groups_parse_layer(const char *what, const char *text, void *dest)
{
	*(bool *)dest = !strcmp(text, "top");
	if (strcmp(text, "top") && strcmp(text, "disk"))
		return msg_error("%s: %s is neither disk nor top", what, text);
	return 0;
}

int groups_check(struct run *run)
{
	const struct groups *g = run->options;
	unsigned int n = g->disk + g->operation + g->time;

	if ((n > 0) + g->process + g->cgroup + g->container > 1)
		return msg_error(
			"-P, --per-cgroup and --per-container exclude each other and -Q, -D, -F");
	if (run->is_metrics && n > 1)
		return msg_error("-Q, -D and -F exclude each other with --format prometheus");
	if (run->is_metrics && g->bytes)
		return msg_error("--bytes can't be combined with --format prometheus");
	if (g->bytes && histograms_refuse_units(run, "with --bytes"))
		return -EINVAL;
	if (g->top && g->time)
		return msg_error("--layer top excludes -Q: bios have no time in a queue");
	if (!g->top && disks_require_requests(&g->device))
		return -EINVAL;
	if (run_given(run, "slower") && !g->slower_ns)
		return msg_error("--slower must be more than 0");
	if (g->slower_ns)
		return check_lines(run);
	return groups_want_stacks(run) ? check_stacks(run) : 0;
}
