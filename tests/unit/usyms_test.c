// SPDX-License-Identifier: GPL-2.0-only
/*
 * User symbols, with real processes: children that map copies of this program, which are then
 * replaced, deleted or overwritten. A name must be right or absent, with and without the right to
 * use /proc/PID/map_files.
 */
#include <dlfcn.h>
#include <elf.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "elf/elffile.h"
#include "process/procmaps.h"
#include "symbols/usyms.h"
#include "child.h"
#include "folder.h"
#include "mapped.h"
#include "silent.h"
#include "self.h"
#include "unit.h"

__attribute__((noinline)) static int known_function(int x)
{
	static volatile int sum;

	for (int i = 0; i < x; i++)
		sum += i;
	return sum;
}

static int (*volatile call_known)(int) = known_function;

static uint64_t known_addr(void)
{
	return (uintptr_t)call_known;
}

/* The mapping of this program that holds known_function(). */
static struct mapping self_text(void)
{
	struct mappings maps;
	struct mapping text = { 0 };
	const struct mapping *m;

	mappings_read(&maps, getpid());
	m = mappings_find(&maps, known_addr());
	if (m)
		text = *m;
	else
		UNIT_FAIL("this program is not mapped");
	mappings_free(&maps);
	text.path = NULL;
	return text;
}

static int make_copy(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC);

	copy_self(fd);
	wait_for_tick();
	return fd;
}

/* Maps fd, a copy, as this program is mapped. Returns the address of known_function() there. */
static uint64_t map_text(int fd)
{
	struct mapping text = self_text();
	char *at = mmap(NULL, text.end - text.start, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			text.offset);

	if (at == MAP_FAILED)
		UNIT_FAIL("cannot map");
	return (uintptr_t)at + (known_addr() - text.start);
}

static void unmap_text(uint64_t addr)
{
	struct mapping text = self_text();

	munmap((void *)(uintptr_t)(addr - (known_addr() - text.start)), text.end - text.start);
}

/* Each with a table of processes of its own. */
static struct {
	struct usyms *us;
	struct processes *table;
} opened[4];

static struct usyms *open_usyms(const struct dso_options *options)
{
	static const struct processes_options unfed = { .max_mappings = 1 << 16 };
	size_t i = 0;

	while (opened[i].us)
		i++;
	opened[i].table = processes_new(&unfed);
	return opened[i].us = usyms_new(opened[i].table, options);
}

static size_t index_of(const struct usyms *us)
{
	size_t i = 0;

	while (opened[i].us != us)
		i++;
	return i;
}

static struct processes *table_of(const struct usyms *us)
{
	return opened[index_of(us)].table;
}

static void close_usyms(struct usyms *us)
{
	size_t i = index_of(us);

	usyms_free(us);
	processes_free(opened[i].table);
	opened[i].us = NULL;
}

/* Copies of this program's code, mapped until the test ends. */
static struct copy {
	char path[32];
	int fd;
	uint64_t addr; /* of known_function() in it */
} copies[2];

static size_t n_copies;

static struct copy *map_copy(void)
{
	struct copy *c = &copies[n_copies++];

	strcpy(c->path, "/tmp/usyms-test-XXXXXX");
	c->fd = make_copy(c->path);
	c->addr = map_text(c->fd);
	return c;
}

static void lose_copy(struct copy *c)
{
	if (c->addr)
		unmap_text(c->addr);
	c->addr = 0;
	close(c->fd);
	unlink(c->path);
}

static struct usyms *plain; /* without options */

BEFORE_EACH()
{
	plain = open_usyms(NULL);
}

AFTER_EACH()
{
	for (size_t i = 0; i < ARRAY_SIZE(opened); i++)
		if (opened[i].us)
			close_usyms(opened[i].us);
	while (n_copies)
		lose_copy(&copies[--n_copies]);
}

static struct location locate(struct usyms *us, pid_t pid, uint32_t generation, uint64_t addr)
{
	struct location loc;

	usyms_locate(us, pid, generation, 0, &addr, 1, &loc);
	return loc;
}

/* "" for none. */
static const char *name_of(struct location loc)
{
	const char *name = usyms_name(&loc, false);

	return name ? name : "";
}

