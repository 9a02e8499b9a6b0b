// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts by the names of frames; see interrupts.h. */
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "symbols/interrupts.h"

struct named {
	const char *beginning, *text;
};

/*
 * Prefixes of entry functions. Sources: arch/x86/entry/entry_64.S and idtentry.h (asm_sysvec_*,
 * asm_common_interrupt; asm_exc_nmi), entry_64_fred.S; arch/arm64/kernel/entry.S (el1_irq, el0_irq
 * until 5.13; el1h_64_irq, ... since).
 */
static const char *const entries[] = {
	"asm_sysvec_",	"asm_common_interrupt",
	"asm_exc_nmi",	"fred_extint",
	"fred_sysvec_", "el0t_64_irq",
	"el0t_64_fiq",	"el1h_64_irq",
	"el1h_64_fiq",	"el0t_32_irq",
	"el0_irq",	"el1_irq",
	"el0_fiq",	"el1_fiq",
};

/* Causes by prefix of a function's name, for both architectures. */
static const struct named causes[] = {
	{ "net_rx_action", "net_rx" },
	{ "net_tx_action", "net_tx" },
	{ "blk_done_softirq", "block" },
	{ "blk_complete_reqs", "block" },
	{ "run_timer_softirq", "timer" },
	{ "hrtimer_run_softirq", "timer" },
	{ "hrtimer_interrupt", "timer" },
	{ "tick_handle_", "timer" },
	{ "tasklet_", "tasklet" },
	{ "rcu_core", "rcu" },
	{ "irq_work_run", "irq_work" },
	{ "asm_sysvec_apic_timer_interrupt", "timer" },
	{ "asm_sysvec_hyperv_stimer0", "timer" },
	{ "arch_timer_handler", "timer" },
	{ "asm_sysvec_call_function", "ipi" },
	{ "asm_sysvec_reschedule_ipi", "ipi" },
	{ "ipi_handler", "ipi" },
	{ "do_handle_IPI", "ipi" },
	{ "asm_sysvec_irq_work", "irq_work" },
	{ "asm_exc_nmi", "nmi" },
	{ "handle_irq_event", "device" },
	{ "__handle_irq_event_percpu", "device" },
	{ "asm_common_interrupt", "device" },
};

static bool begins_with(const char *name, const char *beginning)
{
	return !strncmp(name, beginning, strlen(beginning));
}

bool interrupt_is_entry(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (begins_with(name, entries[i]))
			return true;
	return false;
}

const char *interrupt_cause(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (begins_with(name, causes[i].beginning))
			return causes[i].text;
	return NULL;
}
