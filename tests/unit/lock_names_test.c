// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the names of locks' addresses, in this process and its children. */
#include <pthread.h>
#include <sched.h>
#include <sys/shm.h>

#include "modules/lock_names.h"
#include "process/processes.h"
#include "child.h"
#include "unit.h"

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER, more_locks[3];
static pthread_cond_t known_condition = PTHREAD_COND_INITIALIZER;
static int mangled_lock __asm__("_ZN3appL11table_mutexE") = 1; /* app::table_mutex */
static int written = 1; /* in .data, the others are in .bss */

static const struct processes_options options = { .max_mappings = 4096 };

static struct processes *processes;
static struct lock_names *names;

static void begin_as(bool as_mangled)
{
	processes = processes_new(&options);
	names = lock_names_new(processes, as_mangled);
}

BEFORE_EACH()
{
	begin_as(false);
}

AFTER_EACH()
{
	lock_names_free(names);
	processes_free(processes);
}

static const struct lock_name *find(const void *address, bool is_private)
{
	return lock_names_find(names, getpid(), 1, (uintptr_t)address, is_private);
}

#define CHECK_NAME(lock, kind, name)                      \
	do {                                              \
		char *text_ = lock_name_text(lock, kind); \
		CHECK_STR(text_, name);                   \
		free(text_);                              \
	} while (0)

TEST(variables_have_their_symbols_names)
{
	CHECK_NAME(find(&known_lock, true), "mutex", "lock_names_test:known_lock");
	CHECK_NAME(find(&more_locks[1], true), "mutex", "lock_names_test:more_locks+0x28");
	CHECK_NAME(find(&written, true), "mutex", "lock_names_test:written");
	CHECK_EQ(find(&known_lock, true)->pid, getpid());
	CHECK(find(&known_lock, true) == find(&known_lock, true));
}

TEST(names_are_those_that_programmers_wrote)
{
	CHECK_NAME(find(&mangled_lock, true), "mutex", "lock_names_test:app::table_mutex");
	CHECK_STR(find(&mangled_lock, true)->symbol, "_ZN3appL11table_mutexE");
	lock_names_free(names);
	processes_free(processes);
	begin_as(true);
	CHECK_NAME(find(&mangled_lock, true), "mutex", "lock_names_test:_ZN3appL11table_mutexE");
}

TEST(a_part_of_a_condition_stands_for_it)
{
	const char *part = (const char *)&known_condition + 40;

	CHECK_NAME(find(part, true), "condition", "lock_names_test:known_condition");
	CHECK_NAME(find(part, true), "mutex", "lock_names_test:known_condition+0x28");
}

static const char *with_address(const char *name, const void *address)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s %p", name, address);
	return text;
}

TEST(memory_has_its_kind_and_address)
{
	char *anon = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *heap = sbrk(4096);

	CHECK_NAME(find(heap, true), "mutex", with_address("[heap]", heap));
	CHECK_NAME(find(anon + 40, true), "mutex", with_address("[anon]", anon + 40));
	munmap(anon, 4096);
}

/* The first one of a namespace is inode 0. */
TEST(a_lock_in_a_first_system_v_segment_is_one_in_all_processes)
{
	int id = unshare(CLONE_NEWIPC) ? -1 : shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	char *first, *second;

	if (id < 0)
		SKIP("needs the right to make a namespace");
	first = shmat(id, NULL, 0);
	second = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	CHECK_EQ(id, 0);
	CHECK_NAME(find(first + 64, false), "mutex", "/SYSV00000000 (deleted)+0x40");
	CHECK(lock_name_is_same(find(first + 64, false), find(second + 64, false)));
	CHECK_EQ(lock_name_hash(find(first + 64, false)), lock_name_hash(find(second + 64, false)));
	CHECK(!lock_name_is_same(find(first + 64, false), find(second + 128, false)));
	CHECK(!lock_name_is_same(find(first + 64, true), find(second + 64, true)));
	shmdt(first);
	shmdt(second);
}

TEST(a_shared_lock_is_one_wherever_it_is_mapped)
{
	char path[] = "/tmp/lock_names_XXXXXX", expected[64];
	int fd = mkstemp(path);
	char *first, *second;

	CHECK(fd >= 0 && !ftruncate(fd, 8192));
	first = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	second = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	CHECK(lock_name_is_same(find(first + 4136, false), find(second + 40, false)));
	CHECK_EQ(lock_name_hash(find(first + 4136, false)),
		 lock_name_hash(find(second + 40, false)));
	CHECK(!lock_name_is_same(find(first + 4136, false), find(second + 48, false)));
	CHECK(!lock_name_is_same(find(first + 4136, true), find(second + 40, true)));
	CHECK_EQ(find(first + 4136, false)->pid, 0);
	CHECK_EQ(find(first + 4136, true)->pid, getpid());
	snprintf(expected, sizeof(expected), "%s+0x1028", path);
	CHECK_NAME(find(second + 40, false), "mutex", expected);
	munmap(first, 8192);
	munmap(second, 4096);
	close(fd);
	unlink(path);
}

TEST(processes_have_locks_of_their_own)
{
	pid_t child = start_child();

	CHECK(find(&known_lock, true) !=
	      lock_names_find(names, child, 1, (uintptr_t)&known_lock, true));
	CHECK_NAME(lock_names_find(names, child, 1, (uintptr_t)&known_lock, true), "mutex",
		   "lock_names_test:known_lock");
	end_child(child);
}

TEST(what_is_gone_is_an_address)
{
	pid_t child = start_child();

	end_child(child);
	CHECK_NAME(lock_names_find(names, child, 1, 0x1230, true), "mutex", "0x1230");
}

TEST(locks_of_the_kernel_have_a_symbol_or_a_function)
{
	struct lock_name *lock;
	char *mark;

	lock = lock_names_find_kernels(names, 0xffffffff81000010);
	CHECK_NAME(lock, "mutex", "0xffffffff81000010");
	lock->function = strdup("pipe_write");
	CHECK_NAME(lock, "mutex", "in pipe_write 0xffffffff81000010");
	mark = lock_name_mark(lock, "mutex");
	CHECK_STR(mark, "[mutex in pipe_write]");
	free(mark);
	lock->symbol = strdup("big_lock");
	lock->start = lock->vaddr = lock->addr;
	CHECK_NAME(lock, "mutex", "big_lock");
	CHECK(lock == lock_names_find_kernels(names, 0xffffffff81000010));
}

static void end_reports(int n)
{
	while (n--)
		lock_names_begin_report(names);
}

/* As where a plugin was unloaded. */
TEST(what_is_at_an_address_later_is_another_lock)
{
	char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[] = "/tmp/lock_names_test.XXXXXX", *before, *after;
	int fd = mkstemp(path);

	before = lock_name_text(find(memory, false), "mutex");
	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	CHECK(mmap(memory, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == memory);
	end_reports(2);
	after = lock_name_text(find(memory, false), "mutex"); /* in use all the time */
	CHECK_STR(after, before);
	free(after);
	end_reports(3);
	after = lock_name_text(find(memory, false), "mutex");
	CHECK_STR(after, path);
	free(before);
	free(after);
	munmap(memory, 4096);
	unlink(path);
	close(fd);
}

TEST(the_kernels_memory_may_be_another_lock_in_each_report)
{
	struct lock_name *lock;

	lock = lock_names_find_kernels(names, 0xffff888104a3c000);
	lock->function = strdup("pipe_write");
	end_reports(1);
	lock = lock_names_find_kernels(names, 0xffff888104a3c000);
	CHECK(!lock->function);
}