#define CHECK_NAMED(where, name, file)                   \
	do {                                             \
		struct location named = (where);         \
		CHECK_STR(name_of(named), name);         \
		CHECK_STR(usyms_dso_name(&named), file); \
	} while (0)

static bool is_privileged(void)
{
	struct mapping text = self_text();

	return can_use_map_files(&text);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (syscall(SYS_capset, &header, none))
		UNIT_FAIL("cannot drop capabilities");
}

static void lose_map_files(void)
{
	drop_capabilities();
	if (is_privileged())
		UNIT_FAIL("map_files still works");
}

static void check_own_function(void)
{
	struct usyms *us = open_usyms(NULL);
	struct location loc = locate(us, getpid(), 1, known_addr());
	struct mapping text = self_text();

	CHECK_STR(name_of(loc), "known_function");
	CHECK_EQ(loc.offset, known_addr() - text.start + text.offset);
	CHECK_STR(usyms_dso_name(&loc), program_invocation_short_name);
}

TEST(names_a_function)
{
	wait_for_tick(); /* this program may just have been built */
	check_own_function();
}

TEST(names_a_function_by_path)
{
	check_apart_after(lose_map_files, check_own_function);
}

TEST(looks_return_addresses_up_inside_the_call)
{
	struct location start = locate(plain, getpid(), 1, known_addr());
	struct location next = locate(plain, getpid(), 1, known_addr() + 1);
	const char *before = usyms_name(&start, true);

	CHECK(!before || strcmp(before, "known_function"));
	CHECK_STR(usyms_name(&next, true), "known_function");
	start.offset = 0;
	CHECK(!usyms_name(&start, true));
}

TEST(shares_files_between_processes)
{
	pid_t child = start_child();

	CHECK(locate(plain, getpid(), 1, known_addr()).dso ==
	      locate(plain, child, 1, known_addr()).dso);
	end_child(child);
}

TEST(keeps_names_of_a_process_that_exits)
{
	pid_t child = start_child();
	struct location loc = locate(plain, child, 1, known_addr());

	end_child(child);
	CHECK_STR(name_of(loc), "known_function");
	processes_clear(table_of(plain));
	CHECK_STR(name_of(loc), "known_function");
	loc = locate(plain, child, 1, known_addr());
	CHECK(!loc.dso);
	CHECK(!usyms_dso_name(&loc));
	CHECK(!usyms_name(&loc, false));
}

TEST(keeps_mappings_and_opens_files_of_a_process_that_is_gone)
{
	pid_t child = start_child();

	locate(plain, child, 1, 8); /* reads the mappings, opens nothing */
	end_child(child);
	CHECK_STR(name_of(locate(plain, child, 1, known_addr())), "known_function");
	CHECK(!locate(plain, child, 1, 8).dso);
	CHECK_STR(name_of(locate(plain, child, 1, known_addr() + 1)), "known_function");
}

TEST(keeps_mappings_of_a_zombie)
{
	pid_t child = start_child();
	siginfo_t info;

	locate(plain, child, 1, known_addr());
	kill(child, SIGKILL);
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	CHECK(!locate(plain, child, 1, 8).dso);
	CHECK_STR(name_of(locate(plain, child, 1, known_addr())), "known_function");
	end_child(child);
}

/*
 * Other files under the mapped one's name, and under the name that the kernel prints for it then:
 * the right name, or, by path, none.
 */
static void check_replaced_file(void)
{
	char other[] = "/tmp/usyms-test-XXXXXX", third[] = "/tmp/usyms-test-XXXXXX", deleted[64];
	bool privileged = is_privileged();
	int fd = make_copy(other), fd2 = make_copy(third);
	struct copy *c = map_copy();
	pid_t child = start_child();
	struct usyms *us = open_usyms(NULL);

	snprintf(deleted, sizeof(deleted), "%s (deleted)", c->path);
	CHECK_EQ(rename(other, c->path), 0);
	CHECK_EQ(rename(third, deleted), 0);
	wait_for_tick();
	CHECK_NAMED(locate(us, child, 1, c->addr), privileged ? "known_function" : "",
		    c->path + strlen("/tmp/"));
	end_child(child);
	close(fd);
	close(fd2);
	unlink(deleted);
}

TEST(never_names_from_a_file_put_in_the_mapped_ones_place)
{
	check_replaced_file();
	check_apart_after(lose_map_files, check_replaced_file);
}

