// SPDX-License-Identifier: GPL-2.0-only
/* Unpacking .gnu_debugdata with liblzma, bounded in memory; see minidebug.h. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbols/minidebug.h"

#define FIRST_BYTES	   (256u << 10)
#define UNPACKED_MAX_BYTES (64u << 20)
#define DECODER_MAX_BYTES  (128u << 20) /* xz -9 takes 65 MiB */

static void *fail(lzma_stream *s, void *unpacked, int err)
{
	lzma_end(s);
	free(unpacked);
	errno = err;
	return NULL;
}

void *minidebug_unpack(const void *packed, size_t packed_bytes, size_t *size)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t cap = FIRST_BYTES;
	uint8_t *unpacked;
	lzma_ret ret;

	if (lzma_stream_decoder(&s, DECODER_MAX_BYTES, 0) != LZMA_OK)
		return fail(&s, NULL, ENOMEM);
	unpacked = mem_realloc(NULL, cap, 1);
	s.next_in = packed;
	s.avail_in = packed_bytes;
	do {
		if (s.total_out == cap && cap == UNPACKED_MAX_BYTES)
			return fail(&s, unpacked, EFBIG);
		if (s.total_out == cap)
			unpacked = mem_realloc(unpacked, cap *= 2, 1);
		s.next_out = unpacked + s.total_out;
		s.avail_out = cap - s.total_out;
		ret = lzma_code(&s, LZMA_FINISH);
	} while (ret == LZMA_OK);
	if (ret != LZMA_STREAM_END)
		return fail(&s, unpacked, EINVAL);
	*size = s.total_out;
	lzma_end(&s);
	return unpacked;
}

void *minidebug_read(const struct elffile *f, size_t *size)
{
	GElf_Shdr sh;
	Elf_Data *data = elffile_data(f, elffile_section(f, ".gnu_debugdata", &sh));

	if (data && data->d_size)
		return minidebug_unpack(data->d_buf, data->d_size, size);
	errno = ENOENT;
	return NULL;
}
