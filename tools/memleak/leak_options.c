// SPDX-License-Identifier: GPL-2.0-only
/* The module of memleak; see leaks.h. What is printed is in leakreport.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <wordexp.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "abi/memleak.h"
#include "memleak/blocks.h"
#include "run/bpfmap.h"
#include "memleak/leak_probes.h"
#include "memleak/leak_rate.h"
#include "memleak/leak_report.h"
#include "memleak/leak_options.h"
#include "base/loop.h"
#include "run/loss.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/features.h"
#include "base/parse.h"
#include "process/process_events.h"
#include "stacks/stacks.h"
#include "modules/target.h"

#define DEFAULT_INTERVAL_NS (5 * NS_PER_S)

struct leak_options leak_options = {
	.min_age_ns = 500 * NS_PER_MS,
	.max_bytes = UINT64_MAX,
	.sample = 1,
	.top = 10,
	.n_blocks = 1400000,
};

static char **command;
static bool user_mode;
static struct sideband *sideband;
static size_t n_watched; /* listed processes that have not ended */

/* ---- options ---- */

int leaks_parse_command(const char *what, const char *text, void *dest)
{
	wordexp_t words;

	(void)dest;
	if (wordexp(text, &words, WRDE_NOCMD) || !words.we_wordc)
		return msg_error("%s: '%s' is not a command with arguments (quote what a shell "
				 "would take apart, or use -- COMMAND)",
				 what, text);
	command = words.we_wordv; /* for as long as we live */
	return 0;
}

static const struct opt leaks_opts[] = {
	{ 0, "growth", NULL, OPT_FLAG(&leak_options.growth),
	  "only stacks whose memory keeps growing, interval by interval" },
	{ 0, "entries", "N", OPT_UINT(&leak_options.n_blocks, 1, 1 << 28),
	  "live blocks that can be kept (default 1400000)" },
	{ 0, "max-rate", "N", OPT_UINT(&leak_options.max_rate, 1, UINT32_MAX),
	  "detach and end above that many calls per second" },
	{},
};

static const struct stacks_source source = { leakreport_read, leakreport_write_text };

/*
 * Text is what goes on: into a pipe or file there is one report, at the end, unless asked for more.
 */
static void choose_interval(struct run *run)
{
	if (run->interval_ns || opts_given("duration"))
		return;
	if (leak_options.growth || stacks_are_text())
		run->interval_ns = DEFAULT_INTERVAL_NS;
}

/* Comes first of all modules: a command is one however it is given. */
static int check_leaks(struct run *run)
{
	if (command && run->command)
		return msg_error("-c and a command behind '--' exclude each other");
	if (command)
		run->command = command;
	user_mode = run->command || target_lists_pids();
	if (leak_options.min_bytes > leak_options.max_bytes)
		return msg_error("--min-size is larger than --max-size");
	if (!user_mode && (leak_options.object || leak_options.prefix))
		return msg_error("-O and --symbols-prefix need a process: -p or a command");
	if (user_mode && leak_options.percpu)
		return msg_error("--percpu is about the kernel's memory: no -p, no command");
	stacks_set_source(&source);
	if (!user_mode)
		stacks_leave_out_user();
	if (leak_options.trace || leak_options.show_blocks || leak_options.growth)
		stacks_prefer_text();
	return 0;
}

/* ---- before load ---- */

static const char *const user_programs[] = { "memleak_session", "memleak_entry", "memleak_return",
					     "memleak_exec" };

static const struct {
	const char *tracepoint;
	bool percpu;
} kernel_programs[] = {
	{ "kmalloc", false },
	{ "kmalloc_node", false },
	{ "kmem_cache_alloc", false },
	{ "kmem_cache_alloc_node", false },
	{ "mm_page_alloc", false },
	{ "kfree", false },
	{ "kmem_cache_free", false },
	{ "mm_page_free", false },
	{ "percpu_alloc_percpu", true },
	{ "percpu_free_percpu", true },
};

static bool is_in(const struct btf *btf, const char *name, uint32_t kind)
{
	return btf__find_by_name_kind(btf, name, kind) >= 0;
}

/* The node variants are gone since 6.1. */
static void choose_kernel_programs(const struct run *run, struct memleak_settings *settings)
{
	struct btf *btf = user_mode ? NULL : btf__load_vmlinux_btf();
	char name[64], type[64];

	for (size_t i = 0; i < ARRAY_SIZE(kernel_programs); i++) {
		const char *tracepoint = kernel_programs[i].tracepoint;

		snprintf(name, sizeof(name), "memleak_%s", tracepoint);
		snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
		if (!btf || kernel_programs[i].percpu != leak_options.percpu ||
		    !is_in(btf, type, BTF_KIND_TYPEDEF))
			program_leave_out(run, name);
	}
	if (btf)
		settings->cache_is_given =
			is_in(btf, "trace_event_raw_kmem_cache_alloc", BTF_KIND_STRUCT);
	btf__free(btf);
}

static struct bpf_program *find_program(const struct run *run, const char *name)
{
	return bpf_object__find_program_by_name(run->object, name);
}

static int choose_user_programs(const struct run *run)
{
	struct uprobes_programs programs = {
		.session = find_program(run, user_programs[0]),
		.entry = find_program(run, user_programs[1]),
		.ret = find_program(run, user_programs[2]),
	};
	struct allocators_wish wish = {
		.object = leak_options.object,
		.prefix = leak_options.prefix,
	};

	if (user_mode)
		return leakprobes_prepare(&programs, &wish, opts_given("follow"));
	for (size_t i = 0; i < ARRAY_SIZE(user_programs); i++)
		program_leave_out(run, user_programs[i]);
	map_leave_out(run, "memleak_calls");
	return 0;
}

