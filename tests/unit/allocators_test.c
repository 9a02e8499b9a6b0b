// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of allocating functions, and the search for them in this very process and in copies of it.
 */
#include <elf.h>

#include "elf/elf64.h"
#include "folder.h"
#include "memleak/allocators.h"
#include "../symbols/image.h"
#include "self.h"
#include "silent.h"
#include "unit.h"

void *my_malloc(size_t bytes);
void *placement_new(size_t bytes, void *p) __asm__("_ZnwmPv");

/* Found by their names: of an allocator of its own, and of placement new, which is none. */
__attribute__((noinline, used)) void *my_malloc(size_t bytes)
{
	__asm__ volatile("");
	return (void *)(bytes + 1);
}

__attribute__((noinline, used)) static void je_free(void *p)
{
	__asm__ volatile("" : : "r"(p));
}

__attribute__((noinline, used)) void *placement_new(size_t bytes, void *p)
{
	__asm__ volatile("" : : "r"(bytes));
	return p;
}

__attribute__((noinline, used)) static void cfree(void *p)
{
	__asm__ volatile("" : : "r"(p), "r"(1));
}

static struct allocators a;

AFTER_EACH()
{
	allocators_free(&a);
}

static const struct alloc_function *find(const char *name)
{
	for (size_t i = 0; i < a.n_functions; i++)
		if (!strcmp(a.functions[i].name, name))
			return &a.functions[i];
	return NULL;
}

static const struct {
	const char *name, *prefix; /* prefix: of one's own, in place of those that are known */
	bool is_local;
	int kind;
} known[] = {
	{ "malloc", NULL, false, ALLOC_MALLOC },
	{ "malloc@@GLIBC_2.2.5", NULL, false, ALLOC_MALLOC },
	{ "__libc_memalign", NULL, false, ALLOC_MEMALIGN },
	{ "aligned_alloc", NULL, false, ALLOC_MEMALIGN },
	{ "je_posix_memalign", NULL, false, ALLOC_POSIX_MEMALIGN },
	{ "_rjem_sdallocx", NULL, false, ALLOC_FREE },
	{ "tc_newarray", NULL, false, ALLOC_NEW },
	{ "mi_zalloc", NULL, false, ALLOC_MALLOC },
	{ "mi_realloc_aligned_at", NULL, false, ALLOC_REALLOC },
	{ "mi_expand", NULL, false, ALLOC_REALLOC },
	{ "xallocx", NULL, false, -1 }, /* returns a size */
	{ "mi_heap_malloc", NULL, false,
	  -1 }, /* mi_heap_destroy() frees without a call per block */
	{ "_ZdaPvmSt11align_val_t", NULL, false, ALLOC_DELETE },
	{ "mmap64", NULL, false, ALLOC_MMAP },
	{ "malloc_usable_size", NULL, false, -1 },
	{ "mallo", NULL, false, -1 },
	{ "", NULL, false, -1 },
	{ "@", NULL, false, -1 },
	{ "new", NULL, false, -1 },
	{ "zalloc", NULL, false, -1 },
	{ "_ZnwmPv", NULL, false, -1 },
	{ "_ZN3FoonwEm", NULL, false, -1 },
	{ "mi_", NULL, false, -1 },
	{ "free", NULL, true, -1 }, /* a local name counts only with a prefix */
	{ "_Znwm", NULL, true, -1 },
	{ "je_free", NULL, true, ALLOC_FREE },
	{ "my_malloc", "my_", false, ALLOC_MALLOC },
	{ "my_new", "my_", true, ALLOC_NEW },
	{ "malloc", "my_", false, -1 },
	{ "je_malloc", "my_", false, -1 },
	{ "my_", "my_", false, -1 },
};

TEST(knows_names)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		CHECK_CASE(known[i].name,
			   alloc_kind_of(known[i].name, known[i].prefix, known[i].is_local),
			   known[i].kind);
}

