// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables for whatever is traced: at the start for every process there is, then as the
 * kernel's process events come in. A stack that lacked tables all the same makes its process looked
 * at again. See unwind.h.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run/bpfmap.h"
#include "process/mapslog.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "process/process_events.h"
#include "stacks/stacks.h"
#include "modules/target.h"
#include "stacks/user_stacks.h"
#include "unwind/unwind_files.h"
#include "unwind/unwind_procs.h"
#include "unwind/unwind_remote.h"
#include "unwind/unwind_tables.h"

#define HIGHEST_PRIORITY (-20)
#define LOG_MAPPINGS	 (1 << 17) /* 5 MB: 10,000 programs that begin and end within seconds */

/*
 * How many processes and mappings there is room for: slices rest for a second before they go round.
 */
#define MIN_PROCESSES	 2048
#define MAX_PROCESSES	 65536
#define CPU_COPIES_BYTES (1u << 20) /* of stacks that wait for their tables */
#define MIN_COPIES_BYTES (2u << 20)
#define MAX_COPIES_BYTES (16u << 20)
#define CPU_PROCESSES	 512
#define GROWTH		 8
#define PROCESS_MAPPINGS 8

#ifdef __x86_64__
#define CAN_USE_CFI true
#else
#define CAN_USE_CFI false
#endif

static const char *method_text;
static uint64_t mem_bytes = 128 << 20;
static uint32_t max_mappings;
static bool by_cfi;
static int usual_nice;

static const struct run *current_run;
static const struct unwind_mapping *mappings;
static struct unwind_change *changes; /* counted by BPF */
static struct unwind_tables *tables;
static struct unwind_files *files;
static struct unwind_procs *procs;
static struct mapslog *mapslog;
static struct sideband *sideband;
static void (*exit_fn)(pid_t pid, void *arg);
static void *exit_arg;

/* Shards, of which the first n_ordered are, or are about to be, in the map of shards. */
static int shard_fds[UNWIND_MAX_SHARDS];
static uint32_t n_shards, n_ordered, n_installed;
static int installer_pipe[2];
static pthread_t installer;

/* Processes that have changed since the last batch of events. */
static pid_t *changed;
static size_t n_changed, changed_cap;

static const struct opt unwind_opts[] = {
	{ 0, "unwind", "METHOD", OPT_STRING(&method_text),
	  "user stacks by cfi, fp, or auto: cfi where it can be had (default)" },
	{ 0, "unwind-mem", "SIZE", OPT_SIZE(&mem_bytes),
	  "memory for unwind tables (default 128M)" },
	{},
};

static int check_unwind(struct run *run)
{
	(void)run;
	by_cfi = CAN_USE_CFI;
	if (!method_text || !strcmp(method_text, "auto"))
		return 0;
	if (strcmp(method_text, "cfi") && strcmp(method_text, "fp"))
		return msg_error("--unwind: '%s' is not auto, cfi or fp", method_text);
	if (!strcmp(method_text, "cfi") && !CAN_USE_CFI)
		return msg_error("--unwind cfi: unwind tables are for x86-64 only; frame pointers "
				 "are walked here (--unwind fp)");
	by_cfi = by_cfi && strcmp(method_text, "fp");
	return 0;
}

static pid_t *list_processes(size_t *n)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t *pids = NULL;
	size_t cap = 0;

	*n = 0;
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pids = mem_grow(pids, *n, &cap, sizeof(*pids));
		pids[(*n)++] = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return pids;
}

/* As many programs are started at a time as there are CPUs. */
static void size_copies(struct bpf_map *copies)
{
	uint32_t bytes = MIN_COPIES_BYTES;

	while (bytes < (uint32_t)libbpf_num_possible_cpus() * CPU_COPIES_BYTES &&
	       bytes < MAX_COPIES_BYTES)
		bytes *= 2;
	if (copies)
		bpf_map__set_max_entries(copies, bytes);
}

