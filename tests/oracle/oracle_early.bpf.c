// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle for kernels before 5.12, which have no compare-and-exchange in BPF, and whose uprobe
 * programs can't be preempted.
 */
#define ORACLE_EARLY
#include "oracle.bpf.c"
