/* SPDX-License-Identifier: GPL-2.0-only */
/* CPython with the GIL, 3.8 to 3.15: see runtime.h. */
#ifndef PYTHON_H
#define PYTHON_H

#include "runtimes/runtime.h"

extern const struct runtime_code python_code;

#endif
