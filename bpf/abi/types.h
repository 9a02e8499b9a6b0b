/* SPDX-License-Identifier: GPL-2.0-only */
/* Integer types, for headers that BPF and the loader include. */
#ifndef ABI_TYPES_H
#define ABI_TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#include <stdbool.h>
#endif

#endif