static void check_deleted_file(void)
{
	bool privileged = is_privileged();
	struct copy *c = map_copy();
	pid_t child = start_child();
	struct usyms *us = open_usyms(NULL);

	close(c->fd);
	unlink(c->path);
	CHECK_NAMED(locate(us, child, 1, c->addr), privileged ? "known_function" : "",
		    c->path + strlen("/tmp/"));
	end_child(child);
}

TEST(names_functions_of_a_deleted_file)
{
	check_deleted_file();
	check_apart_after(lose_map_files, check_deleted_file);
}

TEST(names_functions_of_a_file_deleted_later)
{
	struct copy *c = map_copy();
	pid_t child = start_child();
	struct location loc = locate(plain, child, 1, c->addr);

	end_child(child);
	lose_copy(c);
	CHECK_STR(name_of(loc), "known_function");
}

TEST(names_functions_of_a_memfd)
{
	bool privileged = is_privileged();
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint64_t addr;

	copy_self(fd);
	addr = map_text(fd);
	CHECK_NAMED(locate(plain, getpid(), 1, addr), privileged ? "known_function" : "",
		    privileged ? "memfd:code" : "[anon]");
	unmap_text(addr);
	close(fd);
}

/* The same inode with other contents must not be known by its former symbols. */
TEST(never_names_from_former_contents)
{
	char zeros[4096] = { 0 };
	struct copy *c = map_copy();
	struct location loc = locate(plain, getpid(), 1, c->addr);

	CHECK_STR(name_of(loc), "known_function");
	CHECK_EQ(pwrite(c->fd, zeros, sizeof(zeros), 0), sizeof(zeros));
	wait_for_tick();
	CHECK_STR(name_of(locate(plain, getpid(), 2, c->addr)), "");
}

/* ---- bounded memory ---- */

/* Two, so that each one's tables displace the other's. */
static void map_copies(void)
{
	map_copy();
	map_copy();
}

/* Another address each time: those that were asked for before need no tables. */
static void check_names(struct usyms *us, uint64_t n_bytes)
{
	for (uint64_t at = 0; at < n_bytes; at++)
		for (int i = 0; i < 2; i++)
			CHECK_STR(name_of(locate(us, getpid(), 1, copies[i].addr + at)),
				  "known_function");
}

TEST(keeps_all_tables_if_there_is_room)
{
	struct usyms *us = open_usyms(&(struct dso_options){ .max_bytes = 256 << 20 });
	uint64_t bytes;

	map_copies();
	check_names(us, 1);
	bytes = usyms_stats(us).bytes;
	check_names(us, 5);
	CHECK(bytes > 0);
	CHECK_EQ(usyms_stats(us).bytes, bytes);
	CHECK_EQ(usyms_stats(us).n_dropped, 0);
}

TEST(drops_tables_and_reads_them_again)
{
	struct usyms *us = open_usyms(&(struct dso_options){ .max_bytes = 1 });
	struct usyms *one = open_usyms(NULL);

	map_copies();
	name_of(locate(one, getpid(), 1, copies[0].addr));
	check_names(us, 5);
	CHECK_EQ(usyms_stats(us).n_dropped, 2 * 5 - 1);
	CHECK_EQ(usyms_stats(us).bytes, usyms_stats(one).bytes);
	check_names(us, 5); /* all known by now */
	CHECK_EQ(usyms_stats(us).n_dropped, 2 * 5 - 1);
}

static uint64_t bytes_with(struct usyms *us, uint64_t addr)
{
	name_of(locate(us, getpid(), 1, addr));
	return usyms_stats(us).bytes;
}

/* There is room for both, but nobody knows before the second is there. */
TEST(room_is_made_before_tables_are_read)
{
	struct usyms *all = open_usyms(NULL), *us;
	uint64_t ours = map_copy()->addr, libc = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	uint64_t one = bytes_with(all, ours), both = bytes_with(all, libc);
	bool is_ours_larger = one >= both - one;

	us = open_usyms(&(struct dso_options){ .max_bytes = both });
	bytes_with(us, is_ours_larger ? ours : libc);
	CHECK_EQ(usyms_stats(us).n_dropped, 0);
	CHECK(bytes_with(us, is_ours_larger ? libc : ours) <= both / 2);
	CHECK_EQ(usyms_stats(us).n_dropped, 1);
}

