// SPDX-License-Identifier: GPL-2.0-only
/* BPF maps of unwind tables; see unwind_maps.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/thread.h"
#include "run/bpfmap.h"
#include "stacks/unwind_maps.h"

/* ---- unwind options ---- */

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

/* ---- unwind maps ---- */

/*
 * Capacity in processes and mappings. Freed slices rest for a second, so the capacity also limits
 * how many programs may start within a second.
 */
#define MIN_PROCESSES	 2048
#define MAX_PROCESSES	 (1 << 22) /* the kernel's maximum number of pids */
#define MAX_MAPPINGS	 (1 << 19)
#define CPU_PROCESSES	 128
#define GROWTH		 8
#define PROCESS_MAPPINGS 8

/* Bytes of the ring of copied stacks. */
#define CPU_COPIES_BYTES (1u << 20)
#define MIN_COPIES_BYTES (2u << 20)
#define MAX_COPIES_BYTES (8u << 20)

#define MAX_ORDERS UNWIND_MAX_SHARDS /* maximum orders per read */

#define PLACED	      "unwind_placed"
#define PLACED_EVENT  "ma_write"
#define TAKE_PERF_MAP "unwind_take_perf_map"

struct unwind_maps {
	int processes_fd, changes_fd, shards_fd, perf_maps_fd, take_perf_map_fd;
	uint64_t mem_bytes; /* limit for all shards, in bytes */
	int placed_fd;	    /* descriptor of the attached program; -1: kernel before 6.1 */
	struct unwind_mapping *mappings;
	uint32_t max_mappings;
	struct unwind_tables *tables;
	bool is_full_reported;

	/* Shards, and the orders sent to the thread that updates the map of shards. */
	int shard_fds[UNWIND_MAX_SHARDS];
	uint32_t n_ordered, n_done;
	uint32_t n_until_out; /* value of n_ordered after the last removal */
	int install_err;      /* last error of the thread; 0: none */
	bool has_installer;
	int installer_pipe[2];
	pthread_t installer;
};

/* Adds a shard to the map of shards, or removes it. */
struct order {
	uint32_t shard;
	int fd; /* closed by the thread after a removal */
	bool is_out;
};

/* ---- before load ---- */

/* Sizes the ring of copies: up to one program per CPU starts at the same time. */
static void size_copies(struct bpf_map *copies)
{
	uint32_t bytes = MIN_COPIES_BYTES;

	while (bytes < (uint32_t)libbpf_num_possible_cpus() * CPU_COPIES_BYTES &&
	       bytes < MAX_COPIES_BYTES)
		bytes *= 2;
	if (copies)
		bpf_map__set_max_entries(copies, bytes);
}

/* Returns the number of pages for which the shards have space. */
static uint32_t count_pages(const struct run *run)
{
	uint64_t n_shards = unwind_options_of(run)->mem_bytes / sizeof(struct unwind_shard);

	if (n_shards >= UNWIND_MAX_SHARDS)
		return UNWIND_MAX_PAGES;
	return n_shards ? (uint32_t)n_shards * UNWIND_SHARD_PAGES : UNWIND_SHARD_PAGES;
}

/* Sizes the maps to several times the machine's current need, because they can't grow later. */
static void size_maps(struct run *run, size_t n_processes)
{
	size_t wanted = (size_t)libbpf_num_possible_cpus() * CPU_PROCESSES;
	uint32_t max_processes = MIN_PROCESSES, max_mappings;

	if (wanted < n_processes * GROWTH)
		wanted = n_processes * GROWTH;
	while (max_processes < wanted && max_processes < MAX_PROCESSES)
		max_processes *= 2;
	bpf_map__set_max_entries(map_find(run, "unwind_processes"), max_processes);
	map_fill_on_demand(run, "unwind_processes");
	bpf_map__set_max_entries(map_find(run, "unwind_changes"), max_processes);
	map_fill_on_demand(run, "unwind_changes");
	map_fill_on_demand(run, "unwind_perf_maps");
	max_mappings = max_processes < MAX_MAPPINGS / PROCESS_MAPPINGS
			       ? max_processes * PROCESS_MAPPINGS
			       : MAX_MAPPINGS;
	bpf_map__set_max_entries(map_find(run, "unwind_mappings"), max_mappings);
	bpf_map__set_max_entries(map_find(run, "unwind_pages"), count_pages(run));
	size_copies(map_find(run, "unwind_copies"));
}

