// SPDX-License-Identifier: GPL-2.0-only
/* Stubs of the PLT as the linkers of x86-64 and arm64 make them, and what is none. */
#include <stdlib.h>

#include "../symbols/image.h"
#include "elf/elfplt.h"
#include "unit.h"

#define PLT_ADDR     0x1000
#define N_SECTIONS   5
#define WORD_OF_PUTS 0x4018
#define WORD_OF_GETS 0x4020
#define WORD_OF_FAST 0x4028

static const char names[] = "\0puts\0gets";

/* .dynsym's: 1 puts, 2 gets. */
static struct plt_stub *read_plt(const char *section, const void *code, size_t code_bytes,
				 uint16_t machine, const char *rela_section, size_t *n,
				 char found[8][32])
{
	bool is_arm = machine == EM_AARCH64;
	uint64_t jump = is_arm ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT;
	uint64_t any = is_arm ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
	Elf64_Sym syms[] = { {}, { .st_name = 1 }, { .st_name = 6 } };
	Elf64_Rela rela[] = { { WORD_OF_PUTS, ELF64_R_INFO(1, jump), 0 },
			      { WORD_OF_GETS, ELF64_R_INFO(2, jump), 0 },
			      { WORD_OF_FAST, ELF64_R_INFO(0, any), 0x5000 } };
	struct image_section sections[N_SECTIONS] = {
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0, syms, sizeof(syms), 2 },
		{ ".dynstr", SHT_STRTAB, SHF_ALLOC, 0, names, sizeof(names), 0 },
		{ rela_section, SHT_RELA, SHF_ALLOC, 0, rela, sizeof(rela), 1 },
		{ section, SHT_PROGBITS, IMAGE_CODE, PLT_ADDR, code, code_bytes, 0 },
		{ ".text", SHT_PROGBITS, IMAGE_CODE, 0x5000, code, code_bytes, 0 },
	};
	size_t size;
	uint8_t *image = image_make(sections, N_SECTIONS, machine, &size);
	struct elffile f;
	struct plt_stub *stubs;

	CHECK_EQ(elffile_open_image(&f, image, size), 0);
	stubs = elfplt_read(&f, names, sizeof(names), n);
	for (size_t i = 0; i < *n && i < 8; i++)
		snprintf(found[i], sizeof(found[i]), "%s", stubs[i].name ? stubs[i].name : "");
	elffile_close(&f);
	free(image);
	return stubs;
}

/* jmp *WORD(%rip) at that place. */
static void put_jump(uint8_t *code, size_t at, uint64_t word)
{
	int32_t distance = (int32_t)(word - (PLT_ADDR + at + 6));

	memcpy(code + at, "\xff\x25", 2);
	memcpy(code + at + 2, &distance, 4);
}

static void check_stub(const struct plt_stub *stub, uint64_t addr, uint32_t bytes)
{
	CHECK_EQ(stub->vaddr, addr);
	CHECK_EQ(stub->bytes, bytes);
}

TEST(names_lazy_stubs)
{
	uint8_t code[64] = { 0xff, 0x35 };
	char found[8][32];
	size_t n;
	struct plt_stub *stubs;

	put_jump(code, 6, 0x4010); /* the binder */
	put_jump(code, 16, WORD_OF_PUTS);
	put_jump(code, 32, WORD_OF_GETS);
	put_jump(code, 48, 0x4444); /* a word that no relocation fills */
	stubs = read_plt(".plt", code, sizeof(code), EM_X86_64, ".rela.plt", &n, found);
	CHECK_EQ(n, 2);
	CHECK_STR(found[0], "puts");
	CHECK_STR(found[1], "gets");
	check_stub(&stubs[0], PLT_ADDR + 16, 16);
	check_stub(&stubs[1], PLT_ADDR + 32, 16);
	free(stubs);
}

TEST(names_stubs_of_bound_functions)
{
	uint8_t code[16];
	char found[8][32];
	size_t n;
	struct plt_stub *stubs;

	put_jump(code, 0, WORD_OF_GETS);
	memcpy(code + 6, "\x66\x90", 2);
	put_jump(code, 8, WORD_OF_FAST);
	stubs = read_plt(".plt.got", code, sizeof(code), EM_X86_64, ".rela.dyn", &n, found);
	CHECK_EQ(n, 2);
	CHECK_STR(found[0], "gets");
	check_stub(&stubs[0], PLT_ADDR, 8);
	CHECK_STR(found[1], "");
	CHECK_EQ(stubs[1].resolver, 0x5000);
	free(stubs);
}

TEST(names_stubs_with_branch_targets)
{
	uint8_t code[32] = "\xf3\x0f\x1e\xfa\xf2";
	char found[8][32];
	size_t n;
	struct plt_stub *stubs;

	put_jump(code, 5, WORD_OF_PUTS);
	memcpy(code + 16, "\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0", 10);
	put_jump(code, 26, WORD_OF_GETS);
	stubs = read_plt(".plt.sec", code, sizeof(code), EM_X86_64, ".rela.plt", &n, found);
	CHECK_EQ(n, 2);
	CHECK_STR(found[0], "puts");
	CHECK_STR(found[1], "gets");
	check_stub(&stubs[1], PLT_ADDR + 16, 16);
	free(stubs);
}

/* endbr64; push $1; bnd jmp: by the number of the relocation. */
TEST(names_what_leads_to_the_binder)
{
	uint8_t code[32] = "";
	char found[8][32];
	size_t n;
	struct plt_stub *stubs;

	memcpy(code + 16, "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9", 11);
	stubs = read_plt(".plt", code, sizeof(code), EM_X86_64, ".rela.plt", &n, found);
	CHECK_EQ(n, 1);
	CHECK_STR(found[0], "gets");
	free(stubs);
	code[21] = 77;
	stubs = read_plt(".plt", code, sizeof(code), EM_X86_64, ".rela.plt", &n, found);
	CHECK_EQ(n, 0);
	free(stubs);
}

/* adrp x16, 3 pages on; ldr x17, [x16, #0x18 or #0x20] */
TEST(names_stubs_of_arm64)
{
	const uint32_t code[] = { 0xd503245f, 0xf0000010, 0xf9400e11, 0x91006210,
				  0xd61f0220, 0xd503201f, 0xd503245f, 0xf0000010,
				  0xf9401211, 0x91008210, 0xd61f0220, 0xd503201f };
	char found[8][32];
	size_t n;
	struct plt_stub *stubs =
		read_plt(".plt", code, sizeof(code), EM_AARCH64, ".rela.plt", &n, found);

	CHECK_EQ(n, 2);
	CHECK_STR(found[0], "puts");
	CHECK_STR(found[1], "gets");
	check_stub(&stubs[0], PLT_ADDR, 24);
	check_stub(&stubs[1], PLT_ADDR + 24, 24);
	free(stubs);
}

TEST(knows_no_other_machines)
{
	uint8_t code[16] = "";
	char found[8][32];
	size_t n;

	put_jump(code, 0, WORD_OF_PUTS);
	CHECK(!read_plt(".plt", code, sizeof(code), EM_RISCV, ".rela.plt", &n, found));
	CHECK_EQ(n, 0);
	CHECK(!read_plt(".text2", code, sizeof(code), EM_X86_64, ".rela.plt", &n, found));
	CHECK_EQ(n, 0);
}
