// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts by the names of frames, as stacks of several kernels have them. */
#include "symbols/interrupts.h"
#include "unit.h"

static bool is_cause(const char *name, const char *cause)
{
	const char *found = interrupt_cause(name);

	return cause ? found && !strcmp(found, cause) : !found;
}

TEST(interrupts_are_known_by_their_entries)
{
	CHECK(interrupt_is_entry("asm_sysvec_apic_timer_interrupt"));
	CHECK(interrupt_is_entry("asm_common_interrupt"));
	CHECK(interrupt_is_entry("el1h_64_irq"));
	CHECK(interrupt_is_entry("el0_irq_naked"));
	/* calls and faults are no interrupts */
	CHECK(!interrupt_is_entry("entry_SYSCALL_64_after_hwframe"));
	CHECK(!interrupt_is_entry("asm_exc_page_fault"));
	CHECK(!interrupt_is_entry("el0t_64_sync"));
	CHECK(!interrupt_is_entry("ret_from_fork_asm"));
	CHECK(!interrupt_is_entry("do_softirq"));
	/* names what an interrupt is about */
	CHECK(is_cause("asm_sysvec_apic_timer_interrupt", "timer"));
	CHECK(is_cause("arch_timer_handler_phys", "timer"));
	CHECK(is_cause("net_rx_action", "net_rx"));
	CHECK(is_cause("asm_sysvec_call_function_single", "ipi"));
	CHECK(is_cause("asm_common_interrupt", "device"));
	CHECK(is_cause("try_to_wake_up", NULL));
	CHECK(is_cause("asm_sysvec_kvm_asyncpf_interrupt", NULL));
}
