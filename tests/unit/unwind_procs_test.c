// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mappings of processes: of this one, of children, and what becomes of a slice that is freed.
 */
#include "child.h"
#include "silent.h"
#include "unit.h"
#include "unwind_own.h"

static struct own_tables *own;
static struct unwind_process slice;

BEFORE_EACH()
{
	own = own_tables_new();
}

AFTER_EACH()
{
	own_tables_free(own);
}

static bool update(pid_t pid, uint32_t change, struct unwind_process *process)
{
	return unwind_procs_update(own->procs, pid, change, process);
}

/* Updates this process, without a change that BPF has noted. */
static bool update_own(struct unwind_process *process)
{
	return update(getpid(), 0, process);
}

/* Returns the mapping that a walk would find for an address. */
static const struct unwind_mapping *find(uint64_t addr)
{
	for (uint32_t i = 0; i < slice.count; i++) {
		const struct unwind_mapping *m = &own->mappings[slice.first + i];

		if (addr >= m->start && addr < m->end)
			return m;
	}
	return NULL;
}

TEST(code_is_found_with_its_rules)
{
	uint64_t own_code = (uintptr_t)unwind_procs_update, libc_code = (uintptr_t)getpid;
	const struct unwind_mapping *m;
	const struct unwind_rule *rule;
	__s32 on_stack = elf64_own_machine() == EM_AARCH64 ? 0 : 8;

	CHECK(update_own(&slice));
	for (int i = 0; i < 2; i++) {
		uint64_t addr = i ? own_code : libc_code;

		m = find(addr);
		CHECK(m && m->n_pages);
		rule = m ? unwind_tables_find(own->tables, m, addr) : NULL;
		/* At a function's first instruction; a call of arm64 leaves nothing there. */
		CHECK(rule && rule->kind == UNWIND_SP && rule->cfa_off == on_stack);
	}
	CHECK(!find((uintptr_t)&slice));
}

TEST(mappings_ascend_and_do_not_overlap)
{
	uint64_t end = 0;

	CHECK(update_own(&slice));
	for (uint32_t i = 0; i < slice.count; i++) {
		CHECK(own->mappings[slice.first + i].start >= end);
		end = own->mappings[slice.first + i].end;
	}
}

TEST(memory_without_a_file_is_known_but_has_no_rules)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct unwind_mapping *m;

	CHECK(update_own(&slice));
	m = find((uintptr_t)code);
	CHECK(m && !m->n_pages);
	munmap(code, 4096);
}

/* Apart from each other, so that each is a mapping of its own. */
static void *map_code(void)
{
	char *at = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC);
	return at;
}

static void unmap_code(void **code, size_t n)
{
	for (size_t i = 0; i < n; i++)
		munmap(code[i], 3 * 4096);
}

/* Long enough for slices that are not used any more. */
static void rest(void)
{
	unwind_procs_begin_rests(own->procs);
	usleep(1100000);
}

TEST(an_update_without_news_keeps_the_slice)
{
	struct unwind_process second;

	CHECK(update_own(&slice));
	CHECK(update_own(&second));
	CHECK_EQ(second.first, slice.first);
	CHECK_EQ(second.serial, slice.serial);
}

TEST(an_update_gives_a_new_slice_and_leaves_the_old_one_in_peace)
{
	struct unwind_process first, second, third, now;
	struct unwind_mapping before;
	void *code[3];

	code[0] = map_code();
	CHECK(update_own(&first));
	before = own->mappings[first.first];
	code[1] = map_code();
	CHECK(update_own(&second));
	code[2] = map_code();
	CHECK(update_own(&third));
	CHECK(first.first != second.first && second.first != third.first &&
	      first.first != third.first);
	CHECK(!memcmp(&before, &own->mappings[first.first], sizeof(before)));
	CHECK(unwind_procs_find(own->procs, getpid(), &now));
	CHECK_EQ(now.first, third.first);
	rest();
	unmap_code(code + 1, 2);
	CHECK(update_own(&now)); /* the first has rested */
	CHECK_EQ(now.first, first.first);
	unmap_code(code, 1);
}