static struct location needed;

TEST(no_table_that_is_too_large_stays_after_a_report)
{
	struct usyms *us = open_usyms(&(struct dso_options){ .max_bytes = 1 });
	struct usyms *all = open_usyms(NULL);
	struct usyms *none = open_usyms(&(struct dso_options){ .drops_all = true });

	needed = locate(us, getpid(), 1, known_addr());
	name_of(needed);
	CHECK(usyms_stats(us).bytes > 1);
	usyms_end_report(us);
	CHECK_EQ(usyms_stats(us).bytes, 0);
	CHECK_STR(name_of(needed), "known_function");
	CHECK_EQ(usyms_stats(us).bytes, 0);
	needed = locate(all, getpid(), 1, known_addr());
	name_of(needed);
	usyms_end_report(all);
	CHECK(usyms_stats(all).bytes > 1);
	needed = locate(none, getpid(), 1, known_addr());
	name_of(needed);
	CHECK(usyms_stats(none).bytes > 1);
	usyms_end_report(none);
	CHECK_EQ(usyms_stats(none).bytes, 0);
}

/* The first such file is reported. */
TEST(refuses_a_file_changed_before_it_was_read)
{
	struct copy *c = map_copy();
	struct location loc = locate(plain, getpid(), 1, c->addr);

	CHECK_EQ(pwrite(c->fd, "", 1, 9), 1);
	CHECK_HAS(SAID(CHECK_STR(name_of(loc), "")), "symbols missing: it, or its debug file");
}

TEST(never_reads_tables_again_from_changed_files)
{
	struct usyms *us = open_usyms(&(struct dso_options){ .max_bytes = 1 });
	struct location loc;

	map_copies();
	loc = locate(us, getpid(), 1, copies[0].addr + 4);
	check_names(us, 2);
	CHECK_EQ(pwrite(copies[0].fd, "", 1, 0), 1);
	SAID(CHECK_STR(name_of(loc), ""));
	CHECK_STR(usyms_dso_name(&loc), copies[0].path + strlen("/tmp/"));
}

/* Names stay in the file, also when its table is in memory; lines are as old as names. */
TEST(never_reads_names_from_changed_files)
{
	struct usyms *us =
		open_usyms(&(struct dso_options){ .max_bytes = 64 << 20, .lines = true });
	struct copy *c = map_copy();
	struct location loc = locate(us, getpid(), 1, c->addr + 4), known;
	const struct srcframe *frames;

	known = locate(us, getpid(), 1, c->addr);
	CHECK_STR(name_of(known), "known_function");
	CHECK_EQ(usyms_lines(&known, false, &frames), 1);
	CHECK_EQ(pwrite(c->fd, "", 1, 0), 1);
	SAID(CHECK_STR(name_of(loc), ""));
	CHECK_EQ(usyms_lines(&loc, false, &frames), 0);
	CHECK_STR(name_of(locate(us, getpid(), 1, c->addr)), "known_function");
}

/* Changed after the first reading, and in the second one's tick unless that comes late. */
static bool is_refused_twice(int fd, uint64_t addr)
{
	struct usyms *us = open_usyms(NULL);
	bool is_refused;

	locate(us, getpid(), 1, 8);
	CHECK_EQ(fchmod(fd, 0700), 0);
	CHECK_STR(name_of(locate(us, getpid(), 1, addr)), "");
	is_refused = !*name_of(locate(us, getpid(), 2, addr + 1));
	close_usyms(us);
	return is_refused;
}

/* By path, a file newer than the reading of the mappings could have a reused inode number. */
static void check_newer_file(void)
{
	struct copy *c = map_copy();
	int tries = 100;

	while (tries > 0 && !is_refused_twice(c->fd, c->addr))
		tries--;
	CHECK(tries > 0);
}

TEST(refuses_a_path_newer_than_the_mapping)
{
	check_apart_after(lose_map_files, check_newer_file);
}

