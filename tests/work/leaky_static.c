// SPDX-License-Identifier: GPL-2.0-only
/* The same program, linked statically: see the Makefile. */
#include "leaky.c"
