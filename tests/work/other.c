// SPDX-License-Identifier: GPL-2.0-only
/* nofp under other names and with other frames: what must not be taken for it, nor it for this. */
#define NOFP(name) other_##name
#define NOFP_NAME  "other"
#define NOFP_BYTES 200
#include "nofp.c"
