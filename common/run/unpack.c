// SPDX-License-Identifier: GPL-2.0-only
/* Packed data that a binary carries; see unpack.h. */
#include <stdlib.h>

#include "base/msg.h"
#include "base/unxz.h"
#include "run/unpack.h"

void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes)
{
	void *out = unxz(packed, packed_bytes, bytes);

	if (out)
		return out;
	msg_error("a part of this program is broken");
	exit(1);
}
