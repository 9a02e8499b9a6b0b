// SPDX-License-Identifier: GPL-2.0-only
/* How much of some code is a function's own, on x86-64 and on arm64. */
#include <elf.h>

#include "elf/code_end.h"
#include "unit.h"

static size_t end_x86(const char *code, size_t size)
{
	return code_end((const uint8_t *)code, size, EM_X86_64);
}

#define END_X86(code) end_x86(code, sizeof(code) - 1)

#define HIDDEN "\x0f\x05\xc3" /* syscall; ret: of the function behind */

TEST(a_function_of_x86_ends)
{
	/* a return or a jump ends a function */
	CHECK_EQ(END_X86("\x90\xc3" HIDDEN), 2);
	CHECK_EQ(END_X86("\xc2\x08\x00" HIDDEN), 3);
	CHECK_EQ(END_X86("\xeb\x02" HIDDEN), 2); /* jmp into the middle of another */
	CHECK_EQ(END_X86("\xe9\x00\x10\x00\x00" HIDDEN), 5);
	CHECK_EQ(END_X86("\xff\xe0" HIDDEN), 2); /* jmp *%rax */
	CHECK_EQ(END_X86("\xff\x25\x01\x00\x00\x00" HIDDEN), 6);
	CHECK_EQ(END_X86("\x0f\x05\xf4" HIDDEN), 3);	 /* hlt */
	CHECK_EQ(END_X86("\x0f\x0b" HIDDEN), 2);	 /* ud2 */
	CHECK_EQ(END_X86("\xc5\xf8\x77\xc3" HIDDEN), 4); /* vzeroupper */
	/* a branch leads over it */
	CHECK_EQ(END_X86("\x75\x01\xc3\x90\xc3" HIDDEN), 5);
	CHECK_EQ(END_X86("\x75\x00\xc3" HIDDEN), 3);
	CHECK_EQ(END_X86("\x0f\x84\x01\x00\x00\x00\xc3\x90\xc3" HIDDEN), 9);
	CHECK_EQ(END_X86("\xe3\x01\xc3\x90\xc3" HIDDEN), 5); /* jrcxz */
	CHECK_EQ(END_X86("\x75\xfe\xc3" HIDDEN), 3);	     /* back */
	CHECK_EQ(END_X86("\x75\x7f\xc3" HIDDEN), 3);	     /* to another symbol */
	/* what a call does not come back to is no code */
	CHECK_EQ(END_X86("\xe8\x00\x00\x00\x00\xc3" HIDDEN), 6);
	CHECK_EQ(END_X86("\xe8\x00\x00\x00\x00\x0f\x1f\x00" HIDDEN), 5);
	CHECK_EQ(END_X86("\xff\xd0\x66\x90" HIDDEN), 2);
	/* what is not understood belongs to nobody */
	CHECK_EQ(END_X86("\x06\xc3"), 1);
	CHECK_EQ(END_X86("\x90\x06\xc3"), 1);
	CHECK_EQ(END_X86("\x90\x48"), 1);
	CHECK_EQ(END_X86("\x90"), 1);
	CHECK_EQ(code_end((const uint8_t *)"\x90\xc3", 2, EM_386), 1);
}

static size_t end_arm64(const uint32_t *words, size_t n)
{
	return code_end((const uint8_t *)words, n * sizeof(*words), EM_AARCH64) / sizeof(*words);
}

#define END_ARM64(...) \
	end_arm64((const uint32_t[]){ __VA_ARGS__ }, ARRAY_SIZE(((uint32_t[]){ __VA_ARGS__ })))

#define RET 0xd65f03c0
#define NOP 0xd503201f
#define BL  0x94000010

TEST(arm64_code_ends_likewise)
{
	CHECK_EQ(END_ARM64(NOP, RET, NOP), 2);
	CHECK_EQ(END_ARM64(0x14000002, NOP, NOP), 1);		/* b */
	CHECK_EQ(END_ARM64(0xd61f0060, NOP, NOP), 1);		/* br x3 */
	CHECK_EQ(END_ARM64(0xb4000040, RET, NOP, RET, NOP), 4); /* cbz x0, +2 */
	CHECK_EQ(END_ARM64(0x54000040, RET, NOP, RET, NOP), 4); /* b.eq +2 */
	CHECK_EQ(END_ARM64(0x36000040, RET, NOP, RET, NOP), 4); /* tbz w0, #0, +2 */
	CHECK_EQ(END_ARM64(BL, RET, NOP), 2);
	CHECK_EQ(END_ARM64(BL, NOP, RET), 1);
	CHECK_EQ(END_ARM64(0xd4000001, 0, RET), 2); /* svc #0; udf #0 */
}

/* "to N", "returns" or "-": how code ends. */
static const char *path_of(const void *code, size_t bytes, uint16_t machine)
{
	struct code_path path = code_path(code, bytes, machine);

	if (path.is_return)
		return "returns";
	return path.jump ? PRINTED(f, fprintf(f, "to %lld", (long long)path.jump)) : "-";
}

TEST(code_is_followed_to_a_jump_or_return)
{
	static const struct {
		const char *name, *code;
		size_t bytes;
		const char *path;
	} cases[] = {
#define CASE(name, code, path) { name, code, sizeof(code) - 1, path }
		CASE("a jump", "\x90\xeb\x02", "to 5"),
		CASE("a far jump, back", "\xe9\xf0\xff\xff\xff\xc3", "to -11"),
		CASE("a return", "\x90\xc3\xeb\x02", "returns"),
		CASE("one that removes arguments", "\xc2\x08\x00", "returns"),
		CASE("a conditional jump is not taken", "\x74\x10\xe8\0\0\0\0\xeb\x02", "to 11"),
		CASE("a jump by a register", "\xff\xe0\xc3", "-"),
		CASE("an unknown instruction", "\x90\x06\xc3", "-"),
		CASE("no end", "\x90\x90", "-"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_CASE_STR(cases[i].name, path_of(cases[i].code, cases[i].bytes, EM_X86_64),
			       cases[i].path);
	CHECK_STR(path_of((const uint32_t[]){ NOP, BL, 0x14000003 }, 12, EM_AARCH64), "to 20");
	CHECK_STR(path_of((const uint32_t[]){ 0xb4000040, RET }, 8, EM_AARCH64), "returns");
}
