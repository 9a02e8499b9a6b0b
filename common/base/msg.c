// SPDX-License-Identifier: GPL-2.0-only
/* Messages on stderr; see msg.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/limits.h"
#include "base/msg.h"

bool msg_verbose;
bool msg_quiet;

static const char *tool_name = "tracelets";

void msg_set_name(const char *name)
{
	tool_name = name;
}

/*
 * Prints a line with one write, so that lines of several processes do not mix. Escapes the text,
 * since names in it may have been chosen by traced programs.
 */
static void print_line(const char *prefix, const char *reason, const char *fmt, va_list ap)
{
	char raw[1024], text[2 * sizeof(raw)];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	escape_string(text, sizeof(text), raw, "");
	fprintf(stderr, "%s: %s%s%s%s\n", tool_name, prefix, text, reason ? ": " : "",
		reason ? reason : "");
}

#define PRINT_LINE(prefix, reason)                   \
	do {                                         \
		va_list ap;                          \
		va_start(ap, fmt);                   \
		print_line(prefix, reason, fmt, ap); \
		va_end(ap);                          \
	} while (0)

int msg_error(const char *fmt, ...)
{
	PRINT_LINE("", NULL);
	return -EINVAL;
}

int msg_errno(int err, const char *fmt, ...)
{
	char text[128];
	const char *hint = limit_hint(err, text, sizeof(text));

	PRINT_LINE("", strerror(-err));
	if (hint)
		msg_hint("%s", hint);
	return err;
}

void msg_hint_of_perf(int err)
{
	char text[128];
	const char *hint = limit_hint_of_perf(err, text, sizeof(text));

	if (hint)
		msg_hint("%s", hint);
}

void msg_warn(const char *fmt, ...)
{
	PRINT_LINE("warning: ", NULL);
}

void msg_hint(const char *fmt, ...)
{
	PRINT_LINE("hint: ", NULL);
}

void msg_info(const char *fmt, ...)
{
	if (!msg_quiet)
		PRINT_LINE("", NULL);
}

void msg_debug(const char *fmt, ...)
{
	if (msg_verbose)
		PRINT_LINE("", NULL);
}
