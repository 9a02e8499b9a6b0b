// SPDX-License-Identifier: GPL-2.0-only
/* Where threads begin in musl: in code made up here, and in musl itself if it is installed. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "unit.h"
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

static struct image make(uint16_t machine)
{
	struct image m = { .header = { .e_type = ET_DYN,
				       .e_machine = machine,
				       .e_entry = TEXT,
				       .e_phoff = offsetof(struct image, load),
				       .e_phentsize = sizeof(Elf64_Phdr),
				       .e_phnum = 1 } };

	memcpy(m.header.e_ident, ELFMAG, SELFMAG);
	m.header.e_ident[EI_CLASS] = ELFCLASS64;
	m.header.e_ident[EI_DATA] = ELFDATA2LSB;
	m.header.e_ident[EI_VERSION] = EV_CURRENT;
	m.load = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = offsetof(struct image, code),
			       .p_vaddr = TEXT,
			       .p_filesz = BYTES,
			       .p_memsz = BYTES };
	return m;
}

static void put(struct image *m, size_t at, const void *bytes, size_t n)
{
	memcpy(m->code + at, bytes, n);
}

#define PUT(m, at, bytes) put(m, at, bytes, sizeof(bytes) - 1)

static struct image make_x86(void)
{
	struct image m = make(EM_X86_64);

	PUT(&m, 0, "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\1\2\3\4\x48\x83\xe4\xf0\xe8\1\2\3\4");
	PUT(&m, CLONE_AT,
	    "\x0f\x05\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0"
	    "\x3c\x0f\x05\xf4\xc3");
	PUT(&m, MAIN_AT,
	    "\xe8\1\2\3\4\x89\xef\x4c\x89\xea\x4c\x89\xe6\xff\xd3\x89\xc7\xe8\1\2\3\4");
	PUT(&m, THREAD_AT, "\x0f\x05\x48\x8b\x7b\x08\xff\x13\x48\x89\xc7\xe8\1\2\3\4");
	return m;
}

/* A function before it all has a rule, and what follows none, but for a part. */
static struct cfi_table fill(const struct image *m, uint64_t known_at, uint64_t known_end)
{
	const struct unwind_rule sp = { .kind = UNWIND_SP, .cfa_off = 24 }, gap = {};
	struct cfi_table t = {};
	struct elf64 elf;

	cfi_append(&t, TEXT - 16, &sp);
	cfi_append(&t, TEXT, &gap);
	cfi_append(&t, TEXT + known_at, &sp);
	cfi_append(&t, TEXT + known_end, &gap);
	CHECK_EQ(elf64_open_image(&elf, m, sizeof(*m)), 0);
	musl_fill_gaps(&t, &elf);
	return t;
}

static struct cfi_table fill_all(const struct image *m)
{
	return fill(m, BYTES, BYTES + 16);
}

/* Exactly these bytes have a rule of that kind. */
static bool has_kind(const struct cfi_table *t, uint64_t at, uint64_t end, int kind)
{
	bool is = cfi_find(t, TEXT + at - 1).kind != kind && cfi_find(t, TEXT + end).kind != kind;

	for (uint64_t i = at; i < end; i++)
		is &= cfi_find(t, TEXT + i).kind == kind;
	return is;
}

TEST(clone_s_child_has_no_caller)
{
	struct image m = make_x86();
	struct cfi_table t = fill_all(&m);

	CHECK(has_kind(&t, CLONE_AT, CLONE_AT + 2, UNWIND_SP));
	CHECK_EQ(cfi_find(&t, TEXT + CLONE_AT).cfa_off, 8);
	CHECK(has_kind(&t, CLONE_AT + 2, CLONE_AT + 6, UNWIND_CLONE));
	CHECK(has_kind(&t, CLONE_AT + 6, CLONE_AT + 21, UNWIND_END));
	CHECK(has_kind(&t, CLONE_AT + 21, CLONE_AT + 22, UNWIND_SP));
	CHECK_EQ(cfi_find(&t, TEXT + CLONE_AT + 21).cfa_off, 8);
	cfi_free(&t);
}

TEST(where_main_and_threads_are_called_has_no_caller)
{
	struct image m = make_x86();
	struct cfi_table t = fill_all(&m);

	CHECK(has_kind(&t, MAIN_AT + 13, MAIN_AT + 22, UNWIND_END));
	CHECK(has_kind(&t, THREAD_AT + 6, THREAD_AT + 16, UNWIND_END));
	cfi_free(&t);
}

