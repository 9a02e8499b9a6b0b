// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the table of processes: its answers for a time after events of mostly made-up processes.
 */
#include "child.h"
#include "mapped.h"
#include "process/mapfile.h"
#include "process/processes.h"
#include "unit.h"

#define NOBODY	  (1 << 23) /* above all pids */
#define MANY	  (1 << 20)
#define SECOND_NS 1000000000ULL

static struct processes *table;

/* Instead of the usual one. */
static void limit_to(uint32_t max_mappings)
{
	processes_free(table);
	table = processes_new(&(struct processes_options){ max_mappings, false });
}

BEFORE_EACH()
{
	limit_to(MANY);
}

static char code_path[32];
static struct mapping code; /* of that file, in this process, for execution */

static void lose_file(void)
{
	if (!*code_path)
		return;
	munmap((void *)code.start, 4096);
	unlink(code_path);
	*code_path = '\0';
}

AFTER_EACH()
{
	lose_file();
	processes_free(table);
	table = NULL;
}

static void map(pid_t pid, uint64_t start, uint64_t end, ino_t ino, uint64_t time_ns)
{
	char path[32];
	struct mapping m = { .start = start, .end = end, .dev = 1, .ino = ino, .path = path };

	snprintf(path, sizeof(path), "/file%d", (int)ino);
	processes_map(table, pid, &m, time_ns);
}

/* A program that has nothing but that. */
static void run_and_map(pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	processes_exec(table, pid, time_ns);
	processes_map(table, pid, m, time_ns);
}

/* "START-END+OFFSET:INO ..." in hex, of a process at a time; "?": not known. */
static const char *state_of(pid_t pid, uint64_t time_ns)
{
	static char text[1024];
	struct maps *maps = processes_recall(table, pid, time_ns);
	int used = 0;

	if (!maps)
		return "?";
	text[0] = '\0';
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapped *m = &maps->items[i];

		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%llx-%llx+%llx:%d",
				 i ? " " : "", (unsigned long long)m->start,
				 (unsigned long long)m->end, (unsigned long long)m->offset,
				 (int)m->name->ino);
	}
	maps_release(maps);
	return text;
}

TEST(a_program_has_what_it_has_mapped_by_then)
{
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x7000, 0x8000, 2, 12);
	map(NOBODY, 0x1000, 0x3000, 1, 14);
	CHECK_STR(state_of(NOBODY, 9), "?");
	CHECK_STR(state_of(NOBODY, 11), "");
	CHECK_STR(state_of(NOBODY, 13), "7000-8000+0:2");
	CHECK_STR(state_of(NOBODY, 14), "1000-3000+0:1 7000-8000+0:2");
	CHECK_STR(state_of(NOBODY + 1, 14), "?");
}

TEST(an_exec_drops_what_was_there_but_not_for_the_time_before)
{
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x1000, 0x3000, 1, 11);
	processes_exec(table, NOBODY, 20);
	map(NOBODY, 0x1000, 0x3000, 2, 21);
	CHECK_STR(state_of(NOBODY, 19), "1000-3000+0:1");
	CHECK_STR(state_of(NOBODY, 20), "");
	CHECK_STR(state_of(NOBODY, 30), "1000-3000+0:2");
	for (uint64_t t = 40; t < 90; t += 10)
		processes_exec(table, NOBODY, t);
	CHECK_STR(state_of(NOBODY, 19), "?"); /* only the last few are kept */
}

TEST(a_child_has_what_its_parent_had_and_goes_its_own_way)
{
	pid_t parent = NOBODY, child = NOBODY + 1, grandchild = NOBODY + 2;

	processes_exec(table, parent, 10);
	map(parent, 0x1000, 0x2000, 1, 11);
	processes_fork(table, parent, child, 12);
	map(child, 0x3000, 0x4000, 3, 13);
	map(parent, 0x2000, 0x3000, 2, 13);
	processes_fork(table, parent, grandchild, 14);
	map(parent, 0x5000, 0x6000, 5, 15);
	processes_exit(table, parent, 16);
	CHECK_STR(state_of(parent, 17), "1000-2000+0:1 2000-3000+0:2 5000-6000+0:5");
	CHECK_STR(state_of(child, 17), "1000-2000+0:1 3000-4000+0:3");
	CHECK_STR(state_of(grandchild, 17), "1000-2000+0:1 2000-3000+0:2");
	processes_fork(table, NOBODY + 9, NOBODY + 10, 18);
	CHECK_STR(state_of(NOBODY + 10, 18), "?");
}

