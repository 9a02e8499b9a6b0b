// SPDX-License-Identifier: GPL-2.0-only
/* framed MODE MS [PATH]: nofp with frame pointers: its stacks can be walked both ways. */
#define NOFP(name) framed_##name
#define NOFP_NAME  "framed"
#define NOFP_BYTES 24
#include "nofp.c"
