// SPDX-License-Identifier: GPL-2.0-only
/* Stubs of the PLT as the linkers of x86-64 and arm64 make them, and what is none. */
#include "../symbols/image.h"
#include "elf/elfplt.h"
#include "unit.h"

#define PLT_ADDR     0x1000
#define N_SECTIONS   5
#define WORD_OF_PUTS 0x4018
#define WORD_OF_GETS 0x4020
#define WORD_OF_FAST 0x4028

static const char names[] = "\0puts\0gets";

static uint8_t code[64];
static char text[256];

BEFORE_EACH()
{
	memset(code, 0, sizeof(code));
}

/* "puts 1010+16, ...": the stubs in a section of code. .dynsym's: 1 puts, 2 gets. */
static const char *stubs_in(const char *section, size_t code_bytes, uint16_t machine,
			    const char *rela_section)
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
	size_t n, used = 0;

	CHECK_EQ(elffile_open_image(&f, image, size), 0);
	stubs = elfplt_read(&f, sizeof(names), &n);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct plt_stub *s = &stubs[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llx+%u",
					 i ? ", " : "", s->name ? names + s->name : "?",
					 (unsigned long long)s->vaddr, s->bytes);
		if (s->resolver)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " by %llx",
						 (unsigned long long)s->resolver);
	}
	elffile_close(&f);
	free(image);
	free(stubs);
	return text;
}

/* jmp *WORD(%rip) at that place. */
static void put_jump(size_t at, uint64_t word)
{
	int32_t distance = (int32_t)(word - (PLT_ADDR + at + 6));

	memcpy(code + at, "\xff\x25", 2);
	memcpy(code + at + 2, &distance, 4);
}

TEST(names_stubs)
{
	code[0] = 0xff; /* lazy ones */
	code[1] = 0x35;
	put_jump(6, 0x4010); /* the binder */
	put_jump(16, WORD_OF_PUTS);
	put_jump(32, WORD_OF_GETS);
	put_jump(48, 0x4444); /* a word that no relocation fills */
	CHECK_STR(stubs_in(".plt", 64, EM_X86_64, ".rela.plt"), "puts 1010+16, gets 1020+16");
	put_jump(0, WORD_OF_GETS); /* of bound functions */
	memcpy(code + 6, "\x66\x90", 2);
	put_jump(8, WORD_OF_FAST);
	CHECK_STR(stubs_in(".plt.got", 16, EM_X86_64, ".rela.dyn"),
		  "gets 1000+8, ? 1008+8 by 5000");
	memcpy(code, "\xf3\x0f\x1e\xfa\xf2", 5); /* with branch targets */
	put_jump(5, WORD_OF_PUTS);
	memcpy(code + 16, "\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0", 10);
	put_jump(26, WORD_OF_GETS);
	CHECK_STR(stubs_in(".plt.sec", 32, EM_X86_64, ".rela.plt"), "puts 1000+16, gets 1010+16");
}

/* endbr64; push $1; bnd jmp: by the number of the relocation. */
TEST(names_what_leads_to_the_binder)
{
	memcpy(code + 16, "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9", 11);
	CHECK_STR(stubs_in(".plt", 32, EM_X86_64, ".rela.plt"), "gets 1010+16");
	code[21] = 77;
	CHECK_STR(stubs_in(".plt", 32, EM_X86_64, ".rela.plt"), "");
}

/* adrp x16, 3 pages on; ldr x17, [x16, #0x18 or #0x20] */
TEST(names_stubs_of_arm64)
{
	const uint32_t words[] = { 0xd503245f, 0xf0000010, 0xf9400e11, 0x91006210,
				   0xd61f0220, 0xd503201f, 0xd503245f, 0xf0000010,
				   0xf9401211, 0x91008210, 0xd61f0220, 0xd503201f };

	memcpy(code, words, sizeof(words));
	CHECK_STR(stubs_in(".plt", sizeof(words), EM_AARCH64, ".rela.plt"),
		  "puts 1000+24, gets 1018+24");
}

TEST(knows_no_other_machines_and_sections)
{
	put_jump(0, WORD_OF_PUTS);
	CHECK_STR(stubs_in(".plt", 16, EM_RISCV, ".rela.plt"), "");
	CHECK_STR(stubs_in(".text2", 16, EM_X86_64, ".rela.plt"), "");
}
