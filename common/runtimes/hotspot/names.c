// SPDX-License-Identifier: GPL-2.0-only
/* Names of Java's methods; see names.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/hotspot.h"
#include "base/mem.h"
#include "runtimes/hotspot/names.h"

/*
 * Returns true at what makes a hidden class's name unique: an address after "+" or "/" (since 15),
 * a number after "/" in older versions. Names of packages don't begin with a digit.
 */
static bool is_address(const char *text, size_t n)
{
	return n > 1 && (*text == '+' || *text == '/') && isdigit((unsigned char)text[1]);
}

/* Appends a class's name; returns its end. */
static char *add_class(char *to, const char *name, size_t n)
{
	for (size_t i = 0; i < n && !is_address(name + i, n - i); i++)
		*to++ = name[i] == '/' ? '.' : name[i];
	return to;
}

static size_t shown(size_t length, size_t space)
{
	return length < space ? length : space - 1;
}

char *hotspot_join_name(const char *class_name, size_t class_bytes, const char *method_name,
			size_t method_bytes)
{
	static const char dots[] = "...";
	size_t n_class = shown(class_bytes, HOTSPOT_CLASS_BYTES),
	       n_method = shown(method_bytes, HOTSPOT_METHOD_BYTES);
	char *name = mem_zalloc(1, n_class + n_method + 2 + 2 * sizeof(dots)), *exact;
	char *end = add_class(name, class_name, n_class);

	if (n_class < class_bytes)
		end = stpcpy(end, dots);
	*end++ = '.';
	end = mempcpy(end, method_name, n_method);
	if (n_method < method_bytes)
		memcpy(end, dots, sizeof(dots));
	exact = mem_strdup(name);
	free(name);
	return exact;
}