TEST(finds_the_allocators_of_a_process)
{
	struct allocators_request request = { .object = "/proc/self/exe" };
	int n;

	CHECK(je_free != cfree);
	n = allocators_scan(&a, getpid(), &request);
	CHECK(n > 0);
	CHECK(find("je_free"));
	CHECK(!find("_ZnwmPv"));
	CHECK(!find("cfree")); /* local */
	CHECK(!find("my_malloc"));
	CHECK_EQ(allocators_scan(&a, getpid(), &request), 0);
	allocators_free(&a);
	request = (struct allocators_request){ 0 };
	n = allocators_scan(&a, getpid(), &request);
	CHECK(n > 0);
	CHECK(find("je_free"));
	CHECK(find("malloc"));
	CHECK(find("munmap"));
	CHECK_EQ(allocators_scan(&a, getpid(), &request), 0);
}

/* The bytes at the offset are the function's. */
TEST(offsets_lead_to_the_functions)
{
	struct allocators_request request = { .prefix = "my_" };
	const struct alloc_function *f;
	uint8_t code[4] = { 0 };

	CHECK_EQ(allocators_scan(&a, getpid(), &request), 1);
	f = find("my_malloc");
	CHECK(f);
	if (f) {
		CHECK_EQ(f->kind, ALLOC_MALLOC);
		CHECK(f->bytes > 0);
		CHECK_EQ(pread(a.files[f->file].fd, code, sizeof(code), (off_t)f->offset),
			 sizeof(code));
		CHECK(!memcmp(code, (const void *)my_malloc, sizeof(code)));
	}
}

TEST(each_function_comes_once)
{
	struct allocators_request request = { 0 };
	size_t twice = 0;

	allocators_scan(&a, getpid(), &request);
	for (size_t i = 0; i < a.n_functions; i++)
		for (size_t j = 0; j < i; j++)
			twice += a.functions[i].file == a.functions[j].file &&
				 a.functions[i].offset == a.functions[j].offset;
	CHECK_EQ(twice, 0);
}

TEST(leaves_mappings_out_if_told_so)
{
	struct allocators_request request = { .without_mmap = true };

	allocators_scan(&a, getpid(), &request);
	CHECK(!find("mmap"));
	CHECK(!find("munmap"));
	CHECK(!find("mremap"));
	CHECK(a.n_functions > 0);
}

TEST(an_object_that_is_not_there_is_an_error)
{
	struct allocators_request request = { .object = "libnotthere" };

	CHECK_EQ(allocators_scan(&a, getpid(), &request), -ENOENT);
	request.object = "/not/there";
	CHECK_EQ(allocators_scan(&a, getpid(), &request), -ENOENT);
	request.object = "/dev/null";
	CHECK_EQ(allocators_scan(&a, getpid(), &request), -ENOENT);
	request.object = NULL;
	CHECK_EQ(allocators_scan(&a, 1 << 30, &request), -ESRCH);
}

/* By its base name, as far as it is given. */
TEST(an_object_can_be_named_in_short)
{
	struct allocators_request request = { .object = "libc" };

	if (allocators_scan(&a, getpid(), &request) == -ENOENT)
		SKIP("this program is static");
	CHECK(find("malloc"));
	CHECK(!find("je_free"));
}

/* A copy of this program, said to be for that machine. */
static int copy_for(Elf64_Half machine)
{
	size_t size;
	uint8_t *copy = read_self(&size);

	((Elf64_Ehdr *)copy)->e_machine = machine;
	return memory_file(copy, size);
}

static int scan_copy(Elf64_Half machine)
{
	char path[32];
	struct allocators_request request = { .object = path };
	int fd = copy_for(machine), n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = allocators_scan(&a, getpid(), &request);
	allocators_free(&a);
	close(fd);
	return n;
}

