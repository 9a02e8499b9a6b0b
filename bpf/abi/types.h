/* SPDX-License-Identifier: GPL-2.0-only */
/* Integer types and barrier_var(), for headers that BPF and the loader include. */
#ifndef ABI_TYPES_H
#define ABI_TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#else
#include <linux/types.h>
#include <stdbool.h>
/* As in bpf_helpers.h: compilers make no assumption about the value from here on. */
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#endif

#endif
