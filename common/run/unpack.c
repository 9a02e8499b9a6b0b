// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed data that a binary carries; see unpack.h. The format ends with the size of what was packed
 * (RFC 1952, 2.3.1).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"
#include "base/msg.h"
#include "run/unpack.h"

#define GZIP (16 + MAX_WBITS)

static bool inflate_all(const unsigned char *packed, size_t packed_bytes, void *out, size_t bytes)
{
	z_stream z = {
		.next_in = packed,
		.avail_in = (uInt)packed_bytes,
		.next_out = out,
		.avail_out = (uInt)bytes,
	};
	int status;

	if (inflateInit2(&z, GZIP) != Z_OK)
		return false;
	status = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return status == Z_STREAM_END;
}

void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes)
{
	uint32_t size;
	void *out;

	memcpy(&size, packed + packed_bytes - sizeof(size), sizeof(size));
	out = mem_realloc(NULL, size, 1);
	if (!inflate_all(packed, packed_bytes, out, size)) {
		msg_error("embedded BPF object: corrupt (reinstall tracelets)");
		exit(1);
	}
	*bytes = size;
	return out;
}
