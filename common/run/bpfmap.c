// SPDX-License-Identifier: GPL-2.0-only
/* BPF maps from the loader's side; see bpfmap.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/bpfmap.h"

#define BATCH_ELEMENTS 4096

struct bpf_map *map_find(const struct run *run, const char *name)
{
	return bpf_object__find_map_by_name(run->object, name);
}

int map_set_settings(const struct run *run, const char *name, const void *value, size_t size)
{
	struct bpf_map *map = map_find(run, name);
	char whole[256] = {};
	int err;

	if (!map || bpf_map__value_size(map) > sizeof(whole) || size > sizeof(whole))
		return msg_error("BPF object: section %s is missing", name);
	memcpy(whole, value, size);
	err = bpf_map__set_initial_value(map, whole, bpf_map__value_size(map));
	return err ? msg_errno(err, "map %s: update failed", name) : 0;
}

void map_add_entries(const struct run *run, const char *name, uint32_t n)
{
	struct bpf_map *map = map_find(run, name);

	bpf_map__set_max_entries(map, bpf_map__max_entries(map) + n);
}

void map_leave_out(const struct run *run, const char *name)
{
	struct bpf_map *map = map_find(run, name);

	if (map)
		bpf_map__set_autocreate(map, false);
}

/*
 * Since 6.1, elements allocated on demand come from a reserve on each CPU, usable in any context.
 * Before, the verifier refused such tables to perf event programs, and other programs could hit the
 * allocator's locks.
 */
static bool try_fill_on_demand(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "tracelets_check", 4, 4, 1, &opts), prog;
	struct bpf_insn insns[] = {
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map },
		{ 0, 0, 0, 0, 0 }, /* the address's upper half */
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	if (map < 0)
		return false;
	prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "tracelets_check", "GPL", insns,
			     ARRAY_SIZE(insns), NULL);
	close(map);
	if (prog < 0)
		return false;
	close(prog);
	return true;
}

static void set_flags(struct bpf_map *map, uint32_t flags)
{
	if (map)
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) | flags);
}

void map_fill_on_demand(struct run *run, const char *name)
{
	struct bpf_map *map = map_find(run, name), *inner = map ? bpf_map__inner_map(map) : NULL;

	if (!run->fills_on_demand)
		run->fills_on_demand = try_fill_on_demand() ? 1 : -1;
	if (run->fills_on_demand > 0)
		set_flags(inner ? inner : map, BPF_F_NO_PREALLOC);
}

void map_fill_at_load(struct run *run)
{
	run->fills_on_demand = -1;
}

void *map_memory(const struct run *run, const char *name)
{
	struct bpf_map *map = map_find(run, name);
	size_t bytes = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7) & ~7U);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory != MAP_FAILED)
		return memory;
	msg_errno(-errno, "map %s: mmap failed", name);
	return NULL;
}

void map_sum_cpus(const struct run *run, const char *name, void *sums, size_t n)
{
	const struct bpf_map *map = map_find(run, name);
	size_t n_words = map ? (bpf_map__value_size(map) + 7) / 8 : 0;
	int n_cpus = libbpf_num_possible_cpus();
	__u64 *words = mem_zalloc((size_t)n_cpus * n_words, sizeof(*words)), *to = sums;
	uint32_t zero = 0;

	memset(sums, 0, n * sizeof(*to));
	if (!bpf_map_lookup_elem(bpf_map__fd(map), &zero, words))
		for (size_t i = 0; i < (size_t)n_cpus * n_words; i++)
			if (i % n_words < n)
				to[i % n_words] += words[i];
	free(words);
}

void program_leave_out(const struct run *run, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(run->object, name);

	if (prog)
		bpf_program__set_autoload(prog, false);
}

struct batch {
	uint32_t key_size, value_size, position;
	char *keys, *values;
};

static int batch_init(struct batch *batch, int fd)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return msg_errno(-errno, "map: read failed");
	batch->key_size = info.key_size;
	batch->value_size = info.value_size;
	batch->keys = mem_zalloc(BATCH_ELEMENTS, info.key_size);
	batch->values = mem_zalloc(BATCH_ELEMENTS, info.value_size);
	return 0;
}

static void batch_visit(const struct batch *batch, uint32_t n, map_visit_fn *visit, void *arg)
{
	for (uint32_t i = 0; i < n; i++)
		visit(batch->keys + (size_t)i * batch->key_size,
		      batch->values + (size_t)i * batch->value_size, arg);
}