TEST(what_is_new_takes_the_place_of_what_was_there)
{
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x1000, 0x9000, 1, 11);
	map(NOBODY, 0x3000, 0x4000, 2, 12);
	CHECK_STR(state_of(NOBODY, 12), "1000-3000+0:1 3000-4000+0:2 4000-9000+3000:1");
	map(NOBODY, 0x2000, 0x5000, 3, 13);
	CHECK_STR(state_of(NOBODY, 13), "1000-2000+0:1 2000-5000+0:3 5000-9000+4000:1");
	map(NOBODY, 0, 0xa000, 4, 14);
	CHECK_STR(state_of(NOBODY, 14), "0-a000+0:4");
}

/* Events of several CPUs are not always in order. */
TEST(what_comes_late_is_put_where_it_belongs)
{
	processes_exec(table, NOBODY, 5);
	map(NOBODY, 0x1000, 0x2000, 1, 6);
	processes_exec(table, NOBODY + 1, 20);
	map(NOBODY + 1, 0x3000, 0x4000, 3, 21);
	processes_fork(table, NOBODY, NOBODY + 1, 10);
	CHECK_STR(state_of(NOBODY + 1, 15), "1000-2000+0:1");
	CHECK_STR(state_of(NOBODY + 1, 21), "3000-4000+0:3");
	map(NOBODY + 1, 0x5000, 0x6000, 5, 15);
	CHECK_STR(state_of(NOBODY + 1, 15), "1000-2000+0:1 5000-6000+0:5");
	CHECK_STR(state_of(NOBODY + 1, 21), "3000-4000+0:3");
	CHECK_STR(state_of(NOBODY, 21), "1000-2000+0:1");
}

static void nothing_new(uint64_t time_ns, void *arg)
{
	(void)time_ns;
	(void)arg;
}

/* A stack from before it may still be on its way. */
TEST(a_reading_does_not_forget_what_was_there_a_moment_ago)
{
	struct mapping now[] = { { .start = 0x1000, .end = 0x2000, .ino = 1, .path = (char *)"" },
				 { .start = 0x3000, .end = 0x4000, .ino = 3, .path = (char *)"" } };

	processes_exec(table, NOBODY, SECOND_NS);
	map(NOBODY, 0x1000, 0x2000, 1, SECOND_NS);
	map(NOBODY, 0x3000, 0x4000, 2, 2 * SECOND_NS);
	map(NOBODY, 0x3000, 0x4000, 3, 3 * SECOND_NS);
	map(NOBODY, 0x3000, 0x4000, 4, 4 * SECOND_NS - 2);
	map(NOBODY, 0x3000, 0x4000, 3, 4 * SECOND_NS - 1);
	processes_set(table, NOBODY, &(struct mappings){ now, 2 }, 4 * SECOND_NS);
	CHECK_STR(state_of(NOBODY, 4 * SECOND_NS), "1000-2000+0:1 3000-4000+0:3");
	CHECK_STR(state_of(NOBODY, 4 * SECOND_NS - 2), "1000-2000+0:1 3000-4000+0:4");
}

static ino_t look_inode(uint64_t time_ns)
{
	struct maps *maps = processes_look(table, NOBODY, 0, time_ns);
	ino_t ino = maps_find(maps, 0x3000)->name->ino;

	maps_release(maps);
	return ino;
}

TEST(a_look_at_an_earlier_time_finds_what_was_there_then)
{
	processes_on_ask(table, nothing_new, NULL);
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x3000, 0x4000, 2, 11);
	map(NOBODY, 0x3000, 0x4000, 3, 20);
	CHECK_EQ(look_inode(25), 3);
	CHECK_EQ(look_inode(15), 2);
	CHECK_EQ(look_inode(20), 3);
}

TEST(equal_states_have_equal_names)
{
	uint64_t first;

	CHECK_EQ(processes_state(table, NOBODY, 10), 0);
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x1000, 0x2000, 1, 11);
	first = processes_state(table, NOBODY, 12);
	CHECK(first != 0);
	CHECK_EQ(processes_state(table, NOBODY, 19), first);
	map(NOBODY, 0x2000, 0x3000, 2, 20);
	CHECK_EQ(processes_state(table, NOBODY, 19), first);
	CHECK(processes_state(table, NOBODY, 20) != first);
}

