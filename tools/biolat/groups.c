// SPDX-License-Identifier: GPL-2.0-only
/* Groups of requests; see groups.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi/biolat.h"
#include "base/array.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "biolat/groups.h"
#include "modules/target.h"
#include "output/table.h"
#include "output/writer.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/features.h"
#include "run/run.h"
#include "stacks/stacks.h"

/* ---- disks ---- */

#define KERNEL_MINOR_BITS 20 /* MINORBITS, include/linux/kdev_t.h */

/* Reads the device numbers of a name, from sysfs ("8:1"), or of a device file's path. */
static bool read_device(const char *name, unsigned int *major_number, unsigned int *minor_number)
{
	char path[256], *text;
	struct stat st;
	bool is_found;

	if (*name == '/') {
		if (stat(name, &st) || !S_ISBLK(st.st_mode))
			return false;
		*major_number = major(st.st_rdev);
		*minor_number = minor(st.st_rdev);
		return true;
	}
	snprintf(path, sizeof(path), "/sys/class/block/%s/dev", name);
	text = readfile(path, 64, NULL);
	is_found = text && sscanf(text, "%u:%u", major_number, minor_number) == 2;
	free(text);
	return is_found;
}

/* Sets the path of a file in the device's sysfs folder; a partition's ".." is the disk's folder. */
static const char *path_of(const struct disk *disk, const char *name, char path[64])
{
	snprintf(path, 64, "/sys/dev/block/%u:%u/%s", disk->number >> KERNEL_MINOR_BITS,
		 disk->number & ((1U << KERNEL_MINOR_BITS) - 1), name);
	return path;
}

static bool has_file(const struct disk *disk, const char *name)
{
	char path[64];

	return !access(path_of(disk, name, path), F_OK);
}

/* Returns true for a partition without statistics: its requests don't refer to it. */
static bool is_unknown_partition(const struct disk *disk)
{
	char path[64], *text;
	bool is_off;

	if (!has_file(disk, "partition"))
		return false;
	text = readfile(path_of(disk, "../queue/iostats", path), sizeof(path), NULL);
	is_off = text && *text == '0';
	free(text);
	return is_off;
}

int groups_parse_disk(const char *what, const char *text, void *dest)
{
	const struct disk *other = dest;
	unsigned int major_number, minor_number;

	if (other->name && strcmp(other->name, text) != 0)
		return msg_error("%s: given twice, '%s' and '%s'", what, other->name, text);
	if (!read_device(text, &major_number, &minor_number))
		return msg_error("%s %s: no such block device", what, text);
	*(struct disk *)dest =
		(struct disk){ major_number << KERNEL_MINOR_BITS | minor_number, text };
	return 0;
}

/* Checks that BPF sees requests of the device. 0 or -EINVAL, printed. */
static int require_requests(const struct disk *disk)
{
	if (disk->number && !has_file(disk, "mq") && !has_file(disk, "../mq"))
		return msg_error("-d %s: has no requests of its own (use --layer top, or a disk "
				 "below it, see lsblk)",
				 disk->name);
	if (disk->number && is_unknown_partition(disk))
		return msg_error("-d %s: partition unknown while statistics are off (write 1 to "
				 "the disk's queue/iostats, or use --layer top)",
				 disk->name);
	return 0;
}

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

/* Returns the parts of BPF's keys (KEY_HAS_...). */
static uint64_t groups_parts(const struct groups *groups)
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

static enum biolat_by groups_by(const struct run *run)
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
	if (!g->top && require_requests(&g->device))
		return -EINVAL;
	if (run_given(run, "slower") && !g->slower_ns)
		return msg_error("--slower must be more than 0");
	if (g->slower_ns)
		return check_lines(run);
	return groups_want_stacks(run) ? check_stacks(run) : 0;
}

/* ---- BPF programs and settings ---- */

/*
 * Leaves out the programs that a run doesn't need. is_top: it needs those for bios, else those for
 * requests. has_start: the kernel has block_io_start (since 6.5).
 */
static void leave_out(struct run *run, const struct biolat_settings *settings, bool is_top,
		      bool has_start)
{
	bool of_disk = !is_top, owners = of_disk && settings->has_owners;
	bool stacks = settings->by == BY_STACK;
	const struct {
		const char *name;
		bool is_wanted;
	} programs[] = {
		{ "biolat_complete", of_disk },
		{ "biolat_requeue", of_disk },
		{ "biolat_merge", owners },
		{ "biolat_issue", of_disk && (has_start || !stacks) },
		{ "stack_issue", of_disk && !has_start && stacks },
		{ "biolat_start", owners && has_start && !stacks },
		{ "stack_start", owners && has_start && stacks },
		{ "biolat_insert", owners && !has_start && !stacks },
		{ "stack_insert", owners && !has_start && stacks },
		{ "biolat_bio_start", is_top && !stacks },
		{ "stack_bio_start", is_top && stacks },
		{ "biolat_bio_split", is_top },
		{ "biolat_bio_complete", is_top },
		{ "biolat_bios_complete", is_top },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!programs[i].is_wanted)
			program_leave_out(run, programs[i].name);
}

static int choose_programs(struct run *run, const struct biolat_settings *settings, bool is_top)
{
	const struct btf *types = NULL;

	if (is_top || settings->has_owners) {
		types = object_types(run);
		if (!types)
			return -EINVAL;
	}
	if (is_top && !features_member(types, "bio", "bi_bdev"))
		return msg_error("--layer top: not supported by this kernel (since Linux 5.12)");
	leave_out(run, settings, is_top, types && features_tracepoint(types, "block_io_start"));
	return 0;
}

/* Returns the size of the table of requests: a power of two. */
static uint32_t count_requests(const struct run *run)
{
	uint32_t n = BIOLAT_TRIES;

	while (n < (run_given(run, "entries") ? histograms_entries(run) : BIOLAT_REQUESTS))
		n *= 2;
	return n;
}

int groups_configure(struct run *run)
{
	const struct groups *groups = run->options;
	struct biolat_settings settings = {
		.kernel_names = { "[writeback]", "[flush]" },
		.by = groups_by(run),
		.parts = groups_parts(groups),
		.of_bytes = groups->bytes,
		.slower_ns = groups->slower_ns,
		.device = groups->device.number,
	};

	settings.has_owners =
		groups_want_lines(run) || settings.by > BY_PARTS || !target_is_everything(run);
	settings.last_request = count_requests(run) - 1;
	bpf_map__set_max_entries(map_find(run, "requests"), settings.last_request + 1);
	return map_set_settings(run, ".rodata.biolat", &settings, sizeof(settings)) ||
			       choose_programs(run, &settings, groups->top)
		       ? -EINVAL
		       : 0;
}
