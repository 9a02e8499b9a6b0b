// SPDX-License-Identifier: GPL-2.0-only
/* Why a file has no source lines: this very program, with its DWARF as others write it. */
#include <elf.h>

#include "elf/elf64.h"
#include "symbols/srclines.h"
#include "self.h"
#include "unit.h"

static int make_copy(void)
{
	int fd = memory_file("", 0);

	copy_self(fd);
	return fd;
}

/* The header of .debug_info becomes another one. */
static void set_info(int fd, uint32_t type, uint64_t flags)
{
	Elf64_Shdr info, sh;
	struct elf64 elf;
	uint64_t at;

	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(elf64_find_section(&elf, ".debug_info", &info), 0);
	for (at = elf.header.e_shoff; pread(fd, &sh, sizeof(sh), (off_t)at) == sizeof(sh);
	     at += sizeof(sh))
		if (sh.sh_name == info.sh_name)
			break;
	sh.sh_type = type;
	sh.sh_flags |= flags;
	CHECK_EQ(pwrite(fd, &sh, sizeof(sh), (off_t)at), sizeof(sh));
}

static void check_lack(int fd, enum srclines_lack expected)
{
	enum srclines_lack lack = SRCLINES_SPLIT;
	struct srclines *lines = srclines_open(fd, NULL, false, &lack);

	CHECK_EQ(lack, expected);
	CHECK_EQ(lines != NULL, expected == SRCLINES_ALL);
	srclines_free(lines);
	close(fd);
}

TEST(a_file_with_dwarf_lacks_nothing)
{
	check_lack(make_copy(), SRCLINES_ALL);
}

TEST(a_file_without_dwarf_lacks_that)
{
	int fd = make_copy();

	set_info(fd, SHT_NOBITS, 0); /* as a stripped one's debug file has its code */
	check_lack(fd, SRCLINES_NO_DWARF);
}

TEST(dwarf_in_zstd_that_can_not_be_unpacked_is_named)
{
	const Elf64_Chdr packed = { .ch_type = 2, .ch_size = 1000, .ch_addralign = 1 };
	int fd = make_copy();
	struct elf64 elf;
	Elf64_Shdr info;

	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(elf64_find_section(&elf, ".debug_info", &info), 0);
	CHECK_EQ(pwrite(fd, &packed, sizeof(packed), (off_t)info.sh_offset), sizeof(packed));
	set_info(fd, SHT_PROGBITS, SHF_COMPRESSED);
	check_lack(fd, SRCLINES_NO_ZSTD);
}
