// SPDX-License-Identifier: GPL-2.0-only
/* One frame of a walk by rules that no program at hand has, in memory that is made up here. */
#include <stdint.h>
#include <string.h>

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
	CHECK_EQ(s.ip, 0x1234);
	CHECK_EQ(s.sp, address(55));
	CHECK_EQ(s.bp, 77);
}

/* While a thread is started for example: there is no other stack. */
TEST(c_code_called_on_the_schedulers_stack_leads_up_that)
{
	struct unwind_state s = in_asmcgocall(address(30), 0);

	memory[30] = 0x1234;
	CHECK_EQ(unwind_by_go_rule(&s, &go_call), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x1234);
	CHECK_EQ(s.sp, address(31));
	CHECK_EQ(s.bp, 77);
}

TEST(c_code_called_by_go_whose_stack_cannot_be_read_ends_the_walk)
{
	struct unwind_state s = in_asmcgocall(0x30, BASE + sizeof(memory));

	CHECK_EQ(unwind_by_go_rule(&s, &go_call), UNWIND_FAULT);
}