/* Its code is data here, for an emulator, and a breakpoint would spoil it. */
TEST(programs_of_other_machines_are_left_alone)
{
#if defined(__x86_64__)
	CHECK(scan_copy(EM_X86_64) > 0);
	CHECK_EQ(scan_copy(EM_AARCH64), 0);
#else
	CHECK(scan_copy(EM_AARCH64) > 0);
	CHECK_EQ(scan_copy(EM_X86_64), 0);
#endif
	CHECK_EQ(scan_copy(EM_RISCV), 0);
}

/* ---- files that change, or that nobody maps ---- */

/* Writes this program, or a file without a function, where the other one was. */
static void put_into(int fd, bool is_program)
{
	static const char nothing[4096] = "nothing";

	CHECK(!ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET));
	if (is_program)
		copy_self(fd);
	else
		CHECK_EQ(write(fd, nothing, sizeof(nothing)), (ssize_t)sizeof(nothing));
	usleep(20000); /* so that it is older than what reads it */
}

static int map_and_scan(int fd)
{
	static const struct allocators_request request = { .prefix = "my_" };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	int n;

	CHECK(p != MAP_FAILED);
	n = allocators_scan(&a, getpid(), &request);
	munmap(p, 4096);
	return n;
}

/* As an inode is that is used again. */
TEST(another_file_with_the_same_inode_is_searched)
{
	int fd;

	fd = open(in_folder("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	put_into(fd, false);
	CHECK_EQ(map_and_scan(fd), 1); /* of this program itself */
	CHECK_EQ(map_and_scan(fd), 0);
	put_into(fd, true);
	CHECK_EQ(map_and_scan(fd), 1);
	CHECK_EQ(a.n_functions, 2);
	CHECK_EQ(a.n_new, 1);
	put_into(fd, false);
	CHECK_EQ(map_and_scan(fd), 0);
	CHECK_EQ(a.n_functions, 1);
	CHECK_EQ(a.functions[0].file, 0);
	close(fd);
}

static void count_one(struct alloc_file *file, void *arg)
{
	CHECK(strstr(file->path, "/file"));
	++*(int *)arg;
}

TEST(files_that_nobody_maps_are_forgotten)
{
	int fd, n_left = 0;
	size_t n_files;

	fd = open(in_folder("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	put_into(fd, true);
	CHECK_EQ(map_and_scan(fd), 2);
	n_files = a.n_files;
	allocators_mark(&a, getpid());
	CHECK(allocators_release(&a, count_one, &n_left)); /* it may still come back */
	CHECK_EQ(map_and_scan(fd), 0);
	allocators_mark(&a, getpid());
	CHECK(allocators_release(&a, count_one, &n_left)); /* as it has */
	CHECK_EQ(n_left, 0);
	allocators_mark(&a, getpid());
	CHECK(!allocators_release(&a, count_one, &n_left));
	CHECK_EQ(n_left, 1);
	CHECK_EQ(a.n_files, n_files - 1);
	CHECK_EQ(a.n_functions, 1);
	CHECK_EQ(map_and_scan(fd), 1);
	close(fd);
}

/* ---- a file that was made to have ever more of them ---- */

#define MANY 20000

TEST(a_file_has_a_bounded_number_of_them)
{
	static Elf64_Sym symbols[MANY];
	static const char code[MANY];
	const struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, 0x1000, code, sizeof(code), 0 },
		{ ".symtab", SHT_SYMTAB, 0, 0, symbols, sizeof(symbols), 3 },
		{ ".strtab", SHT_STRTAB, 0, 0, "\0free", 6, 0 },
	};
	size_t size, n = 0;
	uint8_t *image;
	int fd;
	char path[32];
	struct allocators_request request = { .object = path };

	for (size_t i = 0; i < MANY; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
					  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					  .st_shndx = 1,
					  .st_value = 0x1000 + i };
	image = until_end(image_make(sections, ARRAY_SIZE(sections), elf64_own_machine(), &size));
	fd = memory_file(image, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SAID(n = (size_t)allocators_scan(&a, getpid(), &request));
	CHECK(n >= 100 && n < 1000);
	CHECK_EQ(a.functions[1].offset, a.functions[0].offset + 1);
	close(fd);
}