TEST(lost_events_mean_that_nothing_is_known)
{
	processes_exec(table, NOBODY, 10);
	processes_fork(table, NOBODY, NOBODY + 1, 11);
	processes_exit(table, NOBODY, 12);
	processes_clear(table);
	CHECK_STR(state_of(NOBODY, 12), "?");
	CHECK_STR(state_of(NOBODY + 1, 12), "?");
	CHECK_EQ(processes_stats(table).n_dropped, 0);
}

/* This process lives on; /proc is asked. */
TEST(after_a_loss_a_main_thread_that_ends_is_not_yet_its_process)
{
	processes_exec(table, getpid(), 10);
	processes_thread(table, getpid());
	processes_clear(table);
	CHECK(!processes_exit_thread(table, getpid(), getpid(), 11));
	CHECK(processes_is_leaderless(table, getpid()));
	processes_clear(table);
	CHECK(processes_is_leaderless(table, getpid()));
	CHECK(!processes_has_exited(table, getpid()));
}

TEST(after_a_loss_an_ended_process_does_not_live_again)
{
	struct maps *maps;

	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x1000, 0x2000, 1, 11);
	maps = processes_recall(table, NOBODY, 12);
	processes_publish(table, NOBODY, maps);
	maps_release(maps);
	processes_exit(table, NOBODY, 13);
	processes_clear(table);
	CHECK(processes_has_exited(table, NOBODY));
	processes_publish(table, NOBODY, NULL);
	CHECK_EQ(processes_stats(table).n_processes, 0);
}

TEST(whoever_ended_first_is_forgotten_first_and_counted)
{
	uint64_t now_ns = clock_now_ns();

	limit_to(30);
	for (pid_t pid = NOBODY; pid < NOBODY + 20; pid++) {
		processes_exec(table, pid, now_ns);
		for (uint64_t i = 1; i <= 3; i++)
			map(pid, i << 12, (i + 1) << 12, (ino_t)i, now_ns);
		if (pid != NOBODY)
			processes_exit(table, pid, now_ns);
	}
	CHECK_STR(state_of(NOBODY, now_ns), "1000-2000+0:1 2000-3000+0:2 3000-4000+0:3");
	CHECK_STR(state_of(NOBODY + 2, now_ns), "?");
	CHECK_STR(state_of(NOBODY + 19, now_ns), "1000-2000+0:1 2000-3000+0:2 3000-4000+0:3");
	CHECK(processes_stats(table).n_dropped >= 9 && processes_stats(table).n_dropped <= 12);
}

/* All that counts is that the living stay below the limit, too. */
TEST(a_process_that_does_not_fit_is_forgotten_and_counted)
{
	limit_to(8);
	processes_exec(table, NOBODY, 10);
	for (uint64_t i = 1; i <= 20; i++)
		map(NOBODY, i << 12, (i + 1) << 12, 1, 10 + i);
	CHECK_STR(state_of(NOBODY, 40), "?");
	CHECK_EQ(processes_stats(table).n_dropped, 1);
}

TEST(those_who_ended_long_ago_are_forgotten_without_a_word)
{
	processes_exec(table, NOBODY, 10);
	processes_exit(table, NOBODY, 20);
	processes_exec(table, NOBODY + 1, 30);
	processes_exit(table, NOBODY + 1, 20 * SECOND_NS);
	CHECK_STR(state_of(NOBODY, 20), "?");
	CHECK_STR(state_of(NOBODY + 1, 30), "");
	CHECK(processes_has_exited(table, NOBODY + 1));
	CHECK_EQ(processes_stats(table).n_dropped, 0);
	processes_exec(table, NOBODY + 1, 21 * SECOND_NS); /* the pid is another one's */
	CHECK(!processes_has_exited(table, NOBODY + 1));
}

TEST(only_the_known_and_their_children_are_put_down_if_asked_so)
{
	struct mappings none = {};

	processes_free(table);
	table = processes_new(&(struct processes_options){ MANY, true });
	processes_exec(table, NOBODY, 10);
	map(NOBODY, 0x1000, 0x2000, 1, 11);
	CHECK_STR(state_of(NOBODY, 12), "?");
	processes_set(table, NOBODY, &none, 13);
	processes_fork(table, NOBODY, NOBODY + 1, 14);
	processes_exec(table, NOBODY + 1, 15);
	CHECK_STR(state_of(NOBODY + 1, 16), "");
}

