// SPDX-License-Identifier: GPL-2.0-only
/* nofp with other names and frame sizes: its unwind rows must not be mixed up with nofp's. */
#define NOFP(name) other_##name
#define NOFP_NAME  "other"
#define NOFP_BYTES 200
#include "nofp.c"
