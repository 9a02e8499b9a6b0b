// SPDX-License-Identifier: GPL-2.0-only
/* Executable segments: made ones, broken ones, and this very program's. */
#include <link.h>

#include "../elf_header.h"
#include "elf/elf64.h"
#include "elf/elfsegs.h"
#include "unit.h"

#define N_HEADERS 20

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[N_HEADERS];
};

static struct image m;
static struct elfsegs segs;

static struct image image_new(size_t n)
{
	struct image made = { .header = elf_header(ET_DYN, EM_X86_64) };

	made.header.e_phoff = offsetof(struct image, segments);
	made.header.e_phnum = (Elf64_Half)n;
	return made;
}

static void set_segment(size_t i, Elf64_Word flags, uint64_t offset, uint64_t vaddr, uint64_t bytes)
{
	m.segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
				      .p_flags = flags,
				      .p_offset = offset,
				      .p_vaddr = vaddr,
				      .p_filesz = bytes,
				      .p_memsz = bytes };
}

static int read_bytes(const void *image, size_t size)
{
	struct elf64 elf;
	int err = elf64_open_image(&elf, image, size);

	segs = (struct elfsegs){};
	return err ? err : elfsegs_read_elf(&segs, &elf);
}

static int read_image(void)
{
	return read_bytes(&m, sizeof(m));
}

static const char *vaddr_at(uint64_t offset)
{
	uint64_t vaddr = elfsegs_vaddr(&segs, offset);

	return vaddr == UINT64_MAX ? NULL
				   : until_end(mem_printf("%llx", (unsigned long long)vaddr));
}

TEST(keeps_executable_segments_only)
{
	m = image_new(4);
	set_segment(0, PF_R, 0, 0, 0x1000);
	set_segment(1, PF_R | PF_X, 0x1000, 0x11000, 0x2000);
	set_segment(2, PF_R | PF_W, 0x3000, 0x23000, 0x1000);
	set_segment(3, PF_X, 0x5000, 0x45000, 0x800);
	m.segments[2].p_type = PT_DYNAMIC;
	CHECK_EQ(read_image(), 0);
	CHECK_EQ(segs.count, 2);
	CHECK_EQ(segs.items[1].vaddr, 0x45000);
	CHECK_EQ(elfsegs_vaddr(&segs, 0x1000), 0x11000);
	CHECK_EQ(elfsegs_offset(&segs, 0x12fff), 0x2fff);
	CHECK_EQ(elfsegs_offset(&segs, 0x13000), UINT64_MAX);
	CHECK_EQ(elfsegs_offset(&segs, 0x45000), 0x5000);
	CHECK_EQ(elfsegs_offset(&segs, 0x23000), UINT64_MAX);
	CHECK_STR(NAMES(vaddr_at, 0x2fff, 0x5123, 0, 0x3000, UINT64_MAX), "12fff, 45123, -, -, -");
}

/* As gold and lld lay files out: the segment begins and ends within pages that are mapped whole. */
TEST(a_page_belongs_to_the_segment_that_begins_or_ends_in_it)
{
	m = image_new(1);
	set_segment(0, PF_R | PF_X, 0x1730, 0x2730, 0x1000);
	CHECK_EQ(read_image(), 0);
	CHECK_STR(NAMES(vaddr_at, 0x1000, 0x2fff, 0xfff, 0x3000), "2000, 3fff, -, -");
}