/* The loader may have thousands of processes to look at before it gives BPF the first one's. */
TEST(a_former_slice_stays_until_bpf_does_not_have_it_any_more)
{
	struct unwind_process first;
	void *code = map_code();

	CHECK(update_own(&first));
	unmap_code(&code, 1);
	CHECK(update_own(&slice));
	usleep(1100000);
	code = map_code();
	CHECK(update_own(&slice));
	CHECK(slice.first != first.first);
	rest();
	unmap_code(&code, 1);
	CHECK(update_own(&slice));
	CHECK_EQ(slice.first, first.first);
}

static void nothing_new(uint64_t time_ns, void *arg)
{
	(void)time_ns;
	(void)arg;
}

/* The event of what is there now may come later than BPF's count. */
TEST(a_process_that_was_just_read_is_read_again_if_code_was_replaced)
{
	void *code = map_code();
	uint64_t addr = (uintptr_t)code + 4096;

	processes_on_ask(own->processes, nothing_new, NULL);
	CHECK(update(getpid(), 5, &slice));
	CHECK(find(addr));
	unmap_code(&code, 1);
	CHECK(update(getpid(), 6, &slice));
	CHECK_EQ(slice.change, 6);
	CHECK(!find(addr));
}

/* As BPF notes them. */
static void note_area(struct unwind_change *change, uint64_t start, uint64_t time_ns)
{
	change->areas[change->n_areas++ % UNWIND_AREAS] =
		(struct unwind_area){ start, start + 4096, time_ns };
}

/* A library takes the place of another one while the loader is about to publish that one's. */
TEST(code_that_was_replaced_before_it_was_published_is_told_and_read_again)
{
	void *code = map_code();
	uint64_t addr = (uintptr_t)code + 4096, before_ns = clock_now_ns();
	struct unwind_change change = {};

	processes_on_ask(own->processes, nothing_new, NULL);
	CHECK(update_own(&slice));
	CHECK(!unwind_procs_are_outdated(own->procs, getpid(), &change));
	note_area(&change, addr, before_ns);
	note_area(&change, 4096, clock_now_ns());
	CHECK(!unwind_procs_are_outdated(own->procs, getpid(), &change));
	note_area(&change, addr, clock_now_ns());
	for (int i = 0; i < UNWIND_AREAS - 2; i++)
		note_area(&change, 4096, clock_now_ns());
	CHECK(unwind_procs_are_outdated(own->procs, getpid(), &change));
	note_area(&change, 4096, clock_now_ns()); /* in the place that may be half written */
	CHECK(!unwind_procs_are_outdated(own->procs, getpid(), &change));
	unmap_code(&code, 1);
	CHECK(update_own(&slice));
	CHECK(!find(addr));
	CHECK(!unwind_procs_are_outdated(own->procs, 1 << 30, &change));
}

TEST(a_child_uses_its_parents_slice_until_it_has_its_own)
{
	struct unwind_process parents, childs, again;
	void *code;
	pid_t child = start_child();

	CHECK(!unwind_procs_knows(own->procs, child));
	CHECK(update_own(&parents));
	unwind_procs_fork(own->procs, getpid(), child);
	CHECK(unwind_procs_knows(own->procs, child));
	CHECK(unwind_procs_find(own->procs, child, &childs));
	CHECK_EQ(childs.first, parents.first);
	unwind_procs_exit(own->procs, getpid());
	CHECK(!unwind_procs_knows(own->procs, getpid()));
	rest(); /* it would have rested long enough, but the child is in it */
	code = map_code();
	CHECK(update_own(&again));
	unmap_code(&code, 1);
	CHECK(again.first != parents.first);
	CHECK(update(child, 0, &childs));
	CHECK_EQ(processes_stats(own->processes).n_published, 2);
	end_child(child);
}

