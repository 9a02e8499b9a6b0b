// SPDX-License-Identifier: GPL-2.0-only
/* One frame of a walk by rules that no program at hand has, in memory that is made up here. */
#include "unit.h"
#include "walk_memory.h"

/* As runtime.asmcgocall leaves it before Go 1.21: 40(SP) and 48(SP), where SP is word 0. */
static const struct unwind_rule go_call = { .kind = UNWIND_GO_CALL, .cfa_off = 40 };

static struct unwind_state in_asmcgocall(uint64_t at_40, uint64_t at_48)
{
	memset(memory, 0, sizeof(memory));
	memory[5] = at_40;
	memory[6] = at_48;
	return (struct unwind_state){ .sp = address(0), .ip = 1, .bp = 77 };
}

TEST(c_code_called_on_a_goroutines_stack_leads_there)
{
	struct unwind_state s = in_asmcgocall(0x30, address(20)); /* g is at word 20 */

	memory[21] = address(60); /* g.stack.hi */
	memory[54] = 0x1234;	  /* 0x30 bytes of it are used: the return address */
	CHECK_EQ(unwind_by_go_rule(&s, &go_call), UNWIND_GOES_ON);
	check_regs(&s, 0x1234, address(55), 77);
}

/* While a thread is started for example: there is no other stack. */
TEST(c_code_called_on_the_schedulers_stack_leads_up_that)
{
	struct unwind_state s = in_asmcgocall(address(30), 0);

	memory[30] = 0x1234;
	CHECK_EQ(unwind_by_go_rule(&s, &go_call), UNWIND_GOES_ON);
	check_regs(&s, 0x1234, address(31), 77);
}

TEST(c_code_called_by_go_whose_stack_cannot_be_read_ends_the_walk)
{
	struct unwind_state s = in_asmcgocall(0x30, BASE + sizeof(memory));

	CHECK_EQ(unwind_by_go_rule(&s, &go_call), UNWIND_FAULT);
}

/* As a function that sets rbx and is called by one that keeps its CFA there. */
TEST(a_saved_rbx_locates_the_callers_frame)
{
	static const struct unwind_rule saves_rbx = { .kind = UNWIND_SP,
						      .cfa_off = 32,
						      .extra_place = UNWIND_BX_AT_CFA + 1 };
	const struct unwind_rule by_rbx = { .kind = UNWIND_REG,
					    .cfa_off = unwind_pack_reg(UNWIND_RBX, 16) };
	struct unwind_state s = { .sp = address(0), .ip = 1, .bp = 77 };

	memset(memory, 0, sizeof(memory));
	memory[4 - saves_rbx.extra_place] = address(60);
	memory[3] = 0x2000;
	memory[61] = 0x3000;
	CHECK_EQ(unwind_by_rule(&s, &saves_rbx), UNWIND_GOES_ON);
	check_regs(&s, 0x2000, address(4), 77);
	CHECK_EQ(unwind_by_rule(&s, &by_rbx), UNWIND_GOES_ON);
	check_regs(&s, 0x3000, address(62), 77);
}

/* ---- code without rules ---- */

static struct unwind_state behind(const void *code, size_t n)
{
	memset(memory, 0, sizeof(memory));
	memcpy(&memory[100], code, n);
	return (struct unwind_state){ .sp = address(0), .ip = address(100), .bp = 77 };
}

#define BEHIND(code) behind(code, sizeof(code) - 1)

#define SIGRETURN "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05" /* as musl's __restore_rt */

/* n_bytes: bytes of instructions that were executed; 0: the handler returns to the first one */
static void check_signal_return(size_t n_bytes)
{
	struct unwind_state s = BEHIND(SIGRETURN);

	s.ip += n_bytes;
	s.ip_is_exact = n_bytes;
	memory[UNWIND_UCONTEXT_RBP / 8] = 0x1111;
	memory[UNWIND_UCONTEXT_RBP / 8 + 1] = 0x2222;
	memory[UNWIND_UCONTEXT_RSP / 8] = address(60);
	memory[UNWIND_UCONTEXT_RIP / 8] = 0x5000;
	CHECK_EQ(unwind_by_code(&s), UNWIND_GOES_ON);
	check_regs(&s, 0x5000, address(60), 0x1111);
	CHECK_EQ(s.extra, 0x2222);
	CHECK(s.ip_is_exact && s.is_behind_signal);
}

TEST(a_signal_handler_returns_to_all_registers_without_a_rule)
{
	check_signal_return(0);
	check_signal_return(sizeof(SIGRETURN) - 1); /* in the system call */
}

TEST(other_code_is_no_trampoline)
{
	static const char codes[][10] = {
		"\x48\xc7\xc0\x0e\x00\x00\x00\x0f\x05", /* another call */
		"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x0b", /* no call */
		"\x48\xc7\xc1\x0f\x00\x00\x00\x0f\x05", /* another register */
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct unwind_state s = behind(codes[i], 9);

		CHECK_EQ(unwind_by_code(&s), UNWIND_NO_RULE);
		CHECK_EQ(s.ip, address(100));
	}
}

TEST(code_that_gives_its_stack_back_and_returns_is_left_by_that)
{
	struct unwind_state s = BEHIND("\x48\x83\xc4\x18\xc3");

	memory[3] = 0x1234;
	CHECK_EQ(unwind_by_code(&s), UNWIND_GOES_ON);
	check_regs(&s, 0x1234, address(4), 77);
	s = BEHIND("\x48\x83\xc4\x18\xc3");
	s.ip_is_exact = true; /* it may be anywhere in its function */
	CHECK_EQ(unwind_by_code(&s), UNWIND_NO_RULE);
}
