// SPDX-License-Identifier: GPL-2.0-only
/* Tests of streams into memory. */
#include <sys/resource.h>

#include "base/text_stream.h"
#include "child.h"
#include "silent.h"

TEST(a_stream_keeps_all_that_is_written)
{
	struct text_stream s;
	char *text, line[16];

	text_stream_open(&s);
	CHECK_STR(text_stream_text(&s), "");
	fputs("discarded", s.f);
	text_stream_restart(&s);
	for (int i = 0; i < 20011; i++)
		fprintf(s.f, "%07d\n", i);
	CHECK_EQ(strlen(text_stream_text(&s)), 8 * 20011);
	fputc('\0', s.f);
	text = text_stream_close(&s);
	CHECK_EQ(s.size, 8 * 20011 + 1);
	for (int i = 0; i < 20011; i++) {
		snprintf(line, sizeof(line), "%07d\n", i);
		CHECK(!memcmp(text + 8 * (size_t)i, line, 8));
	}
	free(text);
}

#ifndef __SANITIZE_ADDRESS__ /* which needs much more */
#define SPACE (64 << 20)

static void write_more_than_fits(void)
{
	struct rlimit limit = { SPACE, SPACE };
	struct text_stream s;

	if (setrlimit(RLIMIT_AS, &limit))
		_exit(2);
	text_stream_open(&s);
	for (int i = 0; i < SPACE; i++)
		fputs("text", s.f);
	free(text_stream_close(&s));
}

TEST(a_stream_without_memory_ends_the_process)
{
	int status;
	const char *said = SAID(waitpid(start_child_with(write_more_than_fits), &status, 0));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK_HAS(said, "memory: allocation failed");
}
#endif
