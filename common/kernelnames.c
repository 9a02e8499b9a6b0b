// SPDX-License-Identifier: GPL-2.0-only
/*
 * A copy of /proc/kallsyms is from some moment of the window. The kernel's own functions stay where
 * they are, and those of a module as long as it is loaded; whatever else the copy says of an address,
 * or does not say, is not relied on: BPF programs and trampolines come, go and take each other's place.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "kallsyms.h"
#include "kernelnames.h"
#include "ksyms.h"
#include "mem.h"
#include "readfile.h"

#define MODULES_MAX_BYTES (4u << 20)
#define MODULE_NAME_BYTES 64

struct kernelnames {
	struct background *background;
	const char *kallsyms_path, *modules_path;
	struct chore chore;
	bool is_expected;
	struct kallsyms_copy *copy; /* NULL: none could be made */
	char *modules;		    /* when the copy was begun; NULL: there are none */
};

struct kernelnames *kernelnames_from(struct background *background, const char *kallsyms_path,
				     const char *modules_path)
{
	struct kernelnames *names = mem_zalloc(1, sizeof(*names));

	names->background = background;
	names->kallsyms_path = kallsyms_path;
	names->modules_path = modules_path;
	return names;
}

struct kernelnames *kernelnames_new(struct background *background)
{
	return kernelnames_from(background, "/proc/kallsyms", "/proc/modules");
}

void kernelnames_free(struct kernelnames *names)
{
	if (!names)
		return;
	kallsyms_free(names->copy);
	free(names->modules);
	free(names);
}

static void copy_symbols(struct chore *chore)
{
	struct kernelnames *names =
		(struct kernelnames *)((char *)chore - offsetof(struct kernelnames, chore));

	names->modules = readfile(names->modules_path, MODULES_MAX_BYTES, NULL);
	names->copy = kallsyms_copy(names->kallsyms_path);
}

void kernelnames_expect(struct kernelnames *names)
{
	if (names->is_expected)
		return;
	names->is_expected = true;
	background_add(names->background, &names->chore, copy_symbols);
}

/* What a line of /proc/modules tells: another module, or the same loaded again, has another one. */
struct module {
	char name[MODULE_NAME_BYTES];
	unsigned long long bytes, addr;
};

static bool find_module(const char *text, const char *name, struct module *module)
{
	for (const char *line = text; line && *line; line += *line == '\n') {
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", module->name, &module->bytes,
			   &module->addr) == 3 &&
		    !strcmp(module->name, name))
			return true;
		line = strchrnul(line, '\n');
	}
	return false;
}

static bool has_stayed(const char *before, const char *now, const char *name)
{
	struct module a, b;

	return find_module(before, name, &a) && find_module(now, name, &b) && a.bytes == b.bytes &&
	       a.addr == b.addr;
}

/* Addresses are sorted: those of a module come together. */
static bool is_reliable(const struct kernelnames *names, const struct ksyms *ksyms,
			const uint64_t *addrs, size_t n)
{
	char *now = readfile(names->modules_path, MODULES_MAX_BYTES, NULL);
	const char *stayed = NULL;
	struct ksym sym;
	size_t i;

	for (i = 0; i < n && ksyms_find(ksyms, addrs[i], &sym); i++) {
		if (!sym.module || sym.module == stayed)
			continue;
		if (!has_stayed(names->modules, now, sym.module))
			break;
		stayed = sym.module;
	}
	free(now);
	return i == n;
}

struct ksyms *kernelnames_for(struct kernelnames *names, uint64_t *addrs, size_t n)
{
	struct ksyms *ksyms;

	if (names->is_expected)
		background_finish(names->background, &names->chore);
	if (names->copy) {
		ksyms = ksyms_copied_for(names->copy, addrs, n);
		if (ksyms_hidden(ksyms) || is_reliable(names, ksyms, addrs, n))
			return ksyms;
		ksyms_free(ksyms);
	}
	return ksyms_load_for(names->kallsyms_path, addrs, n);
}
