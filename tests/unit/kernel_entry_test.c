// SPDX-License-Identifier: GPL-2.0-only
/* Samples that come while the kernel is being entered, by where its stack pointer is. */
#include "unit.h"

#include "lib/kernel_entry.bpf.h"

#define KERNEL_CS 0x10
#define USER_CS	  0x33
#define STACK	  0xffffc90000120000ULL
#define BYTES	  168 /* of the registers on top of it */
#define REGISTERS (STACK + 0x4000 - BYTES)

static bool is_entered(__u64 cs, __u64 sp)
{
	return kernel_is_being_entered(cs, sp, REGISTERS, BYTES);
}

TEST(the_kernel_is_being_entered)
{
	/* the programs stack pointer */
	CHECK(is_entered(KERNEL_CS, 0x7ffd12345678));
	CHECK(is_entered(KERNEL_CS, 0x1800)); /* CR3 */
	CHECK(!is_entered(USER_CS, 0x7ffd12345678));
	/* registers are being pushed */
	CHECK(is_entered(KERNEL_CS, REGISTERS + BYTES));
	CHECK(is_entered(KERNEL_CS, REGISTERS + 8));
	CHECK(!is_entered(KERNEL_CS, REGISTERS));
	CHECK(!is_entered(KERNEL_CS, REGISTERS - 200));
	/* the stack of entries */
	CHECK(is_entered(KERNEL_CS, 0xfffffe0000002fd8));
	CHECK(!is_entered(KERNEL_CS, 0xffffc90000003f00)); /* an interrupt's */
	CHECK(!is_entered(KERNEL_CS, 0xffff888100000000));
}
