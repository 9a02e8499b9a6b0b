// SPDX-License-Identifier: GPL-2.0-only
/* Parses numbers of the command line; see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit duration_units[] = {
	{ "ns", 1 },	   { "us", NS_PER_US },	   { "ms", NS_PER_MS },
	{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	{ NULL, 0 },
};

static const struct unit size_units[] = {
	{ "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { "k", 1 << 10 }, { NULL, 0 },
};

static int read_uint(const char *text, uint64_t *out, const char **end)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, (char **)end, base);
	return errno ? -errno : 0;
}

int parse_uint(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *end;
	uint64_t value;

	if (read_uint(text, &value, &end) || *end)
		return msg_error("%s: '%s' is not a number", what, text);
	if (value < min || value > max)
		return msg_error("%s: %s is not between %llu and %llu", what, text,
				 (unsigned long long)min, (unsigned long long)max);
	*out = value;
	return 0;
}

static uint64_t find_factor(const struct unit *units, const char *suffix, uint64_t without)
{
	if (!*suffix)
		return without;
	for (; units->suffix; units++)
		if (!strcmp(suffix, units->suffix))
			return units->factor;
	return 0;
}

/* Returns factor multiplied by a decimal fraction, rounded down; at most 18 digits count. */
static uint64_t read_fraction(const char *digits, uint64_t factor)
{
	uint64_t value = 0, whole = 1;

	for (int i = 0; i < 18 && isdigit((unsigned char)digits[i]); i++) {
		value = value * 10 + (uint64_t)(digits[i] - '0');
		whole *= 10;
	}
	return (uint64_t)((__uint128_t)value * factor / whole);
}

/* Parses a number with a unit. without: factor of a missing unit. -EINVAL; -ERANGE: too large. */
static int parse_with_unit(const char *text, const struct unit *units, uint64_t without,
			   uint64_t *out)
{
	const char *end, *fraction = NULL;
	uint64_t whole, factor;
	int err = read_uint(text, &whole, &end);

	if (err)
		return err;
	if (*end == '.' && isdigit((unsigned char)end[1])) {
		fraction = ++end;
		end += strspn(end, "0123456789");
	}
	factor = find_factor(units, end, without);
	if (!factor)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, factor, out))
		return -ERANGE;
	if (fraction && __builtin_add_overflow(*out, read_fraction(fraction, factor), out))
		return -ERANGE;
	return 0;
}

int parse_duration(const char *what, const char *text, uint64_t unit_ns, uint64_t *out_ns)
{
	uint64_t ns = 0;
	int err = parse_with_unit(text, duration_units, unit_ns, &ns);

	if (err == -ERANGE || ns > PARSE_DURATION_MAX_NS)
		return msg_error("%s: '%s' is too long (at most 146 years)", what, text);
	if (err)
		return msg_error("%s: '%s' is not a duration (examples: 5, 1.5s, 10ms)", what,
				 text);
	*out_ns = ns;
	return 0;
}

int parse_size(const char *what, const char *text, uint64_t *out_bytes)
{
	if (parse_with_unit(text, size_units, 1, out_bytes))
		return msg_error("%s: '%s' is not a size (examples: 4096, 64K, 8M)", what, text);
	return 0;
}

int parse_decimal(const char *what, const char *text, double min, double max, double *out)
{
	char *end;
	double value;

	if (strspn(text, "0123456789.") < strlen(text))
		return msg_error("%s: '%s' is not a number", what, text);
	value = strtod(text, &end);
	if (end == text || *end)
		return msg_error("%s: '%s' is not a number", what, text);
	if (value < min || value > max)
		return msg_error("%s: %s is not between %g and %g", what, text, min, max);
	*out = value;
	return 0;
}

int parse_list(const char *what, const char *text, uint64_t min, uint64_t max,
	       int (*add)(uint64_t value, void *arg), void *arg)
{
	char *copy = mem_strdup(text), *rest = copy, *item;
	uint64_t value = 0;
	int err = 0;

	while (!err && (item = strsep(&rest, ","))) {
		err = parse_uint(what, item, min, max, &value);
		if (!err)
			err = add(value, arg);
	}
	free(copy);
	return err;
}