TEST(reads_mappings_again_for_an_unknown_address)
{
	uint64_t addrs[3] = { known_addr(), 8, 0 };
	struct location locs[3];

	usyms_locate(plain, getpid(), 1, 0, addrs, 1, locs);
	addrs[2] = map_copy()->addr;
	usyms_locate(plain, getpid(), 1, 0, addrs, 3, locs);
	CHECK_STR(name_of(locs[0]), "known_function");
	CHECK(!locs[1].dso);
	CHECK_STR(name_of(locs[2]), "known_function");
	CHECK(locs[0].dso != locs[2].dso);
	CHECK(locate(plain, getpid(), 1, known_addr()).dso == locs[0].dso);
}

TEST(reads_mappings_afresh_for_a_new_generation)
{
	struct copy *c = map_copy();
	struct location loc = locate(plain, getpid(), 1, c->addr), later;
	size_t page = sysconf(_SC_PAGESIZE);
	void *at = (void *)(uintptr_t)(c->addr & -page);

	CHECK(mmap(at, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == at);
	later = locate(plain, getpid(), 2, c->addr);
	CHECK_STR(name_of(loc), "known_function");
	CHECK_STR(usyms_dso_name(&later), "[anon]");
}

TEST(knows_anonymous_memory)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *jit = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct location loc = locate(plain, getpid(), 1, (uintptr_t)jit + 5);

	CHECK_STR(usyms_dso_name(&loc), "[anon]");
	CHECK_EQ(loc.offset, (uintptr_t)jit + 5);
	CHECK(!usyms_name(&loc, false));
	munmap(jit, page);
}

TEST(names_functions_of_the_vdso)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	pid_t child = start_child();
	struct location loc = locate(plain, getpid(), 1, vdso);
	bool found = false;

	CHECK_STR(usyms_dso_name(&loc), "[vdso]");
	CHECK_EQ(loc.offset, 0);
	CHECK(loc.dso == locate(plain, child, 1, vdso).dso);
	for (; loc.offset < 8192 && !found; loc.offset += 16)
		found = strstr(name_of(loc), "clock_gettime");
	CHECK(found);
	end_child(child);
}

/* A child that has ended since, with its mappings in the table. */
static pid_t note_child(struct usyms *us, uint64_t *time_ns)
{
	struct mappings maps;
	pid_t child;

	wait_for_tick(); /* this program's change time is well before what is noted */
	child = start_child();
	CHECK_EQ(mappings_read(&maps, child), 0);
	*time_ns = clock_now_ns();
	processes_set(table_of(us), child, &maps, *time_ns);
	mappings_free(&maps);
	end_child(child);
	return child;
}

TEST(names_functions_of_a_process_that_is_gone)
{
	uint64_t addrs[] = { known_addr(), getauxval(AT_SYSINFO_EHDR), 1 }, time_ns;
	struct location locs[3];
	pid_t child = note_child(plain, &time_ns);

	usyms_locate(plain, child, 1, time_ns, addrs, 3, locs);
	CHECK_STR(name_of(locs[0]), "known_function");
	CHECK_STR(usyms_dso_name(&locs[1]), "[vdso]");
	CHECK(locs[1].dso == locate(plain, getpid(), 1, addrs[1]).dso); /* it has names, too */
	CHECK(!locs[2].dso);
}

/* Its program was replaced since: the path leads to another file, whose names would be wrong. */
TEST(does_not_name_functions_of_a_file_that_a_process_that_is_gone_did_not_map)
{
	uint64_t addr = known_addr(), time_ns;
	pid_t child = note_child(plain, &time_ns);
	struct mapping m = self_text();
	struct location loc;

	m.ino++;
	m.path = realpath("/proc/self/exe", NULL);
	processes_map(table_of(plain), child, &m, time_ns + 1);
	free(m.path);
	usyms_locate(plain, child, 1, time_ns + 1, &addr, 1, &loc);
	CHECK_NAMED(loc, "", program_invocation_short_name);
}

/* ---- debug files ---- */

