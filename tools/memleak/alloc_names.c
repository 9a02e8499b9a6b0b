// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of allocation functions. C++ operators by their mangled names (Itanium C++ ABI, chapter
 * 5.1), all of them but placement new, which allocates nothing.
 */
#include <string.h>

#include "base/array.h"
#include "elf/elfnames.h"
#include "memleak/allocators.h"

#define NAME_MAX_BYTES 256

static const struct alloc_traits traits[ALLOC_KINDS] = {
	[ALLOC_MALLOC] = { "malloc", 1, true },
	[ALLOC_CALLOC] = { "calloc", 2, true },
	[ALLOC_REALLOC] = { "realloc", 2, true },
	[ALLOC_REALLOCARRAY] = { "reallocarray", 3, true },
	[ALLOC_MEMALIGN] = { "memalign", 2, true },
	[ALLOC_POSIX_MEMALIGN] = { "posix_memalign", 3, true },
	[ALLOC_VALLOC] = { "valloc", 1, true },
	[ALLOC_PVALLOC] = { "pvalloc", 1, true },
	[ALLOC_NEW] = { "new", 1, true },
	[ALLOC_MMAP] = { "mmap", 5, true },
	[ALLOC_MREMAP] = { "mremap", 4, true },
	[ALLOC_MPROTECT] = { "mprotect", 3, true },
	[ALLOC_FREE] = { "free", 1, false },
	[ALLOC_DELETE] = { "delete", 1, false },
	[ALLOC_MUNMAP] = { "munmap", 2, false },
};

struct known_name {
	const char *name;
	enum alloc_kind kind;
};

/* With or without a prefix. */
static const struct known_name standard[] = {
	{ "malloc", ALLOC_MALLOC },
	{ "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },
	{ "reallocarray", ALLOC_REALLOCARRAY },
	{ "memalign", ALLOC_MEMALIGN },
	{ "aligned_alloc", ALLOC_MEMALIGN },
	{ "posix_memalign", ALLOC_POSIX_MEMALIGN },
	{ "valloc", ALLOC_VALLOC },
	{ "pvalloc", ALLOC_PVALLOC },
	{ "free", ALLOC_FREE },
	{ "cfree", ALLOC_FREE },
	{ "free_sized", ALLOC_FREE },
	{ "free_aligned_sized", ALLOC_FREE },
	{ "mallocx", ALLOC_MALLOC }, /* jemalloc */
	{ "rallocx", ALLOC_REALLOC },
	{ "dallocx", ALLOC_FREE },
	{ "sdallocx", ALLOC_FREE },
	{ "mmap", ALLOC_MMAP },
	{ "mmap64", ALLOC_MMAP },
	{ "mremap", ALLOC_MREMAP },
	{ "mprotect", ALLOC_MPROTECT },
	{ "pkey_mprotect", ALLOC_MPROTECT },
	{ "munmap", ALLOC_MUNMAP },
};

/* Names that are too general without a prefix. */
static const struct known_name prefixed[] = {
	{ "malloc_skip_new_handler", ALLOC_MALLOC }, /* tcmalloc */
	{ "newarray", ALLOC_NEW },
	{ "newarray_nothrow", ALLOC_NEW },
	{ "newarray_aligned", ALLOC_NEW },
	{ "newarray_aligned_nothrow", ALLOC_NEW },
	{ "delete", ALLOC_DELETE },
	{ "delete_nothrow", ALLOC_DELETE },
	{ "delete_sized", ALLOC_DELETE },
	{ "delete_aligned", ALLOC_DELETE },
	{ "delete_aligned_nothrow", ALLOC_DELETE },
	{ "delete_sized_aligned", ALLOC_DELETE },
	{ "deletearray", ALLOC_DELETE },
	{ "deletearray_nothrow", ALLOC_DELETE },
	{ "deletearray_sized", ALLOC_DELETE },
	{ "deletearray_aligned", ALLOC_DELETE },
	{ "deletearray_aligned_nothrow", ALLOC_DELETE },
	{ "deletearray_sized_aligned", ALLOC_DELETE },
	{ "new", ALLOC_NEW }, /* and mimalloc */
	{ "new_nothrow", ALLOC_NEW },
	{ "new_aligned", ALLOC_NEW },
	{ "new_aligned_nothrow", ALLOC_NEW },
	{ "new_n", ALLOC_CALLOC }, /* mimalloc */
	{ "new_realloc", ALLOC_REALLOC },
	{ "new_reallocn", ALLOC_REALLOCARRAY },
	{ "zalloc", ALLOC_MALLOC },
	{ "malloc_small", ALLOC_MALLOC },
	{ "zalloc_small", ALLOC_MALLOC },
	{ "malloc_aligned", ALLOC_MALLOC },
	{ "zalloc_aligned", ALLOC_MALLOC },
	{ "mallocn", ALLOC_CALLOC },
	{ "calloc_aligned", ALLOC_CALLOC },
	{ "reallocf", ALLOC_REALLOC },
	{ "rezalloc", ALLOC_REALLOC },
	{ "realloc_aligned", ALLOC_REALLOC },
	{ "rezalloc_aligned", ALLOC_REALLOC },
	{ "reallocn", ALLOC_REALLOCARRAY },
	{ "recalloc", ALLOC_REALLOCARRAY },
	{ "free_size", ALLOC_FREE },
	{ "free_aligned", ALLOC_FREE },
	{ "free_size_aligned", ALLOC_FREE },
};

static const struct known_name operators[] = {
	{ "_Znwm", ALLOC_NEW },
	{ "_Znam", ALLOC_NEW },
	{ "_ZnwmRKSt9nothrow_t", ALLOC_NEW },
	{ "_ZnamRKSt9nothrow_t", ALLOC_NEW },
	{ "_ZnwmSt11align_val_t", ALLOC_NEW },
	{ "_ZnamSt11align_val_t", ALLOC_NEW },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC_NEW },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC_NEW },
	{ "_ZdlPv", ALLOC_DELETE },
	{ "_ZdaPv", ALLOC_DELETE },
	{ "_ZdlPvm", ALLOC_DELETE },
	{ "_ZdaPvm", ALLOC_DELETE },
	{ "_ZdlPvRKSt9nothrow_t", ALLOC_DELETE },
	{ "_ZdaPvRKSt9nothrow_t", ALLOC_DELETE },
	{ "_ZdlPvSt11align_val_t", ALLOC_DELETE },
	{ "_ZdaPvSt11align_val_t", ALLOC_DELETE },
	{ "_ZdlPvmSt11align_val_t", ALLOC_DELETE },
	{ "_ZdaPvmSt11align_val_t", ALLOC_DELETE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ALLOC_DELETE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ALLOC_DELETE },
};

