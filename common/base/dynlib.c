// SPDX-License-Identifier: GPL-2.0-only
/* Loads shared libraries at run time; see dynlib.h. */
#include <dlfcn.h>
#include <stddef.h>

#include "base/dynlib.h"

void *dynlib_find(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	return handle ? dlsym(handle, name) : NULL;
}
