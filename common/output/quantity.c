// SPDX-License-Identifier: GPL-2.0-only
/* Values with their units; see quantity.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "output/quantity.h"

#define UNIT_BYTES   32
#define MAX_FRACTION 10000000 /* numbers with a fraction have at most 7 digits */

/* A unit's steps, each `factor` times the previous one. */
struct scale {
	const char *unit;
	struct step {
		const char *name;
		unsigned int factor;
	} steps[6];
};

static const struct scale scales[] = {
	{ "nanoseconds", { { "ns", 1 }, { "us", 1000 }, { "ms", 1000 }, { "s", 1000 } } },
	{ "microseconds", { { "us", 1 }, { "ms", 1000 }, { "s", 1000 } } },
	{ "bytes",
	  { { "B", 1 }, { "KiB", 1024 }, { "MiB", 1024 }, { "GiB", 1024 }, { "TiB", 1024 } } },
};

bool quantity_shift(uint64_t *value, int places)
{
	uint64_t power = 1, shifted;

	for (int i = places < 0 ? -places : places; i > 0 && *value; i--)
		if (__builtin_mul_overflow(power, 10, &power)) {
			*value = places < 0 ? 0 : *value;
			return places < 0;
		}
	if (places < 0)
		shifted = *value / power + (*value % power >= (power + 1) / 2);
	else if (__builtin_mul_overflow(*value, power, &shifted))
		return false;
	*value = shifted;
	return true;
}

double quantity_double(uint64_t value, unsigned int decimals)
{
	double power = 1;

	while (decimals--)
		power *= 10;
	return (double)value / power;
}

char *quantity_digits(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals)
{
	char digits[QUANTITY_MAX];
	int whole;

	for (; decimals && value % 10 == 0; decimals--)
		value /= 10;
	whole = snprintf(digits, sizeof(digits), "%0*" PRIu64, (int)decimals + 1, value) -
		(int)decimals;
	snprintf(buf, QUANTITY_MAX, "%.*s%s%.31s", whole, digits, decimals ? "." : "",
		 digits + whole);
	return buf;
}

/* Formats digits: at most 7 of a number with a fraction, rounded, but all of an integer. */
static char *format_digits(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals)
{
	unsigned int excess = 0;

	for (uint64_t rest = value; rest >= MAX_FRACTION && excess < decimals; rest /= 10)
		excess++;
	quantity_shift(&value, -(int)excess);
	return quantity_digits(buf, value, decimals - excess);
}

/* Formats a count with separators of thousands: "12,345". */
static char *format_count(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals)
{
	char digits[QUANTITY_MAX];
	size_t n = strcspn(format_digits(digits, value, decimals), ".");
	char *out = buf;

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	memcpy(out, digits + n, strlen(digits + n) + 1);
	return buf;
}

static char *format_scaled(char *buf, uint64_t value, unsigned int decimals,
			   const struct step *step)
{
	double scaled = quantity_double(value, decimals);
	char digits[QUANTITY_MAX];

	for (; step[1].name && scaled >= step[1].factor; step++)
		scaled /= step[1].factor;
	if (step->factor == 1)
		snprintf(buf, QUANTITY_MAX, "%.31s %s", format_digits(digits, value, decimals),
			 step->name);
	else
		snprintf(buf, QUANTITY_MAX, "%.*f %s",
			 scaled < 10	? 2
			 : scaled < 100 ? 1
					: 0,
			 scaled, step->name);
	return buf;
}

static const struct scale *find_scale(const char *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
		if (!strcmp(scales[i].unit, unit))
			return &scales[i];
	return NULL;
}

const char *quantity_unit(char buf[QUANTITY_MAX], uint64_t value, const char *unit)
{
	size_t length = strlen(unit);

	if (value != 1 || !length || unit[length - 1] != 's')
		return unit;
	snprintf(buf, QUANTITY_MAX, "%.*s", (int)length - 1, unit);
	return buf;
}

char *quantity_format_short(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals,
			    const char *unit)
{
	const struct scale *scale = find_scale(unit);

	return scale ? format_scaled(buf, value, decimals, scale->steps)
		     : format_count(buf, value, decimals);
}

char *quantity_format_decimal(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals,
			      const char *unit)
{
	char number[QUANTITY_MAX], name[QUANTITY_MAX], shown[UNIT_BYTES + 1];

	if (find_scale(unit))
		return quantity_format_short(buf, value, decimals, unit);
	format_count(number, value, decimals);
	unit = quantity_unit(name, !strcmp(number, "1"), unit);
	snprintf(buf, QUANTITY_MAX, "%.27s %s", number,
		 escape_string(shown, sizeof(shown), unit, NULL));
	return buf;
}

char *quantity_format(char buf[QUANTITY_MAX], uint64_t value, const char *unit)
{
	return quantity_format_decimal(buf, value, 0, unit);
}
