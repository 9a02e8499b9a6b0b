// SPDX-License-Identifier: GPL-2.0-only
/* Checks the distance to the caller's stack at each instruction of methods compiled for arm64. */
#include <string.h>

#define unwind_read(s, to, size, at) ((void)(s), (void)(to), (void)(size), (void)(at), false)
#include "unwind/walk_outside.h"

#include "abi/hotspot_arm64.h"
#include "unit.h"

#define NOP	    0xd503201fU
#define SUB_SP_48   0xd100c3ffU
#define ADD_SP_48   0x9100c3ffU
#define ADD_SP_8192 0x91400bffU /* add sp, sp, #2, lsl #12 */
#define STP_AT_32   0xa9027bfdU /* stp x29, x30, [sp, #32] */
#define LDP_AT_32   0xa9427bfdU
#define MOV_X8_32   0xd2800408U
#define PUSH_X0_X2  0xa9be0be0U /* stp x0, x2, [sp, #-32]! */
#define POP_X0_X2   0xa8c20be0U
#define PUSH_Q0_Q1  0xadbf07e0U /* stp q0, q1, [sp, #-32]! */
#define POP_Q0_Q1   0xacc107e0U
#define POP_X1	    0xf84107e1U /* ldr x1, [sp], #16 */
#define LDR_POLL    0xf9402788U /* ldr x8, [x28, #72] */
#define CMP_SP_X8   0xeb2863ffU
#define B_HI	    0x54000048U
#define B_BACK	    0x17fffffcU
#define BLR_X8	    0xd63f0100U
#define BR_X8	    0xd61f0100U
#define PUSH_X10    0xa9bf7feaU /* stp x10, xzr, [sp, #-16]! */
#define POP_X10	    0xa8c17feaU
#define MOV_X20_SP  0x910003f4U
#define UDF	    0x00000000U

#define FRAME_BYTES 48

static struct hotspot_walk w;

BEFORE_EACH()
{
	w = (struct hotspot_walk){ .frame_bytes = FRAME_BYTES };
}

static void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *walk, __u64 pc)
{
	(void)s;
	(void)walk;
	(void)pc;
}

static __u32 hotspot_run_loop(struct unwind_state *s, struct hotspot_walk *walk, __u32 loop,
			      __u32 at)
{
	return hotspot_loop(s, walk, loop, at);
}

static void put(const uint32_t *code, size_t bytes)
{
	memset(w.code, 0, sizeof(w.code));
	memcpy(w.code, code, bytes);
}

static const uint32_t small_beginning[] = { NOP, SUB_SP_48, STP_AT_32, NOP };
static const uint32_t large_beginning[] = { HOTSPOT_STP_DOWN, MOV_X8_32, HOTSPOT_SUB_SP_X8, NOP };

static const struct {
	const uint32_t *code;
	uint32_t bytes; /* of code that have run */
	uint32_t found;
	int32_t moved;
} beginnings[] = {
	{ small_beginning, 0, HOTSPOT_BY_LINK, 0 },
	{ small_beginning, 4, HOTSPOT_BY_LINK, 0 },
	{ small_beginning, 8, HOTSPOT_BY_LINK, FRAME_BYTES },
	{ small_beginning, 12, HOTSPOT_BY_RECORD, FRAME_BYTES },
	{ large_beginning, 0, HOTSPOT_BY_LINK, 0 },
	{ large_beginning, 4, HOTSPOT_BY_RECORD, 16 },
	{ large_beginning, 8, HOTSPOT_BY_RECORD, 16 },
	{ large_beginning, 12, HOTSPOT_BY_RECORD, FRAME_BYTES },
};

TEST(a_frame_is_made_step_by_step)
{
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		put(beginnings[i].code, sizeof(small_beginning));
		CHECK_EQ(hotspot_run_loop(NULL, &w, HOTSPOT_FOLLOW_PROLOGUE, beginnings[i].bytes),
			 beginnings[i].found);
		CHECK_EQ(w.moved, beginnings[i].moved);
	}
}

