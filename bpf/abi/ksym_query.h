/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses for which the kernel is asked to print the symbols. */
#ifndef ABI_KSYM_QUERY_H
#define ABI_KSYM_QUERY_H

#define KSYMS_AT_ONCE 4096

#endif
