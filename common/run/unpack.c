// SPDX-License-Identifier: GPL-2.0-only
/* Packed data that a binary carries; see unpack.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/msg.h"
#include "run/unpack.h"

#define GZIP_TRAILER_BYTES 8
#define GZIP_ONLY	   16 /* to inflateInit2(): a gzip header, not zlib's */

/* The last four bytes are the size, little end first (RFC 1952, 2.3.1). */
static size_t unpacked_bytes(const unsigned char *packed, size_t packed_bytes)
{
	const unsigned char *size = packed + packed_bytes - 4;

	return size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
}

static bool inflate_all(z_stream *stream)
{
	bool done;

	if (inflateInit2(stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
		return false;
	done = inflate(stream, Z_FINISH) == Z_STREAM_END;
	inflateEnd(stream);
	return done;
}

void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes)
{
	z_stream stream = { .next_in = (unsigned char *)packed, .avail_in = (uInt)packed_bytes };
	unsigned char *out = NULL;

	*bytes = 0;
	if (packed_bytes > GZIP_TRAILER_BYTES) {
		*bytes = unpacked_bytes(packed, packed_bytes);
		out = mem_zalloc(1, *bytes);
		stream.next_out = out;
		stream.avail_out = (uInt)*bytes;
	}
	if (!out || !inflate_all(&stream)) {
		msg_error("a part of this program is broken");
		exit(1);
	}
	return out;
}