static void leave_out(const struct run *run)
{
	static const char *const maps[] = { "unwind_processes", "unwind_mappings", "unwind_pages",
					    "unwind_rules",	"unwind_patterns", "unwind_shards",
					    "unwind_changes",	"unwind_copies",   "unwind_recent",
					    "unwind_perf_maps" };
	static const char *const programs[] = { "unwind_fork", "unwind_exec", "unwind_unmapped",
						PLACED, TAKE_PERF_MAP };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_leave_out(run, maps[i]);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		program_leave_out(run, programs[i]);
}

static struct bpf_program *find_program(const struct run *run, const char *name)
{
	return bpf_object__find_program_by_name(run->object, name);
}

int unwind_maps_configure(struct run *run, bool by_cfi, size_t n_processes)
{
	struct unwind_settings settings = { unwind_address_bits(), by_cfi };

	if (by_cfi) {
		size_maps(run, n_processes);
		bpf_program__set_autoattach(find_program(run, PLACED), false);
		bpf_program__set_autoattach(find_program(run, TAKE_PERF_MAP), false);
	} else {
		leave_out(run);
	}
	return map_set_settings(run, ".rodata.unwind", &settings, sizeof(settings));
}

/* ---- memory ---- */

/* Sends an order without blocking: the pipe has space for several orders per shard. */
static void give_order(struct unwind_maps *maps, uint32_t shard, bool is_out)
{
	struct order order = { shard, maps->shard_fds[shard], is_out };

	if (write(maps->installer_pipe[1], &order, sizeof(order)) == sizeof(order))
		maps->n_ordered++;
}

/* Waits until the thread has carried out n orders. Before it is started, BPF finds no shards. */
static void wait_for_orders(const struct unwind_maps *maps, uint32_t n)
{
	struct timespec while_waiting = { .tv_nsec = (long)NS_PER_MS };

	while (maps->has_installer &&
	       (int32_t)(__atomic_load_n(&maps->n_done, __ATOMIC_ACQUIRE) - n) < 0)
		nanosleep(&while_waiting, NULL);
}

/*
 * Creates shard n once the former shard n is out of the map: BPF must not search the former one for
 * the contents of this one.
 */
