// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the maps that the loader fills and by which BPF walks user stacks. The maps are real
 * ones; no program is loaded: the tests write what programs would.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/loop.h"
#include "child.h"
#include "modules/target.h"
#include "run/bpfmap.h"
#include "silent.h"
#include "stacks/unwind_maps.h"
#include "stacks/user_stacks.h"
#include "unit.h"

static const struct tool tool = { .name = "profile",
				  .modules = { { &target_module }, { &unwind_module } } };

static struct run run;
static struct user_stacks *us;

/* The object's maps for user stacks; configure() has said how large they are. */
static bool load_maps(void)
{
	int err;
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, run.object)
		bpf_program__set_autoload(program, false);
	bpf_object__for_each_map(map, run.object)
		if (strncmp(bpf_map__name(map), "unwind_", strlen("unwind_")))
			bpf_map__set_autocreate(map, false);
	SAID(err = bpf_object__load(run.object));
	return !err;
}

BEFORE_EACH()
{
	run_init(&run, &tool);
	run.object = bpf_object__open_file(BPF_OBJECT, NULL);
	run.loop = loop_new();
}

AFTER_EACH()
{
	user_stacks_free(us);
	us = NULL;
	bpf_object__close(run.object);
	loop_free(run.loop);
	run_free(&run);
}

static int fd_of(const char *name)
{
	return bpf_map__fd(map_find(&run, name));
}

/* Returns the serial number of a process in BPF's map; 0 if it has none. */
static uint32_t serial_of(pid_t pid)
{
	struct unwind_process slice = {};

	bpf_map_lookup_elem(fd_of("unwind_processes"), &pid, &slice);
	return slice.serial;
}

/* ---- the maps alone ---- */

static struct unwind_maps *open_maps(void)
{
	return !unwind_maps_configure(&run, true, 16) && load_maps() ? unwind_maps_open(&run)
								     : NULL;
}

#define FILE_SHARDS 8

/* All rows of a file have rules of their own: shift tells whose they are. */
static struct cfi_table make_table(int shift)
{
	struct cfi_table cfi = {};

	for (size_t i = 0; i < FILE_SHARDS * UNWIND_SHARD_CELLS; i++)
		cfi_append(&cfi, 5 * i,
			   &(struct unwind_rule){ .kind = UNWIND_SP,
						  .cfa_off = shift + 8 * (int)(i % 5) });
	return cfi;
}

/* As BPF finds it. False: there is none. */
static bool read_shard(uint32_t n, struct unwind_shard *shard)
{
	uint32_t id, zero = 0;
	bool done;
	int fd;

	if (bpf_map_lookup_elem(fd_of("unwind_shards"), &n, &id))
		return false;
	fd = bpf_map_get_fd_by_id(id);
	done = fd >= 0 && !bpf_map_lookup_elem(fd, &zero, shard);
	close(fd);
	return done;
}

/* At the beginnings of pages. found: at how many there is a rule by now. */
static int count_foreign(const struct unwind_run *rows, const struct cfi_table *cfi, int *found)
{
	const struct unwind_page *pages = map_memory(&run, "unwind_pages");
	const struct unwind_rule *rules = map_memory(&run, "unwind_rules");
	struct unwind_shard *shard = mem_zalloc(1, sizeof(*shard));
	uint32_t at = UINT32_MAX, number, distance;
	bool is_there = false;
	int n_foreign = 0;

	*found = 0;
	for (uint32_t i = 0; i < rows->n_pages; i++) {
		const struct unwind_page *page = &pages[rows->first_page + i];
		uint64_t vaddr = (rows->page_base + i) << UNWIND_PAGE_SHIFT;

		if (page->shard != at)
			is_there = read_shard(page->shard, shard);
		at = page->shard;
		if (!is_there)
			continue;
		number = unwind_search(shard, page->first_cell, 0, &distance);
		n_foreign += rules[number].cfa_off != cfi_find(cfi, vaddr).cfa_off;
		(*found)++;
	}
	free(shard);
	return n_foreign;
}

