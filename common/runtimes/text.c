// SPDX-License-Identifier: GPL-2.0-only
/* Texts of managed runtimes; see text.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "runtimes/text.h"

#define UTF8_MAX_BYTES 4

static size_t put_continued(char *to, uint32_t c, unsigned int n_more, uint8_t lead)
{
	to[0] = (char)(lead | c >> (6 * n_more));
	for (unsigned int i = 1; i <= n_more; i++)
		to[i] = (char)(0x80 | (c >> (6 * (n_more - i)) & 0x3f));
	return n_more + 1;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80)
		return put_continued(to, c, 0, 0);
	if (c < 0x800)
		return put_continued(to, c, 1, 0xc0);
	if (c < 0x10000)
		return put_continued(to, c, 2, 0xe0);
	return put_continued(to, c, 3, 0xf0);
}

char *runtime_text_decode(const uint8_t *text, size_t n, uint32_t bytes)
{
	char *utf8 = mem_zalloc(n * UTF8_MAX_BYTES + 1, 1), *exact;
	size_t used = 0;
	uint32_t c;

	for (size_t i = 0; i < n; i++) {
		c = 0;
		memcpy(&c, text + i * bytes, bytes);
		if (c)
			used += put_utf8(utf8 + used, c);
	}
	exact = mem_strdup(utf8);
	free(utf8);
	return exact;
}
