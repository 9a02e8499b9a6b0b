// SPDX-License-Identifier: GPL-2.0-only
/*
 * entries FILE...: the allocating functions of these files and where their probes are placed, as
 * rows of tests/unit/alloc_entries.h: with the arguments where they belong, and with arguments
 * moved.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memleak/allocators.h"

#define RECORDED_BYTES 64

static const char *constant_of(enum probe_kind kind)
{
	static const char *const names[PROBE_KINDS] = {
		[PROBE_NOP] = "PROBE_NOP",	     [PROBE_PUSH] = "PROBE_PUSH",
		[PROBE_ADDRESS] = "PROBE_ADDRESS",   [PROBE_BRANCH] = "PROBE_BRANCH",
		[PROBE_LATE_NOP] = "PROBE_LATE_NOP", [PROBE_STEP] = "PROBE_STEP",
		[PROBE_REFUSED] = "PROBE_REFUSED",
	};

	return names[kind];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_bytes(int fd, const struct alloc_function *f)
{
	uint8_t code[RECORDED_BYTES];
	size_t wanted = f->bytes && f->bytes < sizeof(code) ? f->bytes : sizeof(code);
	ssize_t n = pread(fd, code, wanted, (off_t)f->offset);

	putchar('"');
	for (ssize_t i = 0; i < n; i++)
		printf("%02x", code[i]);
	putchar('"');
}

static void print_function(const struct allocators *a, const struct alloc_function *f,
			   const struct alloc_function *moved)
{
	const struct alloc_file *file = &a->files[f->file];
	const struct alloc_traits *traits = alloc_kind_traits(f->kind);

	printf("{ \"%s\", \"%s\", %u, %d, %u, %s, %u, %s, ", base_name(file->path), f->name,
	       traits->n_args, traits->wants_return, f->place.offset, constant_of(f->place.kind),
	       moved->place.offset, constant_of(moved->place.kind));
	print_bytes(file->fd, f);
	puts(" },");
}

static int print_file(const char *path)
{
	struct allocators_request strict = { .object = path };
	struct allocators_request moving = { .object = path, .may_move_args = true };
	struct allocators a = { 0 }, b = { 0 };
	int n = allocators_scan(&a, getpid(), &strict);

	if (n < 0 || allocators_scan(&b, getpid(), &moving) != n) {
		fprintf(stderr, "entries: %s: %s\n", path, strerror(n < 0 ? -n : 0));
		return 1;
	}
	for (size_t i = 0; i < a.n_functions; i++)
		print_function(&a, &a.functions[i], &b.functions[i]);
	allocators_free(&a);
	allocators_free(&b);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= print_file(argv[i]);
	return failed;
}