/* Takes a copy of this program its table of symbols. */
static void strip(int fd)
{
	Elf64_Ehdr header;
	Elf64_Shdr sh;

	CHECK_EQ(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		off_t at = (off_t)(header.e_shoff + i * sizeof(sh));

		CHECK_EQ(pread(fd, &sh, sizeof(sh), at), sizeof(sh));
		if (sh.sh_type != SHT_SYMTAB)
			continue;
		sh.sh_type = SHT_PROGBITS;
		CHECK_EQ(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	}
	wait_for_tick();
}

/* This program, where its build-id says that its debug file is below the folder. False: no id. */
static bool add_debug_file(void)
{
	char path[64 + 2 * ELFFILE_BUILD_ID_MAX];
	int at = snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/", folder);
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	struct elffile f;
	size_t n = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!elffile_open(&f, fd)) {
		n = elffile_build_id(&f, id);
		elffile_close(&f);
	}
	close(fd);
	for (size_t i = 0; i < n; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, i ? "%02x" : "%02x/", id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	copy_self(fd);
	close(fd);
	return n > 0;
}

static void sleep_in_folder(void)
{
	if (chroot(folder))
		abort();
	sleep_for_ever();
}

static pid_t start_in_folder(void)
{
	pid_t pid = start_child_with(sleep_in_folder);
	char link[40], root[64] = "";

	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	while (strcmp(root, folder)) {
		ssize_t n = readlink(link, root, sizeof(root) - 1);

		root[n < 0 ? 0 : n] = '\0';
	}
	return pid;
}

/* The root of who is gone can't be searched, that of the next one who has the file can be. */
static void check_debug_file_of_the_next(void)
{
	struct copy *c = map_copy();
	struct location first, next;
	pid_t child;

	strip(c->fd);
	child = start_child();
	locate(plain, child, 1, 8); /* reads the mappings, opens nothing */
	end_child(child);
	first = locate(plain, child, 1, c->addr);
	CHECK_NAMED(first, "", c->path + strlen("/tmp/"));
	child = start_in_folder();
	next = locate(plain, child, 1, c->addr);
	CHECK(next.dso == first.dso);
	CHECK_STR(name_of(next), "known_function");
	CHECK_STR(name_of(first), "known_function");
	end_child(child);
}

TEST(finds_a_debug_file_in_the_root_of_a_later_process)
{
	bool can = geteuid() == 0;

	make_folder();
	can = can && add_debug_file();
	if (can)
		check_debug_file_of_the_next();
	remove_folder();
	if (!can)
		SKIP("needs root, and a build-id");
}

/* A program that is no ELF file, or a special file, has a name but no symbols. */
TEST(gives_files_without_symbols_their_name)
{
	char path[] = "/tmp/usyms-test-XXXXXX";
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = mkostemp(path, O_CLOEXEC);
	void *at;

	CHECK_EQ(ftruncate(fd, page), 0);
	at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK_NAMED(locate(plain, getpid(), 1, (uintptr_t)at), "", path + strlen("/tmp/"));
	munmap(at, page);
	at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_NAMED(locate(plain, getpid(), 2, (uintptr_t)at), "", "[anon]");
	munmap(at, page);
	close(fd);
	unlink(path);
}

/* As compilers use it that have the same memory at two addresses, of which one can be written. */
TEST(a_memfd_that_is_no_elf_file_is_memory)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = memfd_create("vmem", MFD_CLOEXEC);
	struct location loc;
	void *at;

	CHECK_EQ(ftruncate(fd, page), 0);
	at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	loc = locate(plain, getpid(), 1, (uintptr_t)at + 5);
	CHECK_NAMED(loc, "", "[anon]");
	CHECK(usyms_is_made(&loc));
	munmap(at, page);
	close(fd);
}

static void check_no_files_left(void)
{
	const struct rlimit none = { 0, 0 };
	struct usyms *us = open_usyms(NULL);
	struct location loc;

	locate(us, getpid(), 1, 8); /* reads the mappings */
	setrlimit(RLIMIT_NOFILE, &none);
	loc = locate(us, getpid(), 1, known_addr());
	CHECK_NAMED(loc, "", program_invocation_short_name);
	CHECK(locate(us, getpid(), 1, known_addr()).dso == loc.dso);
}

TEST(goes_on_without_file_descriptors)
{
	check_apart_after(lose_map_files, check_no_files_left);
}

TEST(raises_the_file_limit)
{
	struct rlimit limit, before;

	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = before.rlim_max / 2;
	setrlimit(RLIMIT_NOFILE, &limit);
	close_usyms(open_usyms(NULL));
	getrlimit(RLIMIT_NOFILE, &limit);
	CHECK_EQ(limit.rlim_cur, limit.rlim_max);
	setrlimit(RLIMIT_NOFILE, &before);
}