/* Memory and swap: more than that at once is refused. */
static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? UINT64_MAX
			      : ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

static int configure_leaks(struct run *run)
{
	size_t n_buckets = blocks_buckets_for(leak_options.n_blocks);
	struct memleak_settings settings = {
		.min_bytes = leak_options.min_bytes,
		.max_bytes = leak_options.max_bytes,
		.bucket_mask = n_buckets - 1,
		.max_new_bytes = machine_bytes(),
		.sample = leak_options.sample,
		.trace = leak_options.trace,
	};
	int err;

	if (!offers_compare_and_exchange())
		return msg_error("this needs Linux 5.12 or newer: BPF has no atomic compare-and-"
				 "exchange here");
	choose_kernel_programs(run, &settings);
	err = choose_user_programs(run);
	if (err)
		return err;
	bpf_map__set_max_entries(map_find(run, "blocks"), (uint32_t)n_buckets);
	if (!leak_options.trace)
		map_leave_out(run, "memleak_events");
	loss_set_hint("entries");
	return map_set_settings(run, ".rodata.memleak", &settings, sizeof(settings));
}

/* ---- processes ---- */

static void on_forked(pid_t parent, pid_t child, void *arg)
{
	(void)arg;
	if (opts_given("follow") && leakprobes_knows(parent))
		leakprobes_add(child);
}

static void on_changed(pid_t pid, void *arg)
{
	(void)arg;
	if (leakprobes_knows(pid))
		leakprobes_add(pid);
}

static void nothing_of(pid_t pid, void *arg)
{
	(void)pid;
	(void)arg;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void look_at_all(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < target_n_pids(); i++)
		leakprobes_add(target_pids()[i]);
}

/* Its files are opened while it lives, for when it ends before its stacks have been looked at. */
static void meet(const struct run *run, pid_t pid)
{
	struct bpf_map *map = map_find(run, "memleak_generations");
	uint32_t generation;

	if (!bpf_map_lookup_elem(bpf_map__fd(map), &pid, &generation))
		stacks_meet(pid, generation);
}

static int watch_processes(struct run *run)
{
	struct sideband_handlers handlers = { on_forked,   on_changed, nothing_of,
					      look_at_all, nothing,    NULL };

	sideband = sideband_open(&handlers);
	return sideband && !sideband_watch(sideband, run->loop) ? 0 : -EIO;
}

static enum loop_verdict on_ended(int fd, void *arg)
{
	(void)arg;
	close(fd);
	return --n_watched ? LOOP_GO : LOOP_STOP;
}

/* With the last of the listed processes the tracing ends. */
static int watch_end_of(struct run *run, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || loop_watch(run->loop, fd, on_ended, NULL))
		return msg_errno(errno, "watching process %d", pid);
	n_watched++;
	return 0;
}

static int probe_target(struct run *run, pid_t pid)
{
	int err = leakprobes_add(pid);

	if (err)
		return msg_errno(err, "probing the allocator of process %d", pid);
	leakrate_watch_pid(pid);
	return run->command ? 0 : watch_end_of(run, pid);
}

static int probe_targets(struct run *run)
{
	int err = 0;

	for (size_t i = 0; !err && i < target_n_pids(); i++)
		err = probe_target(run, target_pids()[i]);
	if (err)
		return err;
	if (!run->command && !leakprobes_count()) {
		msg_error("found no function that allocates memory in the process's files");
		msg_hint("name the file with -O, and what its functions begin with by "
			 "--symbols-prefix");
		return -ENOENT;
	}
	leakrate_calibrate();
	return 0;
}

/* ---- the life of it ---- */

static int start_leaks(struct run *run)
{
	choose_interval(run);
	if (leakreport_start(run))
		return -EIO;
	return user_mode ? watch_processes(run) : 0;
}

int leaks_start(struct run *run)
{
	int err = user_mode && !run->command ? probe_targets(run) : 0;

	return err ? err : leakrate_start(run, leak_options.max_rate);
}

static void begin_command(struct run *run)
{
	if (!user_mode)
		return;
	leakprobes_add(run->command_pid);
	leakrate_watch_pid(run->command_pid);
}

/* Its libraries are there. Where it can't be held at this point, they come as changes. */
static void command_loaded(struct run *run)
{
	int err;

	meet(run, run->command_pid);
	err = leakprobes_add(run->command_pid);
	if (err)
		msg_errno(err, "probing the command's allocator");
	else if (!leakprobes_count())
		msg_warn("found no function that allocates memory in the command's files (see -O)");
	leakrate_calibrate();
}

static void stop_leaks(struct run *run)
{
	(void)run;
	leakprobes_detach();
}

int leaks_report(struct run *run)
{
	int err = stacks_report(run);

	if (run->is_last)
		leakrate_print(run);
	return err;
}

static void finish_leaks(struct run *run)
{
	(void)run;
	leakreport_finish();
	leakrate_finish();
	leakprobes_free();
	sideband_close(sideband);
}

const struct module leaks_module = {
	.title = "blocks",
	.opts = leaks_opts,
	.check = check_leaks,
	.configure = configure_leaks,
	.start = start_leaks,
	.begin = begin_command,
	.loaded = command_loaded,
	.stop = stop_leaks,
	.finish = finish_leaks,
};
