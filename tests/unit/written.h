/* SPDX-License-Identifier: GPL-2.0-only */
/* What a writer makes of a profile, in memory. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include <stdlib.h>

#include "output/writer.h"

/* To be freed; behind it is a zero byte. n_bytes: may be NULL. */
__attribute__((returns_nonnull)) static inline char *written_by(const struct writer *writer,
								struct profile *p,
								const struct writer_style *style,
								size_t *n_bytes)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	writer->write(f, p, style);
	fclose(f);
	if (n_bytes)
		*n_bytes = size;
	return text;
}

#endif