/* A result that is handed on, as everywhere. */
TEST(code_that_only_resembles_it_stays_a_gap)
{
	struct image m = make_x86();
	struct cfi_table t;

	PUT(&m, MAIN_AT, "\x90\1\2\3\4"); /* no call before the moves */
	PUT(&m, THREAD_AT, "\x90\x90");	  /* no system call */
	PUT(&m, CLONE_AT + 4, "\x74");	  /* je */
	t = fill_all(&m);
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
	PUT(&m, MAIN_AT, "\xe8\1\2\3\4\x89\xef\x4c\x89\xea\x4c\x8b\xe6"); /* a load */
	PUT(&m, THREAD_AT, "\x0f\x05\x48\x8b\x7b\x08\x90\x90");		  /* no call */
	PUT(&m, CLONE_AT + 4, "\x75\x70");				  /* to what is no return */
	t = fill_all(&m);
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
}

TEST(other_files_are_left_alone)
{
	struct image m = make_x86();
	struct cfi_table t;

	PUT(&m, 0, "\x31\xed\x49\x89\xd1");
	t = fill_all(&m);
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
	m = make_x86();
	m.header.e_entry = TEXT + BYTES - 8;
	t = fill_all(&m);
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
}

TEST(what_has_a_rule_keeps_it)
{
	struct image m = make_x86();
	struct cfi_table t = fill(&m, MAIN_AT + 14, MAIN_AT + 15);

	CHECK_EQ(cfi_find(&t, TEXT + MAIN_AT + 14).kind, UNWIND_SP);
	CHECK_EQ(cfi_find(&t, TEXT + MAIN_AT + 13).kind, UNWIND_GAP);
	CHECK(has_kind(&t, THREAD_AT + 6, THREAD_AT + 16, UNWIND_END));
	cfi_free(&t);
}

/* Wherever the segment ends, within what is looked for too. */
TEST(a_file_cut_short_is_read_as_far_as_it_goes)
{
	struct image m = make_x86();

	for (size_t bytes = 0; bytes <= BYTES; bytes++) {
		struct cfi_table t;

		m.load.p_filesz = bytes;
		t = fill_all(&m);
		CHECK_EQ(cfi_find(&t, TEXT + THREAD_AT + 7).kind,
			 bytes < THREAD_AT + 12 ? UNWIND_GAP : UNWIND_END);
		cfi_free(&t);
	}
}

TEST(arm64_threads_begin_likewise)
{
	static const uint32_t entry[] = { 0xd280001d, 0xd280001e, 0x910003e0 },
			      clone[] = { 0xb4000040, 0xd65f03c0, 0xa8c103e1,
					  0xd63f0020, 0xd2800ba8, 0xd4000001 },
			      call[] = { 0x94000010, 0xaa1403e2, 0xaa1303e1,
					 0x2a1503e0, 0xd63f02c0, 0x94000010 };
	struct image m = make(EM_AARCH64);
	struct cfi_table t;

	put(&m, 0, entry, sizeof(entry));
	put(&m, CLONE_AT, clone, sizeof(clone));
	put(&m, MAIN_AT, call, sizeof(call));
	t = fill_all(&m);
	CHECK(has_kind(&t, CLONE_AT + 8, CLONE_AT + 24, UNWIND_END));
	CHECK(has_kind(&t, MAIN_AT + 16, MAIN_AT + 24, UNWIND_END));
	cfi_free(&t);
	put(&m, MAIN_AT + 4, "\0\0\0", 4);
	m.code[CLONE_AT + 16]++;
	t = fill_all(&m);
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
}

/* Debian's, or any other's of these versions: main(), threads, and __clone. */
TEST(musl_itself_has_all_of_them)
{
	int fd = open("/lib/ld-musl-x86_64.so.1", O_RDONLY | O_CLOEXEC);
	size_t n_clones = 0, n_ends = 0;
	struct cfi_table t;
	struct elf64 elf;

	if (fd < 0)
		SKIP("needs package musl");
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(cfi_load_elf(&t, &elf), 0);
	cfi_fill_known_gaps(&t, &elf);
	for (size_t i = 0; i < t.count; i++) {
		n_clones += cfi_row(&t, i).rule.kind == UNWIND_CLONE;
		n_ends += cfi_row(&t, i).rule.kind == UNWIND_END;
	}
	CHECK_EQ(n_clones, 1);
	CHECK_EQ(n_ends, 4); /* and the entry point */
	cfi_free(&t);
	close(fd);
}
