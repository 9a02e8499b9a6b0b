// SPDX-License-Identifier: GPL-2.0-only
/* Names of error numbers; see errnames.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/msg.h"
#include "base/parse.h"
#include "syscount/errnames.h"

#define MAX_ERRNO 4095 /* MAX_ERRNO, include/linux/err.h */

struct error_name {
	uint32_t error;
	const char *name;
};

#define NUMBER(error, name) { error, #name },

static const struct error_name names[] = {
#include "errno_numbers.h"
};

/* include/linux/errno.h */
static const struct error_name restart_names[] = {
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 516, "ERESTART_RESTARTBLOCK" },
};

/* Returns true for a name that is defined by another one of the same number, which is older. */
static bool is_alias(const char *name)
{
	static const char *const aliases[] = { "EWOULDBLOCK", "EDEADLOCK", "ENOTSUP" };

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(name, aliases[i]))
			return true;
	return false;
}

static const char *find_name(uint32_t error)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].error == error && !is_alias(names[i].name))
			return names[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(restart_names); i++)
		if (restart_names[i].error == error)
			return restart_names[i].name;
	return NULL;
}

char *errname_label(char *buf, size_t size, uint32_t error)
{
	const char *name = find_name(error);

	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "[%u]", error);
	return buf;
}

static bool find_error(const struct error_name *table, size_t n, const char *name, uint32_t *error)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(table[i].name, name))
			continue;
		*error = table[i].error;
		return true;
	}
	return false;
}

int errname_parse(const char *what, const char *text, uint32_t *error)
{
	uint64_t value;

	if (isdigit((unsigned char)*text)) {
		if (parse_uint(what, text, 1, MAX_ERRNO, &value))
			return -EINVAL;
		*error = (uint32_t)value;
		return 0;
	}
	if (find_error(names, ARRAY_SIZE(names), text, error) ||
	    find_error(restart_names, ARRAY_SIZE(restart_names), text, error))
		return 0;
	return msg_error("%s: '%s' is not the name of an error (example: EPERM)", what, text);
}

bool errname_is_restart(uint32_t error)
{
	for (size_t i = 0; i < ARRAY_SIZE(restart_names); i++)
		if (restart_names[i].error == error)
			return true;
	return false;
}