/* The mapping of this function in a process, with the inode that the table or /proc has for it. */
static ino_t read_inode(pid_t pid, uint64_t time_ns)
{
	struct maps *maps = processes_read(table, pid, time_ns);
	const struct mapped *m = maps ? maps_find(maps, (uintptr_t)read_inode) : NULL;
	ino_t ino = m ? m->name->ino : 0;

	maps_release(maps);
	return ino;
}

/* Tells of a mapping of it that has another inode. */
static void map_here(pid_t pid, ino_t ino, uint64_t time_ns)
{
	uint64_t page = (uintptr_t)read_inode & ~0xfffULL;

	map(pid, page, page + 0x1000, ino, time_ns);
}

static ino_t own_inode(void)
{
	struct mappings maps;
	ino_t ino;

	CHECK_EQ(mappings_read(&maps, getpid()), 0);
	ino = mappings_find(&maps, (uintptr_t)read_inode)->ino;
	mappings_free(&maps);
	return ino;
}

/* ---- files ---- */

/* By its path it is taken only if it is older than its mapping, by a tick of the clock of files. */
static void map_new_file(void)
{
	struct stat st;
	int fd;
	char *at;

	strcpy(code_path, "/tmp/processes-test-XXXXXX");
	fd = mkostemp(code_path, O_CLOEXEC);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	wait_for_tick();
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	code = (struct mapping){ .start = (uintptr_t)at,
				 .end = (uintptr_t)at + 4096,
				 .dev = st.st_dev,
				 .ino = st.st_ino,
				 .path = code_path };
}

/* As an event may tell it of overlayfs: with another device. False: that is not possible here. */
static bool map_elsewhere(void)
{
	struct mappings maps;
	const struct mapping *m;
	bool is_known;

	map_new_file();
	CHECK_EQ(mappings_read(&maps, getpid()), 0);
	m = mappings_find(&maps, code.start);
	is_known = m && m->dev == code.dev;
	mappings_free(&maps);
	code.dev++;
	return is_known && can_use_map_files(&code);
}

static void count_open(struct file *file, void *arg)
{
	*(int *)arg += file->fd >= 0;
}

static int count_met(pid_t pid)
{
	int n = 0;

	processes_preload_files(table, pid, count_open, &n);
	return n;
}

/* Returns true if the file of the process's first mapping is open. */
static bool has_open_file(pid_t pid, uint64_t time_ns)
{
	struct maps *maps = processes_recall(table, pid, time_ns);
	struct file *file = maps && maps->count ? mapped_file(maps, &maps->items[0], pid) : NULL;
	bool is_open = file && file->fd >= 0;

	maps_release(maps);
	return is_open;
}

/* A file that was opened early is readable when no process has it any more. */
TEST(files_are_met_once_and_stay_open)
{
	uint64_t now_ns;

	map_new_file();
	now_ns = clock_now_ns();
	processes_exec(table, getpid(), now_ns);
	CHECK_EQ(count_met(getpid()), 0);
	processes_map(table, getpid(), &code, now_ns + 1);
	CHECK_EQ(count_met(getpid()), 1);
	CHECK_EQ(count_met(getpid()), 0);
	processes_fork(table, getpid(), NOBODY, now_ns + 2);
	CHECK_EQ(count_met(NOBODY), 0);
	lose_file();
	run_and_map(NOBODY, &code, now_ns + 4);
	CHECK_EQ(count_met(NOBODY), 1);
	CHECK(has_open_file(NOBODY, now_ns + 5));
}

/* All but the device must be as it is mapped. */
TEST(a_file_of_another_device_is_known_by_its_mapping)
{
	uint64_t now_ns = clock_now_ns();
	char other[] = "/tmp/other";
	struct mapping wrong[2];

	if (!map_elsewhere())
		SKIP("no map_files, or stat(2) has another device");
	wrong[0] = wrong[1] = code;
	wrong[0].path = other;
	wrong[1].ino++;
	for (int i = 0; i < 2; i++) {
		run_and_map(getpid(), &wrong[i], now_ns);
		CHECK_EQ(count_met(getpid()), 0);
	}
	run_and_map(getpid(), &code, now_ns);
	CHECK_EQ(count_met(getpid()), 1);
}