static struct unwind_shard *new_shard(uint32_t n, void *arg)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct unwind_maps *maps = arg;
	struct unwind_shard *shard;
	int fd;

	if ((uint64_t)(n + 1) * sizeof(*shard) > maps->mem_bytes)
		return NULL;
	wait_for_orders(maps, maps->n_until_out);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_shard", sizeof(__u32), sizeof(*shard), 1,
			    &opts);
	if (fd < 0)
		return NULL;
	shard = mmap(NULL, sizeof(*shard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shard == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	maps->shard_fds[n] = fd;
	give_order(maps, n, false);
	return shard;
}

static void drop_shard(uint32_t n, struct unwind_shard *shard, void *arg)
{
	struct unwind_maps *maps = arg;

	munmap(shard, sizeof(*shard));
	give_order(maps, n, true);
	maps->n_until_out = maps->n_ordered;
	maps->shard_fds[n] = -1;
}

static bool map_arrays(const struct run *run, struct unwind_maps *maps,
		       struct unwind_backing *backing)
{
	maps->mappings = map_memory(run, "unwind_mappings");
	maps->max_mappings = bpf_map__max_entries(map_find(run, "unwind_mappings"));
	backing->rules = map_memory(run, "unwind_rules");
	backing->pages = map_memory(run, "unwind_pages");
	backing->max_pages = bpf_map__max_entries(map_find(run, "unwind_pages"));
	backing->patterns = map_memory(run, "unwind_patterns");
	return maps->mappings && backing->rules && backing->pages && backing->patterns;
}

struct unwind_maps *unwind_maps_open(const struct run *run)
{
	struct unwind_maps *maps = mem_zalloc(1, sizeof(*maps));
	struct unwind_backing backing = { .new_shard = new_shard,
					  .drop_shard = drop_shard,
					  .arg = maps };

	memset(maps->shard_fds, -1, sizeof(maps->shard_fds));
	maps->mem_bytes = unwind_options_of(run)->mem_bytes;
	maps->processes_fd = bpf_map__fd(map_find(run, "unwind_processes"));
	maps->changes_fd = bpf_map__fd(map_find(run, "unwind_changes"));
	maps->shards_fd = bpf_map__fd(map_find(run, "unwind_shards"));
	maps->perf_maps_fd = bpf_map__fd(map_find(run, "unwind_perf_maps"));
	if (!map_arrays(run, maps, &backing)) {
		free(maps);
		return NULL;
	}
	if (pipe2(maps->installer_pipe, O_CLOEXEC)) {
		msg_errno(-errno, "unwind tables: pipe failed");
		free(maps);
		return NULL;
	}
	maps->tables = unwind_tables_new(&backing);
	maps->placed_fd =
		bpf_raw_tracepoint_open(PLACED_EVENT, bpf_program__fd(find_program(run, PLACED)));
	maps->take_perf_map_fd = bpf_program__fd(find_program(run, TAKE_PERF_MAP));
	return maps;
}

struct unwind_tables *unwind_maps_tables(const struct unwind_maps *maps)
{
	return maps->tables;
}

struct unwind_mapping *unwind_maps_array(const struct unwind_maps *maps, uint32_t *n)
{
	*n = maps->max_mappings;
	return maps->mappings;
}

/* ---- shards ---- */

/* Updates one by one: maps of maps have no batches before Linux 5.14. */
static int install_one_by_one(int fd, const uint32_t *keys, const int *fds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (bpf_map_update_elem(fd, &keys[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

/* Installs shards in one batch: the first orders, up to a removal. Returns their number. */
static uint32_t install_shards(struct unwind_maps *maps, const struct order *orders, uint32_t n)
{
	uint32_t keys[MAX_ORDERS], count = 0;
	int fds[MAX_ORDERS], err;

	for (; count < n && !orders[count].is_out; count++) {
		keys[count] = orders[count].shard;
		fds[count] = orders[count].fd;
	}
	n = count;
	if (!bpf_map_update_batch(maps->shards_fd, keys, fds, &n, NULL))
		return count;
	err = install_one_by_one(maps->shards_fd, keys, fds, count);
	if (err)
		maps->install_err = err;
	return count;
}

static uint32_t drop_installed(const struct unwind_maps *maps, const struct order *order)
{
	bpf_map_delete_elem(maps->shards_fd, &order->shard);
	close(order->fd);
	return 1;
}

/*
 * Runs in its own thread and executes all pending orders together, since the kernel waits for a
 * grace period of some 10 ms per update. Until a shard is in the map, walks that need it end.
 */
static void *run_installer(void *arg)
{
	struct unwind_maps *maps = arg;
	struct order orders[MAX_ORDERS];
	ssize_t n_bytes;

	/* after a failed read the orders are still there, and others wait for them */
	while ((n_bytes = read(maps->installer_pipe[0], orders, sizeof(orders))) != 0) {
		uint32_t n = n_bytes > 0 ? (uint32_t)n_bytes / sizeof(*orders) : 0;

		for (uint32_t i = 0, done; i < n; i += done) {
			done = orders[i].is_out ? drop_installed(maps, &orders[i])
						: install_shards(maps, &orders[i], n - i);
			__atomic_fetch_add(&maps->n_done, done, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

void unwind_maps_wait(const struct unwind_maps *maps)
{
	wait_for_orders(maps, maps->n_ordered);
}

int unwind_maps_start(struct unwind_maps *maps)
{
	int err;

	unwind_tables_drop_spare(maps->tables);
	err = thread_start(&maps->installer, run_installer, maps);
	maps->has_installer = !err;
	if (err)
		return msg_errno(err, "thread: start failed");
	unwind_maps_wait(maps);
	return maps->install_err ? msg_errno(maps->install_err, "unwind tables: install failed")
				 : 0;
}

void unwind_maps_close(struct unwind_maps *maps)
{
	if (!maps)
		return;
	close(maps->installer_pipe[1]);
	if (maps->has_installer)
		pthread_join(maps->installer, NULL);
	close(maps->installer_pipe[0]);
	unwind_tables_free(maps->tables);
	if (maps->placed_fd >= 0)
		close(maps->placed_fd);
	for (uint32_t i = 0; i < UNWIND_MAX_SHARDS; i++)
		if (maps->shard_fds[i] >= 0)
			close(maps->shard_fds[i]);
	free(maps);
}

/* ---- processes ---- */

static bool is_outdated(const struct unwind_maps *maps, struct unwind_procs *procs, pid_t pid)
{
	struct unwind_change change = {};

	bpf_map_lookup_elem(maps->changes_fd, &pid, &change);
	return unwind_procs_are_outdated(procs, pid, &change);
}

/*
 * Publishes a slice. Without allow_copies, BPF's count of copies stays: an incomplete walk allows
 * no further copies.
 */
static void put_slice(struct unwind_maps *maps, pid_t pid, const struct unwind_process *slice,
		      bool allow_copies)
{
	struct unwind_process before = {}, now = *slice;

	if (!allow_copies)
		bpf_map_lookup_elem(maps->processes_fd, &pid, &before);
	now.n_copies = before.n_copies;
	if (!bpf_map_update_elem(maps->processes_fd, &pid, &now, BPF_ANY))
		return;
	bpf_map_delete_elem(maps->processes_fd, &pid);
	if (!maps->is_full_reported)
		msg_warn("unwind tables: full at process %d, stacks of this and later processes "
			 "may be truncated (raise --unwind-mem)",
			 pid);
	maps->is_full_reported = true;
}

/*
 * Checks for replaced code before publishing, so that hardly any walk uses a wrong slice, and
 * after: from then on BPF counts replaced code.
 */
bool unwind_maps_publish(struct unwind_maps *maps, struct unwind_procs *procs, pid_t pid,
			 const struct unwind_process *slice, bool allow_copies)
{
	struct unwind_change change = {};

	bpf_map_lookup_elem(maps->changes_fd, &pid, &change);
	if (unwind_procs_are_outdated(procs, pid, &change))
		return false;
	unwind_procs_note_moves(procs, pid, &change);
	put_slice(maps, pid, slice, allow_copies);
	if (!is_outdated(maps, procs, pid))
		return true;
	bpf_map_delete_elem(maps->processes_fd, &pid);
	return false;
}

bool unwind_maps_take_other(struct unwind_maps *maps, pid_t pid, const struct unwind_process *slice)
{
	struct unwind_process found;

	return !bpf_map_lookup_elem(maps->processes_fd, &pid, &found) &&
	       found.serial != slice->serial && !bpf_map_delete_elem(maps->processes_fd, &pid);
}

bool unwind_maps_have(const struct unwind_maps *maps, pid_t pid, const struct unwind_process *slice)
{
	struct unwind_process found;

	return !bpf_map_lookup_elem(maps->processes_fd, &pid, &found) &&
	       found.serial == slice->serial;
}

bool unwind_maps_take_perf_map(const struct unwind_maps *maps, struct process *p, int map_fd)
{
	int fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 0), old = p->perf_map_fd;
	uint64_t args[] = { (uint64_t)p->pid, (uint64_t)fd };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (fd < 0)
		return false;
	if (bpf_prog_test_run_opts(maps->take_perf_map_fd, &opts) || opts.retval) {
		close(fd);
		return false;
	}
	if (old)
		close(old);
	p->perf_map_fd = fd;
	return true;
}

/* Removes the slice first: without the count, it could pass for an up-to-date one. */
void unwind_maps_withdraw(struct unwind_maps *maps, pid_t pid)
{
	bpf_map_delete_elem(maps->processes_fd, &pid);
	bpf_map_delete_elem(maps->changes_fd, &pid);
	bpf_map_delete_elem(maps->perf_maps_fd, &pid);
}

void unwind_maps_visit(const struct unwind_maps *maps, bool (*is_wanted)(pid_t pid, void *arg),
		       void (*visit)(pid_t pid, void *arg), void *arg)
{
	map_visit_pids(maps->processes_fd, is_wanted, visit, arg);
	map_visit_pids(maps->changes_fd, is_wanted, visit, arg);
}

uint32_t unwind_maps_changes(struct unwind_maps *maps, pid_t pid)
{
	struct unwind_change change = {};

	if (bpf_map_lookup_elem(maps->changes_fd, &pid, &change))
		bpf_map_update_elem(maps->changes_fd, &pid, &change, BPF_NOEXIST);
	return change.count;
}
