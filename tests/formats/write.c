// SPDX-License-Identifier: GPL-2.0-only
/* Writes the samples in a format, "write folded", for other programs to read. */
#include "output/writer.h"
#include "samples.h"

int main(int argc, char **argv)
{
	const struct writer_facts facts = {
		.tool = "profile",
		.host = "host",
		.kernel = "6.1",
		.end_unix_ns = 1700000000000000000,
		.duration_ns = 1000000000,
	};
	const struct writer_style style = { .facts = &facts };
	const struct writer *writer = argc == 2 ? writer_by_name(argv[1]) : NULL;
	struct profile *p;

	if (!writer)
		return 2;
	p = samples_make("samples");
	writer->write(stdout, p, &style);
	profile_free(p);
	return ferror(stdout) || fflush(stdout);
}