TEST(what_is_new_is_not_looked_for_in_a_former_shard)
{
	struct cfi_table former = make_table(8), cfi = make_table(1000);
	struct unwind_maps *maps = open_maps();
	struct unwind_tables *tables;
	struct unwind_run rows;
	int n;

	if (!maps)
		SKIP("may not make maps");
	tables = unwind_maps_tables(maps);
	CHECK_EQ(unwind_maps_start(maps), 0);
	CHECK_EQ(unwind_tables_add(tables, &former, &rows), 0);
	unwind_maps_wait(maps);
	CHECK_EQ(count_foreign(&rows, &former, &n), 0);
	CHECK_EQ(n, rows.n_pages);
	unwind_tables_remove(tables, &rows, 0);
	unwind_tables_reclaim(tables, NS_PER_S);
	unwind_tables_drop_spare(tables);
	CHECK_EQ(unwind_tables_add(tables, &cfi, &rows), 0);
	CHECK_EQ(count_foreign(&rows, &cfi, &n), 0);
	unwind_maps_wait(maps);
	CHECK_EQ(count_foreign(&rows, &cfi, &n), 0);
	CHECK_EQ(n, rows.n_pages);
	unwind_maps_close(maps);
	cfi_free(&former);
	cfi_free(&cfi);
}

/* ---- while processes do things ---- */

static bool start_stacks(void)
{
	us = user_stacks_new(&run,
			     &(struct user_stacks_options){ .wanted = true, .hits_few = true });
	return us && load_maps() && !user_stacks_start(us);
}

#define LACKING "may not make maps, or watch processes"

/* As BPF would note that the place of this code was free, later than anybody has looked. */
static void note_area(uint64_t start)
{
	struct unwind_change change = {
		.n_areas = 2,
		.areas = { {}, { start, start + 1, UINT64_MAX } },
	};
	pid_t pid = getpid();

	CHECK(!bpf_map_update_elem(fd_of("unwind_changes"), &pid, &change, BPF_ANY));
}

/* As of a program that loads and unloads code again and again. Its place will be another's. */
TEST(a_former_slice_does_not_stay_where_none_can_be_published)
{
	if (!start_stacks())
		SKIP(LACKING);
	CHECK(serial_of(getpid()));
	note_area((uintptr_t)user_stacks_learn);
	user_stacks_learn(us, getpid());
	CHECK_EQ(serial_of(getpid()), 0);
}

static void map_code(void)
{
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
}

/* Forks, and gives the child what BPF has of its parent. */
static pid_t start_child_as_bpf_sees_it(void)
{
	int fd = fd_of("unwind_processes");
	struct unwind_process slice;
	pid_t pid = getpid(), child = start_child();

	CHECK(!bpf_map_lookup_elem(fd, &pid, &slice));
	CHECK(!bpf_map_update_elem(fd, &child, &slice, BPF_ANY));
	return child;
}

TEST(a_child_does_not_keep_its_parents_former_slice)
{
	uint32_t former;
	pid_t child;

	if (!start_stacks())
		SKIP(LACKING);
	former = serial_of(getpid());
	CHECK(former);
	map_code();
	child = start_child_as_bpf_sees_it();
	user_stacks_learn(us, getpid());
	CHECK(serial_of(getpid()) != former);
	user_stacks_catch_up(us);
	CHECK(serial_of(child));
	CHECK(serial_of(child) != former);
	end_child(child);
}

TEST(a_child_whose_beginning_was_lost_does_not_keep_its_parents_slice)
{
	pid_t child;

	if (!start_stacks())
		SKIP(LACKING);
	go_to_cpu(sched_getcpu());
	for (int i = 0; i < 10000; i++)
		munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		       4096);
	for (int i = 0; i < 20; i++)
		end_child(start_child()); /* what they do takes less room */
	child = start_child_as_bpf_sees_it();
	user_stacks_catch_up(us);
	map_code();
	user_stacks_catch_up(us);
	CHECK(serial_of(getpid()));
	CHECK_EQ(serial_of(child), 0);
	end_child(child);
}
