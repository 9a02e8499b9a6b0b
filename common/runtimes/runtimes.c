// SPDX-License-Identifier: GPL-2.0-only
/* The known runtimes; see runtimes.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "elf/elfexports.h"
#include "runtimes/hotspot/hotspot.h"
#include "runtimes/python/python.h"
#include "runtimes/runtimes.h"
#include "runtimes/v8/v8.h"

#define NODE_ADVICE "start it with --perf-basic-prof --interpreted-frames-native-stack"
#define FILES(...)  ((const char *const[]){ __VA_ARGS__, NULL })

/* In order of precedence: a program may contain several. */
static const struct runtime runtimes[] = {
	{
		.name = "Python",
		.files = FILES(NULL),
		.code = &python_code,
		.interpreter = "_PyEval_EvalFrameDefault",
	},
	{
		.name = "java",
		.files = FILES("libjvm.so"),
		.code = &hotspot_code,
	},
	{
		.name = ".NET",
		.files = FILES("libcoreclr.so"),
		.to_complete = "start it with DOTNET_PerfMapEnabled=1 in its environment",
		.to_name = "start it with DOTNET_PerfMapEnabled=1 in its environment",
	},
	{
		.name = "node",
		.files = FILES("node", "nodejs", "libnode.so"),
		.code = &v8_code,
		.to_complete = NODE_ADVICE,
		.to_name = NODE_ADVICE,
	},
	{
		.name = "erlang",
		.files = FILES("beam.smp"),
		.to_complete = "start it with +JPperf true",
		.to_name = "start it with +JPperf true",
	},
	{
		.name = "julia",
		.files = FILES("libjulia.so", "libjulia-internal.so"),
	},
	{
		.name = "mono",
		.files = FILES("mono", "mono-sgen", "libmonosgen-2.0.so", "libmono-2.0.so"),
		.to_complete = "start it with mono --jitmap",
		.to_name = "start it with mono --jitmap",
	},
	{
		.name = "wasmtime",
		.files = FILES("wasmtime", "libwasmtime.so"),
		.to_complete = "start it with --profile=perfmap",
		.to_name = "start it with --profile=perfmap",
	},
	{
		.name = "luajit",
		.files = FILES("luajit", "libluajit-5.1.so"),
		.to_complete = "start it with -joff (disables the compiler)",
	},
	{
		.name = "php",
		.files = FILES("opcache.so", "php", "php-fpm", "php-cgi", "libphp"),
		.to_complete = "use PHP 8.4 or -d opcache.jit=off, and -d pcre.jit=0",
		.to_name = "start it with -d opcache.jit_debug=16",
	},
	{
		.name = "ruby",
		.files = FILES("ruby", "libruby"),
		.to_complete = "start it with --yjit-perf (Ruby 3.3 or newer)",
		.to_name = "start it with --yjit-perf (Ruby 3.3 or newer)",
	},
};

/*
 * Returns true for allowed suffixes of a name: none, a version ("8.2", "-3.1", "so"), or the
 * kernel's (" (deleted)").
 */
static bool is_version(const char *text)
{
	text += *text == '.' || *text == '-';
	return !*text || isdigit((unsigned char)*text) || !strncmp(text, "so", 2) ||
	       !strcmp(text, " (deleted)");
}

static bool is_of(const struct runtime *runtime, const char *base)
{
	for (const char *const *name = runtime->files; *name; name++) {
		size_t length = strlen(*name);

		if (*base == **name && !strncmp(base, *name, length) && is_version(base + length))
			return true;
	}
	return false;
}

/* Returns the index of the first runtime, below max, that the mapping's file belongs to; or max. */
static size_t find_file(const struct mapped *m, size_t max)
{
	const char *base = path_last(m->name->path);
	size_t i = 0;

	while (i < max && !is_of(&runtimes[i], base))
		i++;
	return i;
}

const struct runtime *runtime_find(const struct maps *maps)
{
	size_t first = ARRAY_SIZE(runtimes);

	for (size_t i = 0; i < maps->count; i++)
		if (!i || maps->items[i].name != maps->items[i - 1].name)
			first = find_file(&maps->items[i], first);
	return first < ARRAY_SIZE(runtimes) ? &runtimes[first] : NULL;
}

void runtime_advice(char *text, size_t size, const char *advice, pid_t pid)
{
	const char *at = pid ? strstr(advice, "PID") : NULL;

	if (at)
		snprintf(text, size, "%.*s%d%s", (int)(at - advice), advice, pid, at + 3);
	else
		snprintf(text, size, "%s", advice);
}

struct runtime_file *runtime_recognize(const struct elf64 *elf)
{
	struct runtime_file *file = NULL;

	for (size_t i = 0; !file && i < ARRAY_SIZE(runtimes); i++)
		if (runtimes[i].code)
			file = runtimes[i].code->recognize(elf);
	return file;
}

void runtime_function_free(struct runtime_function *function)
{
	if (!function)
		return;
	free(function->name);
	free(function->file);
	free(function);
}

uint32_t runtime_thread_bytes(const struct elf64 *elf)
{
	Elf64_Sym symbol;
	uint32_t *at, n_bytes;

	if (elfexports_find_symbol(elf, "_thread_db_sizeof_pthread", &symbol))
		return 0;
	at = elf64_read_vaddr(elf, symbol.st_value, sizeof(*at), sizeof(*at));
	n_bytes = at ? *at : 0;
	free(at);
	return n_bytes < RUNTIME_THREAD_BYTES && !(n_bytes % sizeof(uint64_t)) ? n_bytes : 0;
}

const struct runtime_code *runtime_code_of(uint32_t kind)
{
	for (size_t i = 0; kind < RUNTIME_KINDS && i < ARRAY_SIZE(runtimes); i++)
		if (runtimes[i].code && runtimes[i].code->kinds & RUNTIME_BIT(kind))
			return runtimes[i].code;
	return NULL;
}

bool runtime_is_interpreter(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (runtimes[i].interpreter && !strcmp(runtimes[i].interpreter, function))
			return true;
	return false;
}