static size_t count_files(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Besides the mapped files', those of our root folder and of the process's. */
TEST(leaves_no_descriptors_behind)
{
	size_t before = count_files();
	struct usyms *us = open_usyms(NULL);
	struct location loc = locate(us, getpid(), 1, known_addr());

	CHECK_EQ(count_files(), before + 3);
	name_of(loc);
	CHECK_EQ(count_files(), before + 3);
	locate(us, getpid(), 2, known_addr());
	CHECK_EQ(count_files(), before + 3);
	close_usyms(us);
	CHECK_EQ(count_files(), before);
}

/* A program that comes and goes, which is the process's generation. */
static void meet_file(struct usyms *us, uint32_t generation)
{
	char path[] = "/tmp/usyms-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	void *at;

	CHECK_EQ(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	name_of(locate(us, getpid(), generation, (uintptr_t)at));
	munmap(at, 4096);
	close(fd);
	unlink(path);
}

static void name_leaving(void *arg)
{
	bool *has_left = arg;

	if (!dso_is_leaving(needed.dso))
		return;
	*has_left = true;
	CHECK_STR(name_of(needed), "known_function");
}

static bool age_if_full(uint32_t epoch)
{
	bool has_left = false;

	usyms_age(plain, epoch, name_leaving, &has_left);
	return has_left;
}

/* As in a build: all but one of them. */
TEST(lets_go_of_files_that_nobody_has)
{
	size_t before = count_files();

	needed = locate(plain, getpid(), 1, known_addr());
	dso_hold(needed.dso);
	for (uint32_t i = 0; i < 600; i++) {
		meet_file(plain, i + 2);
		age_if_full(0);
	}
	CHECK(processes_stats(table_of(plain)).n_files < 300);
	CHECK(count_files() < before + 300);
	CHECK_STR(name_of(needed), "known_function");
}

static uint64_t other_addr(void)
{
	return (uintptr_t)(void *)self_text;
}

/* No report ends: names found before stay, and the file may come back. */
TEST(names_outlive_files_that_it_closes)
{
	struct copy *c = map_copy();
	size_t before = count_files();
	bool has_left = false;
	struct location other;

	needed = locate(plain, getpid(), 1, c->addr);
	dso_hold(needed.dso);
	unmap_text(c->addr);
	for (uint32_t i = 0; i < 600; i++) {
		meet_file(plain, i + 2);
		has_left |= age_if_full(0);
	}
	CHECK(has_left);
	CHECK(count_files() < before + 300);
	CHECK_STR(name_of(needed), "known_function");
	CHECK_STR(usyms_dso_name(&needed), c->path + strlen("/tmp/"));
	c->addr = map_text(c->fd);
	other = locate(plain, getpid(), 700, c->addr - known_addr() + other_addr());
	CHECK(other.dso == needed.dso);
	CHECK_STR(name_of(other), "self_text");
}

TEST(a_file_is_closed_two_epochs_after_its_last_use)
{
	struct copy *c = map_copy();
	bool has_left = false;

	needed = locate(plain, getpid(), 1, c->addr);
	dso_hold(needed.dso);
	usyms_age(plain, 1, name_leaving, &has_left);
	unmap_text(c->addr);
	locate(plain, getpid(), 2, known_addr()); /* its mappings are read again */
	usyms_age(plain, 2, name_leaving, &has_left);
	CHECK(!has_left);
	usyms_age(plain, 3, name_leaving, &has_left);
	CHECK(has_left);
	CHECK_STR(name_of(needed), "known_function");
	c->addr = map_text(c->fd);
}

TEST(what_nobody_holds_goes_after_two_epochs)
{
	struct copy *c = map_copy();
	struct location again;
	bool has_left = false;

	needed = locate(plain, getpid(), 1, c->addr);
	unmap_text(c->addr);
	locate(plain, getpid(), 2, known_addr());
	for (uint32_t epoch = 1; epoch < 4; epoch++)
		usyms_age(plain, epoch, name_leaving, &has_left);
	CHECK(!has_left);
	CHECK_EQ(processes_stats(table_of(plain)).n_files, 1);
	c->addr = map_text(c->fd);
	again = locate(plain, getpid(), 3, c->addr);
	CHECK_STR(name_of(again), "known_function");
}