/* Another one by that name, as in a snapshot of a subvolume of btrfs, may be another file. */
TEST(a_file_of_another_device_stays_with_who_had_it)
{
	uint64_t now_ns = clock_now_ns();
	pid_t child = NOBODY, other = NOBODY + 1;

	if (!map_elsewhere())
		SKIP("no map_files, or stat(2) has another device");
	run_and_map(getpid(), &code, now_ns);
	CHECK_EQ(count_met(getpid()), 1);
	processes_fork(table, getpid(), child, now_ns + 2);
	map(child, 0x1000, 0x2000, 1, now_ns + 3);
	run_and_map(other, &code, now_ns + 3);
	lose_file();
	CHECK_EQ(count_met(other), 0);
	CHECK(!has_open_file(other, now_ns + 3));
	CHECK(has_open_file(child, now_ns + 2));
	CHECK(has_open_file(getpid(), now_ns + 3));
}

/* As root may have to read it: a process of the file's user copies it. */
TEST(a_mapped_file_can_be_copied)
{
	char bytes[6] = "";
	struct stat st;
	int fd, pin_fd;

	map_new_file();
	fd = open(code_path, O_WRONLY | O_CLOEXEC);
	CHECK_EQ(write(fd, "known", 5), 5);
	close(fd);
	CHECK_EQ(mapfile_copy(getpid(), &code, 4095, &st, &pin_fd),
		 can_use_map_files(&code) ? -EFBIG : -EACCES);
	CHECK_EQ(pin_fd, -1);
	if (!can_use_map_files(&code))
		SKIP("no map_files");
	fd = mapfile_copy(getpid(), &code, 4096, &st, &pin_fd);
	CHECK_EQ(pread(fd, bytes, 5, 0), 5);
	CHECK_STR(bytes, "known");
	CHECK_EQ(lseek(fd, 0, SEEK_END), 4096);
	CHECK_EQ(st.st_ino, code.ino);
	close(fd);
	close(pin_fd);
	code.ino++;
	CHECK_EQ(mapfile_copy(getpid(), &code, 4096, &st, &pin_fd), -ESTALE);
}

