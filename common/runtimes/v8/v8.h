/* SPDX-License-Identifier: GPL-2.0-only */
/* V8 in Node.js as a runtime: functions in native frames, those inlined into them, and lines. */
#ifndef V8_H
#define V8_H

#include "runtimes/runtime.h"

extern const struct runtime_code v8_code;

#endif
