// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demangles names; see demangle.h. The traced side chooses the names, and a name of a hundred
 * letters can stand for a text of 2^50. So the text is received in pieces, and longjmp(3) aborts
 * the demangler when it gets too long. The C++ demangler keeps all its data on the stack; the Rust
 * one may leak the few bytes of one identifier.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbols/demangle.h"

/* From libiberty's demangle.h, whose path differs between distributions. */
#define DMGL_PARAMS (1 << 0)
#define DMGL_ANSI   (1 << 1)

typedef void text_fn(const char *bytes, size_t n, void *arg);

int cplus_demangle_v3_callback(const char *mangled, int options, text_fn *callback, void *arg);
int rust_demangle_callback(const char *mangled, int options, text_fn *callback, void *arg);

#define TEXT_MAX_BYTES	  (64u << 10)
#define MANGLED_MAX_BYTES (16u << 10)
#define MAX_LIFETIMES	  10000000

struct text {
	char *bytes;
	size_t used, cap;
	jmp_buf too_long;
};

static void append(const char *bytes, size_t n, void *arg)
{
	struct text *t = arg;

	if (!n) /* an identifier in Rust may be empty */
		return;
	if (n >= TEXT_MAX_BYTES - t->used)
		longjmp(t->too_long, 1);
	if (t->used + n + 1 > t->cap) {
		t->cap = 2 * (t->used + n + 1);
		t->bytes = mem_realloc(t->bytes, t->cap, 1);
	}
	memcpy(t->bytes + t->used, bytes, n);
	t->used += n;
	t->bytes[t->used] = '\0';
}

/* Demangles Rust first: its legacy names are C++ names with a hash at the end. */
static bool print_name(struct text *t, const char *name)
{
	if (setjmp(t->too_long))
		return false;
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, t))
		return true;
	t->used = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, t);
}

/*
 * Returns true if a Rust name (v0) may bind too many lifetimes: "G", a number in base 62 and "_" is
 * the number of lifetimes that a type binds, which is a function's ("F") or a trait object's ("D").
 * libiberty loops that often, even after reaching its output limit: a number of ten digits takes
 * years. An identifier or a crate's hash may look the same, and is then left mangled.
 */
static bool binds_too_many(const char *name)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	double sum = 0;

	if (name[1] != 'R')
		return false;
	while ((name = strchr(name, 'G'))) {
		bool is_binder = name[-1] == 'F' || name[-1] == 'D';
		size_t n = strspn(++name, digits);
		double number = is_binder;

		for (size_t i = 0; name[n] == '_' && i < n && number <= MAX_LIFETIMES; i++)
			number *= 62;
		sum += number;
	}
	return sum > MAX_LIFETIMES;
}

static char *demangle_plain(const char *name)
{
	struct text *t = mem_zalloc(1, sizeof(*t));
	char *bytes;

	if (!print_name(t, name) || !t->used) {
		free(t->bytes);
		t->bytes = NULL;
	}
	bytes = t->bytes;
	free(t);
	return bytes;
}

static char *demangle_stub(const char *name, size_t n)
{
	char *function = mem_strndup(name, n), *text = demangle_plain(function), *stub = NULL;

	if (text)
		stub = mem_printf("%s@plt", text);
	free(function);
	free(text);
	return stub;
}

char *demangle(const char *name)
{
	static const char plt[] = "@plt";
	size_t n, suffix = strlen(plt);

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	n = strlen(name);
	if (n > MANGLED_MAX_BYTES || binds_too_many(name))
		return NULL;
	if (n > suffix && !strcmp(name + n - suffix, plt))
		return demangle_stub(name, n - suffix);
	return demangle_plain(name);
}
