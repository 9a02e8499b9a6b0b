// SPDX-License-Identifier: GPL-2.0-only
/* See minidebug.h. */
#include <errno.h>

#include "base/unxz.h"
#include "symbols/minidebug.h"

void *minidebug_read(const struct elffile *f, size_t *size)
{
	GElf_Shdr sh;
	Elf_Data *data = elffile_data(f, elffile_section(f, ".gnu_debugdata", &sh));

	if (data && data->d_size)
		return unxz(data->d_buf, data->d_size, size);
	errno = ENOENT;
	return NULL;
}
