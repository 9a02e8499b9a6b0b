// SPDX-License-Identifier: GPL-2.0-only
/* Names of errors, against this machine's headers. */
#include "process/syscalls.h"
#include "silent.h"
#include "unit.h"

static const char *label(uint32_t error)
{
	static char text[32];

	return errname_label(text, sizeof(text), error);
}

/* 0: refused. */
static uint32_t parse(const char *text)
{
	uint32_t error = 0;
	int err;

	SAID(err = errname_parse("--errno", text, &error));
	return err ? 0 : error;
}

TEST(errors_have_names_and_numbers)
{
	CHECK_STR(label(EPERM), "EPERM");
	CHECK_STR(label(ENOENT), "ENOENT");
	CHECK_STR(label(EHWPOISON), "EHWPOISON");
	CHECK_STR(label(600), "[600]");
	CHECK_STR(label(0), "[0]");
	/* of two names the usual one is shown */
	CHECK_STR(label(EAGAIN), "EAGAIN");
	CHECK_STR(label(EOPNOTSUPP), "EOPNOTSUPP");
	CHECK_STR(label(EDEADLK), "EDEADLK");
	CHECK_EQ(parse("EWOULDBLOCK"), EAGAIN);
	CHECK_EQ(parse("ENOTSUP"), EOPNOTSUPP);
	/* names and numbers are read */
	CHECK_EQ(parse("EPERM"), 1);
	CHECK_EQ(parse("13"), 13);
	CHECK_EQ(parse("0x16"), 22);
	CHECK_EQ(parse("4095"), 4095);
	CHECK_EQ(parse("ERESTARTSYS"), 512);
	/* calls to be begun again have not failed */
	CHECK(errname_is_restart(512));
	CHECK(errname_is_restart(513));
	CHECK(errname_is_restart(514));
	CHECK(errname_is_restart(516));
	CHECK(!errname_is_restart(515)); /* ENOIOCTLCMD */
	CHECK(!errname_is_restart(EINTR));
	CHECK(!errname_is_restart(0));
	CHECK_STR(label(514), "ERESTARTNOHAND");
}

TEST(anything_else_is_refused)
{
	static const char *const bad[] = { "", "0", "4096", "-1", "1x", "EPER", "eperm", "EPERMX" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(parse(bad[i]), 0);
}