TEST(descriptors_of_a_process_are_closed_with_it)
{
	uint64_t now_ns = clock_now_ns();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	map_new_file();
	run_and_map(NOBODY, &code, now_ns);
	processes_find(table, NOBODY)->perf_map_fd = fd;
	processes_exit(table, NOBODY, now_ns + 1);
	processes_clear(table);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(a_mapping_has_its_file_for_as_long_as_it_is_known)
{
	char path[] = "/file";
	struct file file = {};
	struct mapping m = { 0x1000, 0x2000, .dev = 1, .ino = 1, .path = path, .file = &file };

	processes_exec(table, NOBODY, 10);
	processes_map(table, NOBODY, &m, 11);
	processes_fork(table, NOBODY, NOBODY + 1, 12);
	CHECK_EQ(file.n_users, 1); /* they share it */
	processes_clear(table);
	CHECK_EQ(file.n_users, 0);
}

static void set_expensive(struct file *file, void *arg)
{
	(void)arg;
	file->parts[FILE_ROWS].is_expensive = true;
}

TEST(a_dear_file_is_kept_for_longer)
{
	unsigned int n = 0;

	map_new_file();
	run_and_map(getpid(), &code, clock_now_ns());
	processes_preload_files(table, getpid(), set_expensive, NULL);
	processes_clear(table);
	for (; processes_stats(table).n_files && n < 100; n++)
		processes_age(table, n + 1);
	CHECK_EQ(n, 40);
}

TEST(a_file_goes_when_it_was_not_used_for_a_while)
{
	uint32_t epoch = 0;

	map_new_file();
	for (int round = 0; round < 2; round++) {
		run_and_map(getpid(), &code, clock_now_ns());
		CHECK_EQ(count_met(getpid()), 1);
		for (int i = 0; i < 2; i++)
			processes_age(table, ++epoch);
		CHECK_EQ(processes_stats(table).n_files, 1);
		processes_clear(table);
		processes_age(table, ++epoch);
		CHECK_EQ(processes_stats(table).n_files, 1);
	}
	processes_age(table, ++epoch);
	CHECK_EQ(processes_stats(table).n_files, 0);
}

TEST(a_process_that_has_settled_is_asked_itself)
{
	uint64_t begin_ns = clock_now_ns(), now_ns;
	pid_t child = start_child();
	ino_t ino = own_inode(), young;

	CHECK(ino);
	processes_exec(table, child, begin_ns - SECOND_NS);
	map_here(child, 7, begin_ns - SECOND_NS);
	CHECK_EQ(read_inode(child, begin_ns), ino);
	do { /* a slower round proves nothing: a process is young for 100 ms */
		now_ns = clock_now_ns();
		processes_exec(table, child, now_ns);
		map_here(child, 8, now_ns);
		young = read_inode(child, now_ns);
	} while (clock_now_ns() - now_ns > SECOND_NS / 20);
	CHECK_EQ(young, 8);			      /* has just begun */
	CHECK_EQ(read_inode(child, begin_ns - 1), 7); /* was something else then */
	end_child(child);
}

/* If events report all changes, a read is valid for 100 ms. A slower round proves nothing. */
TEST(a_process_that_was_just_read_is_not_read_again)
{
	uint64_t begin_ns = clock_now_ns();
	pid_t child = start_child();
	ino_t inode;

	processes_on_ask(table, nothing_new, NULL);
	processes_exec(table, child, begin_ns - SECOND_NS);
	map_here(child, 7, begin_ns - SECOND_NS);
	do {
		usleep(150000);
		begin_ns = clock_now_ns();
		CHECK_EQ(read_inode(child, begin_ns), own_inode());
		map_here(child, 8, clock_now_ns());
		inode = read_inode(child, clock_now_ns());
	} while (clock_now_ns() - begin_ns > SECOND_NS / 20);
	CHECK_EQ(inode, 8);
	usleep(150000);
	CHECK_EQ(read_inode(child, clock_now_ns()), own_inode());
	end_child(child);
}

static void read_and_publish(pid_t pid)
{
	struct maps *maps = processes_read(table, pid, clock_now_ns());

	CHECK(maps);
	processes_publish(table, pid, maps);
	maps_release(maps);
}

/* Nothing is kept that it could be known by. */
TEST(a_process_that_has_no_room_is_read_each_time_and_counted_once)
{
	pid_t child = start_child();

	limit_to(1);
	processes_on_ask(table, nothing_new, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(read_inode(child, clock_now_ns()), own_inode());
	read_and_publish(child);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(read_inode(child, clock_now_ns()), own_inode());
	CHECK_EQ(processes_stats(table).n_dropped, 1);
	end_child(child);
}

TEST(a_process_that_was_just_read_is_read_again_after_a_loss)
{
	pid_t child = start_child();

	processes_on_ask(table, nothing_new, NULL);
	read_and_publish(child);
	processes_clear(table);
	CHECK_EQ(read_inode(child, clock_now_ns()), own_inode());
	end_child(child);
}

/* As after a loss: its exec is the first that is known of it. */
TEST(what_a_process_maps_is_not_what_it_mapped_before_its_exec)
{
	uint64_t now_ns = clock_now_ns();
	pid_t child = start_child();

	processes_exec(table, child, now_ns);
	CHECK_EQ(read_inode(child, now_ns - 1), 0);
	end_child(child);
	child = start_child();
	CHECK_EQ(read_inode(child, now_ns - 1), own_inode()); /* there all the time */
	CHECK_EQ(read_inode(child, now_ns - 1), own_inode());
	processes_exec(table, child, clock_now_ns());
	CHECK_EQ(read_inode(child, now_ns - 1), 0);
	end_child(child);
}

TEST(of_a_process_that_is_gone_the_log_tells)
{
	uint64_t now_ns = clock_now_ns();
	pid_t child = start_child();

	CHECK(read_inode(child, now_ns)); /* and it is in the log from now on */
	end_child(child);
	CHECK(read_inode(child, clock_now_ns()) == own_inode());
	processes_exec(table, child,
		       now_ns - SECOND_NS); /* long ago, and its end is not told yet */
	map_here(child, 7, now_ns - SECOND_NS);
	CHECK_EQ(read_inode(child, now_ns - 1), 7);
}
