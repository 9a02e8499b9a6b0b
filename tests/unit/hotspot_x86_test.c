// SPDX-License-Identifier: GPL-2.0-only
/* Checks the distance to the caller's stack where a method for x86-64 has pushed something. */
#include "unit.h"

#if defined(__x86_64__)
#include <string.h>

static bool read_own(const void *s, void *to, size_t size, uint64_t at)
{
	(void)s;
	memcpy(to, (const void *)at, size);
	return true;
}

#define unwind_read read_own
#include "unwind/walk_outside.h"

#include "abi/hotspot_x86.h"

#define FRAME_WORDS 12
#define AT	    512 /* offset of the interrupted instruction */

static void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *w, __u64 pc)
{
	(void)s;
	(void)w;
	(void)pc;
}

static __u32 hotspot_run_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop, __u32 at)
{
	return hotspot_loop(s, w, loop, at);
}

#define CASE(name, before, after, ...)                                                  \
	{                                                                               \
		name, before, sizeof(before) - 1, after, sizeof(after) - 1, __VA_ARGS__ \
	}

#define PUSHES "\x50\x56\x57\x51\x48\x8b\xdf" /* push %rax, %rsi, %rdi, %rcx; mov %rdi,%rbx */
#define NOPS   "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90"

static const struct {
	const char *name, *before; /* code before the interrupted instruction */
	size_t n_before;
	const char *after; /* from it on */
	size_t n_after;
	size_t pushed; /* words */
	size_t former; /* words from sp to rcx; 0: far */
	size_t top;    /* words from sp to the address that is stored at sp; 0: another word */
} cases[] = {
	CASE("nothing is pushed", "", "\x90", 0, 0, 0),
	CASE("a search in a string begins", "\x48\x8b\xcc", "\x48\x83\xec\x10\x50\x58" PUSHES, 0, 0,
	     0),
	CASE("makes room for a copy", "\x48\x83\xec\x10", "\x50\x90\x58" PUSHES, 2, 2, 0),
	CASE("copies", "\x50", "\x90\x58\x48\x8b\xf4" PUSHES, 3, 3, 0),
	CASE("has made two copies", "\x48\x8b\xfc", PUSHES, 4, 4, 0),
	CASE("pushes two registers", "\x50\x56", "\x57\x51\x48\x8b\xdf", 6, 6, 0),
	CASE("has pushed four", PUSHES, "\x90", 4, 0, 4),
	CASE("and has made a copy", PUSHES NOPS NOPS NOPS NOPS NOPS NOPS NOPS, "\x90", 6, 0, 6),
	CASE("searches a constant", "\x51\x48\x8b\xdf", "\x90", 1, 0, 1),
	CASE("of which it has made a copy", "\x51\x48\x8b\xdf", "\x90", 3, 0, 3),
	CASE("a lock's address is at the top", "", "\x90", 0, 0, 8),
	CASE("rcx has it", "", "\x90", 0, 8, 0),
	CASE("a type is checked", "\x56\x50", "\xe8\0\0\0\0\x58\x5e\x90", 2, 0, 0),
	CASE("was checked", "\xe8\0\0\0\0", "\x58\x5e\x90", 2, 0, 0),
	CASE("the last word is popped", "\x58", "\x5e\x90", 1, 0, 0),
};

/* All other words of the stack are the return address of a call that has returned. */
TEST(what_a_method_has_pushed_is_found)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static uint8_t code[1024];
		static struct hotspot_walk w;
		uint64_t stack[64], begin = (uint64_t)code;
		struct unwind_state s = { .has_registers = true };

		memset(code, 0x90, sizeof(code));
		code[0] = code[5] = 0xe8; /* calls, which return to 5 and 10 */
		memcpy(code + AT - cases[i].n_before, cases[i].before, cases[i].n_before);
		memcpy(code + AT, cases[i].after, cases[i].n_after);
		for (size_t k = 0; k < ARRAY_SIZE(stack); k++)
			stack[k] = begin + 5;
		stack[cases[i].pushed + FRAME_WORDS - 1] = begin + 10;
		s.ip = begin + AT;
		s.sp = (uint64_t)stack;
		s.regs.cx = cases[i].former ? (uint64_t)(stack + cases[i].former) : 0;
		if (cases[i].top)
			stack[0] = (uint64_t)(stack + cases[i].top);
		w = (struct hotspot_walk){ .frame_bytes = FRAME_WORDS * sizeof(*stack),
					   .begin = begin + 256,
					   .end = begin + sizeof(code) };
		w.layout.heaps[0] = (struct hotspot_heap){ begin, begin + sizeof(code), 0 };
		hotspot_judge_interrupted(&s, &w);
		CHECK_CASE(cases[i].name, w.to_cfa,
			   (cases[i].pushed + FRAME_WORDS) * sizeof(*stack));
	}
}
#else
TEST(what_a_method_has_pushed_is_found)
{
	SKIP("about x86-64");
}
#endif