/* A stack of it has come before the events are handled: what BPF uses now stays. */
TEST(what_was_read_since_a_fork_or_exec_is_left_alone)
{
	struct unwind_process now;
	pid_t child = start_child();

	CHECK(update_own(&slice));
	processes_fork(own->processes, getpid(), child, clock_now_ns());
	CHECK(update(child, 7, &slice));
	unwind_procs_fork(own->procs, getpid(), child);
	CHECK(unwind_procs_find(own->procs, child, &now));
	CHECK_EQ(now.serial, slice.serial);
	CHECK_EQ(now.change, 7);
	processes_exec(own->processes, child, clock_now_ns());
	usleep(150000); /* until what it has mapped is asked of the process itself */
	CHECK(update(child, 8, &slice));
	unwind_procs_exec(own->procs, child);
	CHECK(unwind_procs_find(own->procs, child, &now));
	CHECK_EQ(now.serial, slice.serial);
	CHECK_EQ(now.change, 8);
	end_child(child);
}

TEST(what_was_read_before_a_fork_or_exec_is_replaced)
{
	struct unwind_process now;
	pid_t child = start_child();

	CHECK(update(getpid(), 5, &slice));
	CHECK(update(child, 7, &now));
	processes_fork(own->processes, getpid(), child, clock_now_ns());
	unwind_procs_fork(own->procs, getpid(), child);
	CHECK(unwind_procs_find(own->procs, child, &now));
	CHECK_EQ(now.serial, slice.serial);
	CHECK_EQ(now.change, 5);
	CHECK(update(getpid(), 6, &slice));
	unwind_procs_exec(own->procs, child); /* the parent's isn't the child's */
	CHECK(!unwind_procs_knows(own->procs, child));
	CHECK(update(child, 7, &slice));
	processes_exec(own->processes, child, clock_now_ns());
	unwind_procs_exec(own->procs, child);
	CHECK(!unwind_procs_knows(own->procs, child));
	end_child(child);
}

TEST(nothing_is_known_of_processes_that_are_gone_or_have_no_code)
{
	pid_t child = start_child();

	end_child(child);
	CHECK(!update(child, 0, &slice));
	CHECK(!update(2, 0, &slice)); /* kthreadd, or nobody we may look at */
	unwind_procs_fork(own->procs, child, getpid());
	unwind_procs_exit(own->procs, child);
	CHECK(!unwind_procs_knows(own->procs, getpid()));
	CHECK(!unwind_procs_find(own->procs, getpid(), &slice));
	CHECK_EQ(processes_stats(own->processes).n_published, 0);
}

TEST(a_file_is_compiled_once_for_all_processes)
{
	pid_t child = start_child();
	size_t n_files;

	CHECK(update_own(&slice));
	n_files = unwind_procs_stats(own->procs).n_files;
	CHECK(update(child, 0, &slice));
	CHECK(n_files >= 2);
	CHECK_EQ(unwind_procs_stats(own->procs).n_files, n_files);
	CHECK_EQ(unwind_procs_stats(own->procs).n_refused, 0);
	end_child(child);
}

/* Thousands come and go; their slices are used again, so the array doesn't fill up. */
TEST(slices_do_not_run_out)
{
	CHECK(update_own(&slice));
	for (pid_t pid = 1 << 23; pid < (1 << 23) + 20000; pid++) {
		unwind_procs_fork(own->procs, getpid(), pid);
		unwind_procs_exit(own->procs, pid);
	}
	CHECK_EQ(processes_stats(own->processes).n_published, 1);
	CHECK(unwind_procs_stats(own->procs).n_mappings < 256);
}

