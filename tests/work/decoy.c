// SPDX-License-Identifier: GPL-2.0-only
/* The same program as spin, byte for byte where code lies, but with other names for it. */
#define spin_hot   decoy_hot
#define spin_outer decoy_outer
#include "spin.c"