/* As a linker lays them out that saves pages: both are mapped with the page that they share. */
TEST(of_two_segments_in_a_page_a_mapping_is_of_the_one_that_ends_with_it)
{
	m = image_new(2);
	set_segment(0, PF_R | PF_X, 0x1000, 0x1000, 0xf80);
	set_segment(1, PF_R | PF_X, 0x1f80, 0x3f80, 0x1000);
	CHECK_EQ(read_image(), 0);
	CHECK_EQ(elfsegs_mapping_vaddr(&segs, 0x1000, 0x1000), 0x1000);
	CHECK_EQ(elfsegs_mapping_vaddr(&segs, 0x1000, 0x2000), 0x3000);
	CHECK_EQ(elfsegs_mapping_vaddr(&segs, 0x2000, 0x1000), 0x4000);
	CHECK_EQ(elfsegs_mapping_vaddr(&segs, 0x1000, 0x3000), 0x1000); /* of neither */
	CHECK_EQ(elfsegs_mapping_vaddr(&segs, 0x3000, 0x1000), UINT64_MAX);
}

/* Offsets and addresses need not keep their distance from one segment to the next. */
TEST(code_above_an_offset_is_found_by_the_segments_addresses)
{
	m = image_new(3);
	struct elf64 elf;

	set_segment(0, PF_R, 0, 0, 0x1730);
	set_segment(1, PF_R | PF_X, 0x1730, 0x2730, 0x3000);
	set_segment(2, PF_R | PF_W, 0x4730, 0x6730, 0x1000);
	CHECK_EQ(elf64_open_image(&elf, &m, sizeof(m)), 0);
	CHECK_EQ(elfsegs_read_elf(&segs, &elf), 0);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0, 0x2000), 0x1000);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0, 0x5000), 0x4000);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0x1000, 0x1000), 0x2000);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0, 0x1000), UINT64_MAX);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0, 0x6000), UINT64_MAX);
	CHECK_EQ(elfsegs_offset_above(&segs, &elf, 0x8000, 0), UINT64_MAX);
}

TEST(more_segments_than_it_has_room_for_are_left_out)
{
	m = image_new(N_HEADERS);
	for (size_t i = 0; i < N_HEADERS; i++)
		set_segment(i, PF_X, i << 12, i << 20, 0x1000);
	CHECK_EQ(read_image(), 0);
	CHECK_EQ(segs.count, ELFSEGS_MAX);
	CHECK_EQ(elfsegs_vaddr(&segs, (ELFSEGS_MAX - 1) << 12), (ELFSEGS_MAX - 1) << 20);
	CHECK_EQ(elfsegs_vaddr(&segs, ELFSEGS_MAX << 12), UINT64_MAX);
}

TEST(broken_files_are_refused)
{
	m = image_new(1);
	set_segment(0, PF_X, UINT64_MAX - 5, 0, UINT64_MAX);
	CHECK_EQ(read_image(), 0);
	CHECK_EQ(elfsegs_vaddr(&segs, 100), UINT64_MAX);
	CHECK(read_bytes(&m, sizeof(Elf64_Ehdr) - 1) < 0);
	CHECK(read_bytes(&m, sizeof(Elf64_Ehdr) + 8) < 0);
	m.header.e_phentsize = 12;
	CHECK_EQ(read_image(), -ENOEXEC);
	m = image_new(0xffff);
	CHECK_EQ(read_image(), -ENOEXEC);
	m = image_new(1);
	m.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(read_image() < 0);
	CHECK_EQ(read_bytes("#!/bin/sh\n", 10), -ENOEXEC);
}

/* The dynamic linker's own list, of the first file in it: this program. */
static int note_own_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(struct dl_phdr_info *)arg = *info;
	return 1;
}

TEST(agrees_with_the_dynamic_linker)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), n_executable = 0;
	struct dl_phdr_info info;
	struct elf64 elf;

	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(elfsegs_read_elf(&segs, &elf), 0);
	close(fd);
	dl_iterate_phdr(note_own_segments, &info);
	for (int i = 0; i < info.dlpi_phnum; i++) {
		const Elf64_Phdr *h = &info.dlpi_phdr[i];

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
			continue;
		n_executable++;
		CHECK_EQ(elfsegs_vaddr(&segs, h->p_offset + 1), h->p_vaddr + 1);
	}
	CHECK_EQ(segs.count, n_executable);
}
