/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detects NMI samples during the kernel's entry, when the saved user registers are still those of
 * the previous entry. perf's samples have no user registers then, either (perf_get_regs_user(),
 * arch/x86/kernel/perf_regs.c).
 */
#ifndef KERNEL_ENTRY_BPF_H
#define KERNEL_ENTRY_BPF_H

#include "abi/types.h"

#define ENTRY_AREA_SHIFT 39 /* Documentation/arch/x86/x86_64/mm.rst: cpu_entry_area */
#define ENTRY_AREA	 (0xfffffe0000000000ULL >> ENTRY_AREA_SHIFT)

/*
 * Returns true if an NMI has interrupted the kernel's entry on x86-64, by the interrupted cs and
 * sp: kernel code that still has the program's stack pointer (or prepares CR3 in that register),
 * uses the entry stack, or is pushing the registers.
 */
static inline __attribute__((always_inline)) bool
kernel_is_being_entered(__u64 cs, __u64 sp, __u64 registers_at, __u64 registers_bytes)
{
	if (cs & 3)
		return false;
	return !(sp >> 63) || sp >> ENTRY_AREA_SHIFT == ENTRY_AREA ||
	       (sp > registers_at && sp <= registers_at + registers_bytes);
}

#endif