static const struct {
	uint32_t code[8];
	uint32_t found;
	int32_t moved, dropped;
} ends[] = {
	/* a small frame: the pair, then the stack, polls, and the return */
	{ { NOP, LDP_AT_32, ADD_SP_48, HOTSPOT_RET }, HOTSPOT_BY_RECORD, FRAME_BYTES, 0 },
	{ { ADD_SP_48, LDR_POLL, CMP_SP_X8, B_HI, HOTSPOT_RET }, HOTSPOT_BY_LINK, 48, 48 },
	{ { LDR_POLL, CMP_SP_X8, B_HI, HOTSPOT_RET }, HOTSPOT_BY_LINK, 0, 0 },
	{ { HOTSPOT_RET }, HOTSPOT_BY_LINK, 0, 0 },
	/* a large one: the stack, then the pair */
	{ { ADD_SP_8192, ADD_SP_48, HOTSPOT_LDP_UP, HOTSPOT_RET }, HOTSPOT_BY_RECORD, 8256, 8240 },
	{ { HOTSPOT_LDP_UP, HOTSPOT_RET }, HOTSPOT_BY_RECORD, 16, 0 },
	/* pushed words are dropped before the frame; a call is followed, a jump ends the way */
	{ { BLR_X8, POP_X0_X2, LDP_AT_32, ADD_SP_48, HOTSPOT_RET }, HOTSPOT_BY_RECORD, 80, 32 },
	{ { POP_Q0_Q1, POP_X0_X2, POP_X1, B_BACK }, 0, 80, 80 },
	{ { PUSH_X0_X2, PUSH_Q0_Q1, BLR_X8, POP_Q0_Q1, POP_X0_X2, B_BACK }, 0, 0, 0 },
	{ { PUSH_X0_X2, BLR_X8, POP_X0_X2, POP_X1, BR_X8, HOTSPOT_RET }, 0, 16, 16 },
	{ { UDF, HOTSPOT_RET }, 0, 0, 0 },
};

TEST(the_way_to_a_methods_end_shows_its_caller)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		put(ends[i].code, sizeof(ends[i].code));
		CHECK_EQ(hotspot_run_loop(NULL, &w, HOTSPOT_FOLLOW_BODY, 0), ends[i].found);
		CHECK_EQ(w.moved, ends[i].moved);
		CHECK_EQ(w.dropped, ends[i].dropped);
	}
}

static const struct {
	uint32_t code[6];
	bool sender_is_x19;
	uint32_t found;
	int32_t moved;
} adapters[] = {
	{ { NOP, HOTSPOT_MOV_X19_SP, SUB_SP_48, MOV_X20_SP, BR_X8 }, true, HOTSPOT_BY_LINK, 0 },
	{ { NOP, HOTSPOT_MOV_X13_SP, MOV_X20_SP, BR_X8 }, false, HOTSPOT_BY_LINK, 0 },
	{ { NOP, HOTSPOT_MOV_X13_SP, MOV_X20_SP, BR_X8 }, true, HOTSPOT_BY_SENDER, 0 },
	{ { SUB_SP_48, MOV_X20_SP, BR_X8 }, true, HOTSPOT_BY_LINK, 0 },
	{ { MOV_X20_SP, BR_X8, HOTSPOT_MOV_X19_SP }, true, HOTSPOT_BY_SENDER, 0 },
	/* a check pushes a word; a call is made in a frame */
	{ { NOP, PUSH_X10, NOP, POP_X10, HOTSPOT_MOV_X19_SP }, true, HOTSPOT_BY_LINK, 0 },
	{ { NOP, POP_X10, HOTSPOT_MOV_X19_SP }, true, HOTSPOT_BY_LINK, 16 },
	{ { BLR_X8, HOTSPOT_LDP_UP, HOTSPOT_MOV_X19_SP }, true, 0, 0 },
};

TEST(an_adapter_has_the_callers_stack_pointer_once_that_is_saved)
{
	for (size_t i = 0; i < ARRAY_SIZE(adapters); i++) {
		put(adapters[i].code, sizeof(adapters[i].code));
		w.layout.sender_is_x19 = adapters[i].sender_is_x19;
		CHECK_EQ(hotspot_run_loop(NULL, &w, HOTSPOT_FOLLOW_ADAPTER, 0), adapters[i].found);
		CHECK_EQ(w.moved, adapters[i].moved);
	}
}