/* The kernel gives maps all their memory at once: several times what the machine asks for now. */
static void size_maps(struct run *run)
{
	size_t n, wanted = (size_t)libbpf_num_possible_cpus() * CPU_PROCESSES;
	uint32_t max_processes = MIN_PROCESSES;

	free(list_processes(&n));
	if (wanted < n * GROWTH)
		wanted = n * GROWTH;
	while (max_processes < wanted && max_processes < MAX_PROCESSES)
		max_processes *= 2;
	max_mappings = max_processes * PROCESS_MAPPINGS;
	bpf_map__set_max_entries(map_find(run, "unwind_processes"), max_processes);
	map_fill_on_demand(run, "unwind_processes");
	bpf_map__set_max_entries(map_find(run, "unwind_mappings"), max_mappings);
	size_copies(map_find(run, "unwind_copies"));
}

static int configure_unwind(struct run *run)
{
	static const char *const maps[] = {
		"unwind_processes", "unwind_mappings", "unwind_pages",
		"unwind_rules",	    "unwind_patterns", "unwind_shards",
		"unwind_changes",   "unwind_copies",   "unwind_recent"
	};
	static const char *const programs[] = { "unwind_fork", "unwind_exec", "unwind_unmapped" };
	struct unwind_settings settings = {};

	by_cfi = by_cfi && stacks_want_user();
	settings.by_cfi = by_cfi;
	for (size_t i = 0; !by_cfi && i < ARRAY_SIZE(maps); i++)
		map_leave_out(run, maps[i]);
	for (size_t i = 0; !by_cfi && i < ARRAY_SIZE(programs); i++)
		program_leave_out(run, programs[i]);
	if (by_cfi)
		size_maps(run);
	return map_set_settings(run, ".rodata.unwind", &settings, sizeof(settings));
}

/* ---- map memory ---- */

static void *map_array(const char *name)
{
	struct bpf_map *map = map_find(current_run, name);
	size_t bytes = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7) & ~7U);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory != MAP_FAILED)
		return memory;
	msg_errno(errno, "mapping %s", name);
	return NULL;
}

static struct unwind_shard *new_shard(uint32_t n, void *arg)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct unwind_shard *shard;

	(void)arg;
	if ((uint64_t)(n + 1) * sizeof(*shard) > mem_bytes)
		return NULL;
	shard_fds[n] = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_shard", sizeof(__u32),
				      sizeof(*shard), 1, &opts);
	if (shard_fds[n] < 0)
		return NULL;
	shard = mmap(NULL, sizeof(*shard), PROT_READ | PROT_WRITE, MAP_SHARED, shard_fds[n], 0);
	if (shard == MAP_FAILED) {
		close(shard_fds[n]);
		return NULL;
	}
	n_shards = n + 1;
	return shard;
}

