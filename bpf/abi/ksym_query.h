/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses whose symbols the kernel is asked for: what both sides know. */
#ifndef BPF_KSYMS_H
#define BPF_KSYMS_H

#define KSYMS_AT_ONCE 4096

#endif
