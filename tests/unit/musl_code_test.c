// SPDX-License-Identifier: GPL-2.0-only
/* Tests of where threads begin in musl: in code made up here, and in musl itself if installed. */
#include "../elf_header.h"
#include "rule_text.h"
#include "unwind/cfi.h"
#include "unwind/cfi_gaps.h"
#include "unwind/musl_code.h"

#define TEXT	  0x10000
#define CLONE_AT  0x80
#define MAIN_AT	  0xc0
#define THREAD_AT 0x100
#define BYTES	  0x140

/* All of it is one segment. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	uint8_t code[BYTES];
};

static struct image m;
static struct cfi_table t;

static struct image make(uint16_t machine)
{
	struct image made = { .header = elf_header(ET_DYN, machine) };

	made.header.e_entry = TEXT;
	made.header.e_phoff = offsetof(struct image, load);
	made.header.e_phnum = 1;
	made.load = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = offsetof(struct image, code),
				  .p_vaddr = TEXT,
				  .p_filesz = BYTES,
				  .p_memsz = BYTES };
	return made;
}

static void put(size_t at, const void *bytes, size_t n)
{
	memcpy(m.code + at, bytes, n);
}

#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

BEFORE_EACH()
{
	m = make(EM_X86_64);
	PUT(0, "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\1\2\3\4\x48\x83\xe4\xf0\xe8\1\2\3\4");
	PUT(CLONE_AT, "\x0f\x05\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0"
		      "\x3c\x0f\x05\xf4\xc3");
	PUT(MAIN_AT, "\xe8\1\2\3\4\x89\xef\x4c\x89\xea\x4c\x89\xe6\xff\xd3\x89\xc7\xe8\1\2\3\4");
	PUT(THREAD_AT, "\x0f\x05\x48\x8b\x7b\x08\xff\x13\x48\x89\xc7\xe8\1\2\3\4");
}

AFTER_EACH()
{
	cfi_free(&t);
}

/* A function before it all has a rule, and what follows none, but for a part. */
static void fill(uint64_t known_at, uint64_t known_end)
{
	const struct unwind_rule sp = { .kind = UNWIND_SP, .cfa_off = 24 }, gap = {};
	struct elf64 elf;

	cfi_free(&t);
	t = (struct cfi_table){};
	cfi_append(&t, TEXT - 16, &sp);
	cfi_append(&t, TEXT, &gap);
	cfi_append(&t, TEXT + known_at, &sp);
	cfi_append(&t, TEXT + known_end, &gap);
	CHECK_EQ(elf64_open_image(&elf, &m, sizeof(m)), 0);
	musl_fill_gaps(&t, &elf);
}

static void fill_all(void)
{
	fill(BYTES, BYTES + 16);
}

static const char *rows(void)
{
	return PRINTED(f, print_rows(f, &t, TEXT, BYTES + 16));
}

#define BEFORE "fffffffffffffff0 sp+24; -; "
#define CLONE  "80 sp+8; 82 clone; 86 end; 95 sp+8; 96 -; "
#define THREAD "106 end; 110 -"

/* clone's child, and where main() and functions of threads are called. */
TEST(outermost_frames_have_no_caller)
{
	fill_all();
	CHECK_STR(rows(), BEFORE CLONE "cd end; d6 -; " THREAD "; 140 sp+24");
}

/* A result that is handed on, as everywhere. */
TEST(code_that_only_resembles_it_stays_a_gap)
{
	PUT(MAIN_AT, "\x90\1\2\3\4"); /* no call before the moves */
	PUT(THREAD_AT, "\x90\x90");   /* no system call */
	PUT(CLONE_AT + 4, "\x74");    /* je */
	fill_all();
	CHECK_EQ(t.count, 4);
	PUT(MAIN_AT, "\xe8\1\2\3\4\x89\xef\x4c\x89\xea\x4c\x8b\xe6"); /* a load */
	PUT(THREAD_AT, "\x0f\x05\x48\x8b\x7b\x08\x90\x90");	      /* no call */
	PUT(CLONE_AT + 4, "\x75\x70");				      /* to what is no return */
	fill_all();
	CHECK_EQ(t.count, 4);
}

TEST(other_files_are_left_alone)
{
	PUT(0, "\x31\xed\x49\x89\xd1");
	fill_all();
	CHECK_EQ(t.count, 4);
	unit_before_each();
	m.header.e_entry = TEXT + BYTES - 8;
	fill_all();
	CHECK_EQ(t.count, 4);
}

TEST(what_has_a_rule_keeps_it)
{
	fill(MAIN_AT + 14, MAIN_AT + 15);
	CHECK_STR(rows(), BEFORE CLONE "ce sp+24; cf -; " THREAD);
}

/* Wherever the segment ends, within what is looked for too. */
TEST(a_file_cut_short_is_read_as_far_as_it_goes)
{
	for (size_t bytes = 0; bytes <= BYTES; bytes++) {
		m.load.p_filesz = bytes;
		fill_all();
		CHECK_EQ(!!strstr(rows(), THREAD), bytes >= THREAD_AT + 12);
	}
}

TEST(arm64_threads_begin_likewise)
{
	static const uint32_t entry[] = { 0xd280001d, 0xd280001e, 0x910003e0 },
			      clone[] = { 0xb4000040, 0xd65f03c0, 0xa8c103e1,
					  0xd63f0020, 0xd2800ba8, 0xd4000001 },
			      call[] = { 0x94000010, 0xaa1403e2, 0xaa1303e1,
					 0x2a1503e0, 0xd63f02c0, 0x94000010 };

	m = make(EM_AARCH64);
	put(0, entry, sizeof(entry));
	put(CLONE_AT, clone, sizeof(clone));
	put(MAIN_AT, call, sizeof(call));
	fill_all();
	CHECK_STR(rows(), BEFORE "88 end; 98 -; d0 end; d8 -; 140 sp+24");
	put(MAIN_AT + 16, call, 4); /* bl */
	m.code[CLONE_AT + 16]++;
	fill_all();
	CHECK_EQ(t.count, 4);
	put(MAIN_AT, call, sizeof(call));
	put(MAIN_AT + 4, "\0\0\0", 4);
	fill_all();
	CHECK_EQ(t.count, 4);
}

/* Debian's, or any other's of these versions: main(), threads, and __clone. */
TEST(musl_itself_has_all_of_them)
{
	int fd = open("/lib/ld-musl-x86_64.so.1", O_RDONLY | O_CLOEXEC);
	size_t n_clones = 0, n_ends = 0;
	struct elf64 elf;

	if (fd < 0)
		SKIP("needs package musl");
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(cfi_load(&t, &elf), 0);
	cfi_fill_known_gaps(&t, &elf);
	for (size_t i = 0; i < t.count; i++) {
		n_clones += cfi_row(&t, i).rule.kind == UNWIND_CLONE;
		n_ends += cfi_row(&t, i).rule.kind == UNWIND_END;
	}
	CHECK_EQ(n_clones, 1);
	CHECK_EQ(n_ends, 4); /* and the entry point */
	close(fd);
}