/* A map of maps takes no batches before 5.14. */
static int install_one_by_one(int fd, const uint32_t *keys, const int *fds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (bpf_map_update_elem(fd, &keys[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

/*
 * Shards go into the map of shards by a thread of its own, as many at once as there are: the kernel
 * waits for a grace period of some 10 ms each time. Until then walks end there.
 */
static int install_shards(uint32_t first, uint32_t count)
{
	int fd = bpf_map__fd(map_find(current_run, "unwind_shards"));
	uint32_t keys[UNWIND_MAX_SHARDS], n = count;

	for (uint32_t i = 0; i < count; i++)
		keys[i] = first + i;
	if (!bpf_map_update_batch(fd, keys, shard_fds + first, &n, NULL))
		return 0;
	return install_one_by_one(fd, keys, shard_fds + first, count);
}

struct order {
	uint32_t first, count;
};

static void *run_installer(void *arg)
{
	struct order order;

	(void)arg;
	while (read(installer_pipe[0], &order, sizeof(order)) == sizeof(order)) {
		install_shards(order.first, order.count);
		__atomic_store_n(&n_installed, order.first + order.count, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int start_installer(void)
{
	int err = pipe2(installer_pipe, O_CLOEXEC) ? errno : 0;

	if (!err)
		err = pthread_create(&installer, NULL, run_installer, NULL);
	return err ? msg_errno(err, "starting a thread") : 0;
}

static void order_shards(void)
{
	struct order order = { n_ordered, n_shards - n_ordered };

	if (installer && order.count &&
	    write(installer_pipe[1], &order, sizeof(order)) == sizeof(order))
		n_ordered = n_shards;
}

/* ---- processes ---- */

static void publish(pid_t pid, const struct unwind_process *slice)
{
	bpf_map_update_elem(bpf_map__fd(map_find(current_run, "unwind_processes")), &pid, slice,
			    BPF_ANY);
}

static struct unwind_change *find_change(pid_t pid)
{
	return &changes[(uint32_t)pid % UNWIND_CHANGES];
}

static uint32_t count_changes(pid_t pid)
{
	return __atomic_load_n(&find_change(pid)->count, __ATOMIC_ACQUIRE);
}

/* The count of changes is read first: one that comes while the mappings are read counts. */
static void update_process(pid_t pid, struct unwind_process *slice)
{
	slice->change = count_changes(pid);
	unwind_procs_update(procs, pid, slice);
}

static void update_processes(const pid_t *pids, size_t n)
{
	struct unwind_process *slices = mem_zalloc(n, sizeof(*slices));

	for (size_t i = 0; i < n; i++)
		update_process(pids[i], &slices[i]);
	order_shards();
	for (size_t i = 0; i < n; i++)
		if (slices[i].count)
			publish(pids[i], &slices[i]);
	free(slices);
}

void unwind_learn(pid_t pid)
{
	if (by_cfi)
		update_processes(&pid, 1);
}

void unwind_catch_up(void)
{
	if (sideband)
		sideband_read(sideband);
}

void unwind_on_exit(void (*exited)(pid_t pid, void *arg), void *arg)
{
	exit_fn = exited;
	exit_arg = arg;
}

/* Without a list of processes everything is of interest; with one, those and who they forked. */
static bool is_interesting(pid_t pid)
{
	return !target_lists_pids() || unwind_procs_knows(procs, pid);
}

static void on_changed(pid_t pid, void *arg)
{
	(void)arg;
	if (!is_interesting(pid))
		return;
	for (size_t i = 0; i < n_changed; i++)
		if (changed[i] == pid)
			return;
	changed = mem_grow(changed, n_changed, &changed_cap, sizeof(*changed));
	changed[n_changed++] = pid;
}

static void on_forked(pid_t parent, pid_t child, void *arg)
{
	(void)arg;
	unwind_procs_fork(procs, parent, child);
}

/* What BPF has sent of the process is read first, as long as its mappings are known. */
static void on_exited(pid_t pid, void *arg)
{
	(void)arg;
	if (exit_fn)
		exit_fn(pid, exit_arg);
	for (size_t i = 0; i < n_changed; i++)
		if (changed[i] == pid)
			changed[i] = changed[--n_changed];
	if (unwind_procs_knows(procs, pid)) {
		unwind_procs_exit(procs, pid);
		bpf_map_delete_elem(bpf_map__fd(map_find(current_run, "unwind_processes")), &pid);
	}
}

static void on_drained(void *arg)
{
	(void)arg;
	update_processes(changed, n_changed);
	for (size_t i = 0; i < n_changed; i++) /* what is missing from now on is worth a copy */
		__atomic_store_n(&find_change(changed[i])->n_copies, 0, __ATOMIC_RELAXED);
	n_changed = 0;
}

static void update_all(void)
{
	size_t n;
	pid_t *pids = list_processes(&n);

	update_processes(pids, n);
	free(pids);
}

static void on_lost(void *arg)
{
	(void)arg;
	msg_debug("process events were lost: looking at every process again");
	if (target_lists_pids())
		update_processes(target_pids(), target_n_pids());
	else
		update_all();
}

bool unwind_makes_copies(void)
{
	return by_cfi;
}

static struct unwind_view view_process(pid_t pid, const struct unwind_process *slice)
{
	return (struct unwind_view){
		.pid = pid,
		.tables = tables,
		.mappings = mappings + slice->first,
		.n_mappings = slice->count,
	};
}

static size_t walk_thread(const struct unwind_thread *thread, bool look_again, uint64_t *words,
			  size_t max, int *reason)
{
	struct unwind_view view = { .pid = (pid_t)thread->tgid };
	struct unwind_process slice = {};

	if (by_cfi && (look_again || !unwind_procs_find(procs, view.pid, &slice)))
		update_processes(&view.pid, 1);
	if (by_cfi && unwind_procs_find(procs, view.pid, &slice))
		view = view_process(view.pid, &slice);
	return unwind_walk_thread(&view, thread, words, max, reason);
}

/* Events that are still to be read don't matter: the process itself is looked at. */
size_t unwind_remote(const struct unwind_thread *thread, uint64_t *words, size_t max, int *reason)
{
	size_t n = walk_thread(thread, false, words, max, reason);

	return *reason == UNWIND_NO_MAPPING ? walk_thread(thread, true, words, max, reason) : n;
}

/* By a slice that is true of the moment of the copy: what has been read at the same count. */
static size_t walk_copy(const struct unwind_copy *copy, uint64_t *words, size_t max, int *reason)
{
	struct unwind_process slice = {};
	struct unwind_view view;

	words[0] = copy->regs.ip;
	*reason = UNWIND_NO_PROCESS;
	if (!unwind_procs_find(procs, (pid_t)copy->tgid, &slice) || slice.change != copy->change)
		return 1;
	view = view_process((pid_t)copy->tgid, &slice);
	view.copy = copy;
	return unwind_walk_remote(&view, &copy->regs, words, max, reason);
}

/* By what the log says of the moment of the copy: the process may be gone, or another program. */
static size_t walk_copy_by_log(const struct unwind_copy *copy, uint64_t *words, size_t max,
			       int *reason)
{
	struct unwind_view view = { .pid = (pid_t)copy->tgid, .tables = tables, .copy = copy };

	words[0] = copy->regs.ip;
	*reason = UNWIND_NO_PROCESS;
	view.n_mappings = unwind_procs_recall(procs, view.pid, copy->time_ns, &view.mappings);
	return view.n_mappings ? unwind_walk_remote(&view, &copy->regs, words, max, reason) : 1;
}

static bool needs_more(int reason)
{
	return reason == UNWIND_NO_PROCESS || reason == UNWIND_NO_MAPPING;
}

size_t unwind_copied(const struct unwind_copy *copy, uint64_t *words, size_t max, int *reason)
{
	size_t n = walk_copy(copy, words, max, reason);

	if (needs_more(*reason))
		n = walk_copy_by_log(copy, words, max, reason);
	if (!needs_more(*reason) || count_changes((pid_t)copy->tgid) != copy->change)
		return n;
	unwind_learn((pid_t)copy->tgid);
	return walk_copy(copy, words, max, reason);
}

/* ---- the module ---- */

static int open_tables(void)
{
	struct unwind_backing backing = { .new_shard = new_shard };
	struct unwind_mapping *array = map_array("unwind_mappings");

	backing.rules = map_array("unwind_rules");
	backing.pages = map_array("unwind_pages");
	backing.patterns = map_array("unwind_patterns");
	changes = map_array("unwind_changes");
	if (!array || !backing.rules || !backing.pages || !backing.patterns || !changes)
		return -ENOMEM;
	tables = unwind_tables_new(&backing);
	files = unwind_files_new(tables);
	procs = unwind_procs_new(files, array, max_mappings);
	mappings = array;
	return 0;
}

static void print_memory(void)
{
	struct unwind_tables_size size = unwind_tables_size(tables);
	size_t n_files, n_refused, n_procs, n_mappings;

	unwind_files_count(files, &n_files, &n_refused);
	unwind_procs_count(procs, &n_procs, &n_mappings);
	msg_debug("unwind tables: %zu files, %llu rows, %u rules, %u patterns, %zu processes, "
		  "%zu mappings, %.1f MB",
		  n_files, (unsigned long long)size.n_rows, size.n_rules, size.n_patterns, n_procs,
		  n_mappings, (double)size.n_shards * sizeof(struct unwind_shard) / (1 << 20));
	if (mapslog_n_dropped(mapslog))
		msg_warn("mappings of %llu processes had to be forgotten: some of their functions "
			 "may have no names",
			 (unsigned long long)mapslog_n_dropped(mapslog));
	if (n_refused)
		msg_warn("%zu files have no unwind tables: raise --unwind-mem", n_refused);
}

/*
 * What the loader does for others' stacks is little but urgent: where all CPUs are busy, it would
 * get its turn after many of the processes that have just begun. Only this thread is meant; a
 * command that is to be traced has been forked before.
 */
static void raise_priority(void)
{
	usual_nice = getpriority(PRIO_PROCESS, 0);
	if (setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY))
		msg_debug("raising the priority: %s", strerror(errno));
}

/* What is left has time. */
static void lower_priority(struct run *run)
{
	(void)run;
	if (sideband)
		setpriority(PRIO_PROCESS, 0, usual_nice);
}

/* Events are opened first, so that nothing slips through between them and the look around. */
static int start_unwind(struct run *run)
{
	struct sideband_handlers handlers = { on_forked, on_changed, on_exited,
					      on_lost,	 on_drained, NULL };

	current_run = run;
	if (!by_cfi)
		return 0;
	if (open_tables())
		return -ENOMEM;
	handlers.log = mapslog = mapslog_new(LOG_MAPPINGS, target_lists_pids());
	unwind_procs_set_log(procs, mapslog);
	stacks_set_log(mapslog);
	sideband = sideband_open(&handlers);
	if (!sideband || sideband_watch(sideband, run->loop))
		return -EIO;
	mem_keep_freed();
	if (target_lists_pids())
		update_processes(target_pids(), target_n_pids());
	else
		update_all();
	mem_give_back();
	print_memory();
	n_ordered = n_installed = n_shards;
	if (n_shards && install_shards(0, n_shards))
		return msg_errno(errno, "installing unwind tables");
	raise_priority();
	return start_installer();
}

/* The command is held: there is time until all its tables are there. */
static void learn_command(struct run *run)
{
	struct timespec while_waiting = { .tv_nsec = (long)NS_PER_MS };

	unwind_learn(run->command_pid);
	while (__atomic_load_n(&n_installed, __ATOMIC_ACQUIRE) < n_ordered)
		nanosleep(&while_waiting, NULL);
}

static void finish_unwind(struct run *run)
{
	(void)run;
	if (!tables)
		return;
	print_memory();
	close(installer_pipe[1]);
	if (installer)
		pthread_join(installer, NULL);
	sideband_close(sideband);
	unwind_procs_free(procs);
	unwind_files_free(files);
	unwind_tables_free(tables);
	mapslog_free(mapslog);
	for (uint32_t i = 0; i < n_shards; i++)
		close(shard_fds[i]);
	free(changed);
}

const struct module unwind_module = {
	.title = "user stacks",
	.opts = unwind_opts,
	.check = check_unwind,
	.configure = configure_unwind,
	.start = start_unwind,
	.begin = learn_command,
	.loaded = learn_command,
	.stop = lower_priority,
	.finish = finish_unwind,
};