/* As where many small programs have run before a large one begins. */
TEST(small_slices_become_large_ones)
{
	void *code[128];
	uint32_t few;

	own_tables_free(own);
	own = own_tables_of(256);
	CHECK(update_own(&slice));
	few = slice.count;
	for (size_t n = 0; n < 2; n++) {
		code[n] = map_code();
		CHECK(update_own(&slice));
	}
	for (size_t n = 2; n < ARRAY_SIZE(code); n++)
		code[n] = map_code();
	unwind_procs_exit(own->procs, getpid());
	rest();
	CHECK(update_own(&slice));
	CHECK(slice.count > few && slice.count <= 256);
	CHECK_EQ(unwind_procs_stats(own->procs).n_mappings, slice.count);
	unmap_code(code, ARRAY_SIZE(code));
}

TEST(where_there_is_no_room_nothing_is_published)
{
	own_tables_free(own);
	own = own_tables_of(2);
	SAID(CHECK(!update_own(&slice)));
	CHECK(!unwind_procs_knows(own->procs, getpid()));
}

/* Code of a file at an address of its own, or at that of what it replaces. */
static void *map_page(const char *path, void *at, off_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *page = mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
			  offset);

	close(fd);
	return page;
}

static uint32_t names_now(void)
{
	CHECK(update_own(&slice));
	return slice.names;
}

TEST(names_differ_where_an_address_means_something_else_and_only_there)
{
	char path[] = "/tmp/unwind-procs-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	uint32_t first, second, third;
	void *page, *other;

	CHECK_EQ(ftruncate(fd, 3 * 4096), 0);
	close(fd);
	CHECK_EQ(names_now(), 0);
	page = map_page(path, NULL, 0);
	other = map_page(path, NULL, 4096);
	first = names_now();
	CHECK_EQ(first, 0); /* what has only been added changes nothing */
	map_page(path, page, 8192);
	second = names_now();
	CHECK(second != first);
	map_page("/proc/self/exe", page, 0);
	third = names_now();
	CHECK(third != first && third != second);
	munmap(other, 4096);
	CHECK_EQ(names_now(), third);
	map_page(path, page, 8192);
	CHECK_EQ(names_now(), second);
	map_page(path, page, 0);
	CHECK_EQ(names_now(), first);
	unlink(path);
	munmap(page, 4096);
}

TEST(a_file_that_was_overwritten_in_place_means_something_else)
{
	char path[] = "/tmp/unwind-procs-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	void *page;

	CHECK_EQ(ftruncate(fd, 4096), 0);
	names_now();
	page = map_page(path, NULL, 0);
	CHECK_EQ(names_now(), 0);
	munmap(page, 4096);
	CHECK_EQ(ftruncate(fd, 8192), 0);
	close(fd);
	map_page(path, page, 0);
	CHECK(names_now() != 0);
	unlink(path);
	munmap(page, 4096);
}

/* mremap(2) puts code over other code, which no event reports. */
TEST(what_was_moved_is_noted_with_the_time_that_bpf_has_kept)
{
	void *code = map_page("/proc/self/exe", NULL, 0);
	struct unwind_change change = { .count = 1 };
	uint64_t moved_ns;
	struct maps *maps;

	processes_on_ask(own->processes, nothing_new, NULL);
	CHECK(update_own(&slice));
	mremap(map_page("/proc/self/exe", NULL, 4096), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
	       code);
	moved_ns = clock_now_ns();
	note_area(&change, (uintptr_t)code, moved_ns);
	usleep(1000);
	CHECK(update(getpid(), 1, &slice));
	unwind_procs_note_moves(own->procs, getpid(), &change);
	for (uint64_t time_ns = moved_ns - 1; time_ns <= moved_ns; time_ns++) {
		maps = processes_recall(own->processes, getpid(), time_ns);
		CHECK_EQ(maps_find(maps, (uintptr_t)code)->offset, time_ns < moved_ns ? 0 : 4096);
		maps_release(maps);
	}
	munmap(code, 4096);
}
