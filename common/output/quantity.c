// SPDX-License-Identifier: GPL-2.0-only
/* Values with their units; see quantity.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "output/quantity.h"

#define UNIT_BYTES 32

/* Steps of a unit, each that many times the one before it. */
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

/* With thousands apart: "12,345". */
static char *format_count(char buf[QUANTITY_MAX], uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *out = buf;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

static char *format_scaled(char *buf, uint64_t value, const struct step *step)
{
	double scaled = (double)value;

	for (; step[1].name && scaled >= step[1].factor; step++)
		scaled /= step[1].factor;
	if (step->factor == 1)
		snprintf(buf, QUANTITY_MAX, "%" PRIu64 " %s", value, step->name);
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

char *quantity_format_short(char buf[QUANTITY_MAX], uint64_t value, const char *unit)
{
	const struct scale *scale = find_scale(unit);

	return scale ? format_scaled(buf, value, scale->steps) : format_count(buf, value);
}

char *quantity_format(char buf[QUANTITY_MAX], uint64_t value, const char *unit)
{
	char number[QUANTITY_MAX], name[QUANTITY_MAX], shown[UNIT_BYTES + 1];

	if (find_scale(unit))
		return quantity_format_short(buf, value, unit);
	snprintf(buf, QUANTITY_MAX, "%.27s %s", format_count(number, value),
		 escape_string(shown, sizeof(shown), quantity_unit(name, value, unit), NULL));
	return buf;
}
