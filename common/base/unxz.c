// SPDX-License-Identifier: GPL-2.0-only
/* Unpacks .xz files with liblzma, in bounded memory; see unxz.h. */
#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/unxz.h"

#define FIRST_BYTES	   (256u << 10)
#define UNPACKED_MAX_BYTES (64u << 20)
#define DECODER_MAX_BYTES  (128u << 20) /* xz -9 needs 65 MiB */

static void *fail(lzma_stream *s, void *unpacked, int err)
{
	lzma_end(s);
	free(unpacked);
	errno = err;
	return NULL;
}

void *unxz(const void *packed, size_t packed_bytes, size_t *size)
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