/* glibc's internal names of its exports; jemalloc, also Rust's; tcmalloc; mimalloc. */
static const char *const prefixes[] = { "__libc_", "je_", "_rjem_", "tc_", "mi_" };

static int find_name(const struct known_name *names, size_t n, const char *name, size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(names[i].name, name, bytes) && !names[i].name[bytes])
			return (int)names[i].kind;
	return -1;
}

static int find_prefixed(const char *name, size_t bytes, const char *prefix)
{
	size_t n = strlen(prefix);
	int kind;

	if (bytes <= n || strncmp(name, prefix, n) != 0)
		return -1;
	kind = find_name(standard, ARRAY_SIZE(standard), name + n, bytes - n);
	if (kind < 0)
		kind = find_name(prefixed, ARRAY_SIZE(prefixed), name + n, bytes - n);
	return kind;
}

/* Versions are left out. */
int alloc_kind_of(const char *name, const char *prefix, bool is_local)
{
	size_t bytes = elfname_length(name, NAME_MAX_BYTES);
	int kind = -1;

	if (bytes == NAME_MAX_BYTES) /* a file's names may have any length */
		return -1;

	if (prefix)
		return find_prefixed(name, bytes, prefix);
	for (size_t i = 0; kind < 0 && i < ARRAY_SIZE(prefixes); i++)
		kind = find_prefixed(name, bytes, prefixes[i]);
	if (kind < 0 && !is_local)
		kind = find_name(standard, ARRAY_SIZE(standard), name, bytes);
	if (kind < 0 && name[0] == '_' && name[1] == 'Z' && !is_local)
		kind = find_name(operators, ARRAY_SIZE(operators), name, bytes);
	return kind;
}

const struct alloc_traits *alloc_kind_traits(enum alloc_kind kind)
{
	return &traits[kind];
}