static int read_batch(int fd, bool take, struct batch *batch, uint32_t *in, uint32_t *n)
{
	*n = BATCH_ELEMENTS;
	if (take)
		return bpf_map_lookup_and_delete_batch(fd, in, &batch->position, batch->keys,
						       batch->values, n, NULL);
	return bpf_map_lookup_batch(fd, in, &batch->position, batch->keys, batch->values, n, NULL);
}

static int read_batches(int fd, bool take, struct batch *batch, map_visit_fn *visit, void *arg)
{
	uint32_t *in = NULL, n;
	int err;

	do {
		err = read_batch(fd, take, batch, in, &n);
		if (err && errno != ENOENT) /* ENOENT: the end */
			return msg_errno(-errno, "map: read failed");
		batch_visit(batch, n, visit, arg);
		in = &batch->position;
	} while (!err);
	return 0;
}

int map_read(int fd, bool take, map_visit_fn *visit, void *arg)
{
	struct batch batch = {};
	int err = batch_init(&batch, fd);

	if (!err)
		err = read_batches(fd, take, &batch, visit, arg);
	free(batch.keys);
	free(batch.values);
	return err;
}

struct pids {
	bool (*is_wanted)(pid_t pid, void *arg);
	void *arg;
	pid_t *items;
	size_t n, cap;
};

static void gather_pid(const void *key, const void *value, void *arg)
{
	struct pids *pids = arg;
	pid_t pid = *(const pid_t *)key;

	(void)value;
	if (!pids->is_wanted(pid, pids->arg))
		return;
	*MEM_APPEND(pids->items, pids->n, pids->cap) = pid;
}

void map_visit_pids(int fd, bool (*is_wanted)(pid_t pid, void *arg),
		    void (*visit)(pid_t pid, void *arg), void *arg)
{
	struct pids pids = { is_wanted, arg };

	map_read(fd, false, gather_pid, &pids);
	for (size_t i = 0; i < pids.n; i++)
		visit(pids.items[i], arg);
	free(pids.items);
}

void map_pair_leave_out(const struct run *run, const struct map_pair *pair)
{
	map_leave_out(run, pair->slot);
	map_leave_out(run, pair->first);
}

void map_pair_configure(struct run *run, const struct map_pair *pair, uint32_t entries,
			bool has_turns)
{
	bpf_map__set_max_entries(map_find(run, pair->first), entries);
	map_fill_on_demand(run, pair->slot); /* the inner map's template must match the tables */
	map_fill_on_demand(run, pair->first);
	if (!has_turns)
		map_leave_out(run, pair->slot);
}

/*
 * Makes a table like the first. It has type information, too: from 5.15 to 6.1, a table without it
 * is not considered equal (timer_off in bpf_map_meta_equal()). Returns its descriptor, or -errno.
 */
static int make_second(const struct run *run, const struct bpf_map *first)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(first));

	opts.btf_fd = (uint32_t)bpf_object__btf_fd(run->object);
	opts.btf_key_type_id = bpf_map__btf_key_type_id(first);
	opts.btf_value_type_id = bpf_map__btf_value_type_id(first);
	return bpf_map_create(bpf_map__type(first), bpf_map__name(first), bpf_map__key_size(first),
			      bpf_map__value_size(first), bpf_map__max_entries(first), &opts);
}

static int table_in_use(const struct run *run, const struct map_pair *pair)
{
	return pair->is_second_active ? pair->second_fd : bpf_map__fd(map_find(run, pair->first));
}

static int swap_tables(const struct run *run, struct map_pair *pair)
{
	struct bpf_map *first = map_find(run, pair->first);
	uint32_t zero = 0;
	int other;

	if (!pair->second_fd)
		pair->second_fd = make_second(run, first);
	if (pair->second_fd < 0)
		return msg_errno(pair->second_fd, "map %s: creating the second buffer failed",
				 pair->first);
	other = pair->is_second_active ? bpf_map__fd(first) : pair->second_fd;
	if (bpf_map_update_elem(bpf_map__fd(map_find(run, pair->slot)), &zero, &other, BPF_ANY))
		return msg_errno(-errno, "map %s: buffer swap failed", pair->first);
	pair->is_second_active = !pair->is_second_active;
	return 0;
}

int map_pair_read(const struct run *run, struct map_pair *pair, map_visit_fn *visit, void *arg)
{
	int fd = table_in_use(run, pair);
	bool swap = !run->is_last && !run->is_peek;

	if (swap && swap_tables(run, pair))
		return -EIO;
	return map_read(fd, swap, visit, arg);
}
