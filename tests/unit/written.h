/* SPDX-License-Identifier: GPL-2.0-only */
/* A writer's output for a profile, in memory. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include "output/writer.h"
#include "unit.h"

/* Until the test's end; behind it is a zero byte. n_bytes: may be NULL. */
static inline char *written_by(const struct writer *writer, struct profile *p,
			       const struct writer_style *style, size_t *n_bytes)
{
	char *text = PRINTED(f, {
		writer->write(f, p, style);
		if (n_bytes) {
			fflush(f);
			*n_bytes = (size_t)ftello(f);
		}
	});

	return text;
}

#endif
