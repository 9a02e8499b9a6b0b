// SPDX-License-Identifier: GPL-2.0-only
/* Tests of lines that are too long for a screen. */
#include "output/screen.h"
#include "unit.h"

static size_t fit(const char *line, unsigned int columns)
{
	return screen_fit(line, strlen(line), columns);
}

TEST(lines_are_cut_to_the_screen)
{
	/* what fits is shown */
	CHECK_EQ(fit("", 80), 0);
	CHECK_EQ(fit("12 read", 80), 7);
	CHECK_EQ(fit("12 read", 7), 7);
	/* names are cut */
	CHECK_EQ(fit("12 read_more", 7), 7);
	CHECK_EQ(fit("12 read_more", 3), 3);
	/* numbers are not cut */
	CHECK_EQ(fit("read 50.1ms 50.1ms", 17), 12);
	CHECK_EQ(fit("read 50.1ms 50.1ms", 11), 11);
	CHECK_EQ(fit("read 50.1ms 50.1ms", 10), 5);
	CHECK_EQ(fit("1234", 3), 0);
	/* letters of several bytes are one */
	CHECK_EQ(fit("\xc3\xa4\xc3\xb6 x", 1), 2);
	CHECK_EQ(fit("\xc3\xa4\xc3\xb6 x", 2), 4);
	CHECK_EQ(fit("\xc3\xa4\xc3\xb6", 2), 4);
}
