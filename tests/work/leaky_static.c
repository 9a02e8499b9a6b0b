// SPDX-License-Identifier: GPL-2.0-only
/* leaky, linked statically: see the Makefile. */
#include "leaky.c"
