/* SPDX-License-Identifier: GPL-2.0-only */
/* HotSpot, the virtual machine of OpenJDK, as a runtime. */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "runtimes/runtime.h"

extern const struct runtime_code hotspot_code;

#endif
