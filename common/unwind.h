/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walking a user stack from outside: for threads that were off CPU before tracing began, whose
 * stack no BPF program could take.
 */
#ifndef UNWIND_H
#define UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct user_registers {
	uint64_t ip, sp, fp;
};

/*
 * Writes at most max addresses, leaf first, following frame pointers through the process's memory
 * (process_vm_readv(2)). Returns their number; at least 1, the instruction pointer itself.
 */
size_t unwind_remote(pid_t pid, const struct user_registers *regs, uint64_t *addrs, size_t max);

#endif
