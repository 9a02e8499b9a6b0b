// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that enter the kernel, and first functions of kernel threads: arch/x86/entry
 * (entry_64.S, entry_64_compat.S, idtentry.h, entry_64_fred.S), arch/x86/kernel/head_64.S, and
 * arch/arm64/kernel/entry.S; see kernel_roots.h.
 */
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "output/kernel_roots.h"

/* A name that ends with "*" is a prefix. */
static const char *const roots[] = {
	"entry_SYSCALL_64*",
	"entry_SYSCALL_compat*",
	"entry_SYSENTER_compat*",
	"entry_INT80_compat*",
	"asm_int80_emulation",
	"asm_fred_entrypoint_*",
	"asm_exc_*",
	"asm_sysvec_*",
	"asm_common_interrupt",
	"secondary_startup_64*",
	"ret_from_fork",
	"ret_from_fork_asm",
	"el0_sync",
	"el0_sync_compat",
	"el0_irq",
	"el1_sync",
	"el1_irq",
	"el0t_64_*",
	"el0t_32_*",
	"el1h_64_*",
};

static bool matches(const char *name, const char *pattern)
{
	size_t length = strlen(pattern);

	return pattern[length - 1] == '*' ? !strncmp(name, pattern, length - 1)
					  : !strcmp(name, pattern);
}

bool kernel_is_root(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (matches(name, roots[i]))
			return true;
	return false;
}
