// SPDX-License-Identifier: GPL-2.0-only
/* Data that is carried along packed comes out as it went in; what is broken is not passed on. */

#define ZLIB_CONST
#include <zlib.h>

#include "run/bpf_object.h"
#include "unit.h"

static size_t pack(const char *text, size_t size, unsigned char *out, size_t out_size)
{
	z_stream z = { .next_in = (const Bytef *)text, .avail_in = (uInt)size };

	z.next_out = out;
	z.avail_out = (uInt)out_size;
	CHECK_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

TEST(what_was_packed_comes_out)
{
	char text[100003];
	unsigned char packed[120000];
	size_t n, bytes;
	void *out;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * i >> 7);
	n = pack(text, sizeof(text), packed, sizeof(packed));
	out = unpack(packed, n, &bytes);
	CHECK_EQ(bytes, sizeof(text));
	CHECK_EQ(memcmp(out, text, sizeof(text)), 0);
	free(out);
}

/* The status of a process that unpacks the first n bytes. */
static int status_of(const unsigned char *packed, size_t n)
{
	size_t bytes;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		close(STDERR_FILENO);
		free(unpack(packed, n, &bytes));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

TEST(broken_data_ends_the_process)
{
	unsigned char packed[256];
	size_t n = pack("a part of a program", 19, packed, sizeof(packed));

	CHECK_EQ(status_of(packed, n), 0);
	CHECK(status_of(packed, 4) != 0);
	packed[n / 2] ^= 0x40;
	CHECK(status_of(packed, n) != 0);
}
