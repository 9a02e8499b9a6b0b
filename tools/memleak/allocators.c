// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds allocators in a process's mappings; see allocators.h. Opens exactly the mapped file, or
 * none (mapfile.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "elf/elfnames.h"
#include "elf/elfsegs.h"
#include "memleak/allocators.h"
#include "process/files.h"
#include "process/mapfile.h"
#include "process/procstate.h"
#include "process/roots.h"

#define NAME_MAX_BYTES 256
#define FUNCTIONS_MAX  256 /* maximum per file; real files have some 30 */
/* maximum bytes of a function that are searched for jumps back to its entry */
#define CODE_MAX_BYTES	   (64u << 10)
#define CODE_DEFAULT_BYTES 256 /* bytes searched if the size is unknown */

/* ---- names ---- */

static const struct alloc_traits kind_traits[ALLOC_KINDS] = {
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

/* Names that are valid with or without a prefix. */
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
	{ "new", ALLOC_NEW }, /* these also in mimalloc */
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
	{ "malloc_aligned_at", ALLOC_MALLOC },
	{ "zalloc_aligned_at", ALLOC_MALLOC },
	{ "calloc_aligned_at", ALLOC_CALLOC },
	{ "reallocf", ALLOC_REALLOC },
	{ "rezalloc", ALLOC_REALLOC },
	{ "realloc_aligned", ALLOC_REALLOC },
	{ "expand", ALLOC_REALLOC }, /* in place; NULL: not resized */
	{ "rezalloc_aligned", ALLOC_REALLOC },
	{ "reallocn", ALLOC_REALLOCARRAY },
	{ "recalloc", ALLOC_REALLOCARRAY },
	{ "realloc_aligned_at", ALLOC_REALLOC },
	{ "rezalloc_aligned_at", ALLOC_REALLOC },
	{ "recalloc_aligned", ALLOC_REALLOCARRAY },
	{ "recalloc_aligned_at", ALLOC_REALLOCARRAY },
	{ "aligned_recalloc", ALLOC_REALLOCARRAY },
	{ "aligned_offset_recalloc", ALLOC_REALLOCARRAY },
	{ "free_size", ALLOC_FREE },
	{ "free_aligned", ALLOC_FREE },
	{ "free_size_aligned", ALLOC_FREE },
};

/* C++ operators (Itanium C++ ABI, chapter 5.1) except placement new, which allocates nothing. */
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

/* Known prefixes: glibc's internal names; jemalloc, also Rust's; tcmalloc; mimalloc. */
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

/* Compares names without their versions. */
int alloc_kind_of(const char *name, const char *prefix, bool is_local)
{
	size_t bytes = elfname_length(name, NAME_MAX_BYTES);
	int kind = -1;

	if (bytes == NAME_MAX_BYTES) /* too long: not a known name */
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
	return &kind_traits[kind];
}

/* ---- functions of a file ---- */

struct scan {
	struct allocators *a;
	const struct allocators_request *request;
	struct elf64 elf;
	struct elfsegs segs;
	size_t first; /* index of the file's first function */
	size_t file;
	bool has_too_many;
};

static bool is_wanted(const struct allocators_request *request, int kind)
{
	bool is_mapping = (kind >= ALLOC_MMAP && kind < ALLOC_FREE) || kind == ALLOC_MUNMAP;

	return kind >= 0 && !(is_mapping && request->without_mmap);
}

static struct alloc_function *find_function(const struct scan *scan, uint64_t offset)
{
	for (size_t i = scan->first; i < scan->a->n_functions; i++)
		if (scan->a->functions[i].offset == offset)
			return &scan->a->functions[i];
	return NULL;
}

/* Returns true if name a is preferred to b: "free" to "__libc_free", in any order of the table. */
static bool is_better_name(const char *a, size_t bytes, const char *b)
{
	return bytes != strlen(b) ? bytes < strlen(b) : strncmp(a, b, bytes) < 0;
}

/* Adds a name of a known function. Of several kinds, the first one of enum alloc_kind wins. */
static void add_alias(struct alloc_function *f, enum alloc_kind kind, const char *name,
		      uint64_t bytes)
{
	size_t name_bytes = strcspn(name, "@");

	if (bytes > f->bytes)
		f->bytes = bytes;
	if (kind > f->kind || (kind == f->kind && !is_better_name(name, name_bytes, f->name)))
		return;
	f->kind = kind;
	free(f->name);
	f->name = mem_strndup(name, name_bytes);
}

static void add_function(struct allocators *a, const struct alloc_function *function)
{
	*MEM_APPEND(a->functions, a->n_functions, a->functions_cap) = *function;
}

/* Returns true at the limit of functions per file: a forged file must not keep the tracer busy. */
static bool is_full(struct scan *scan)
{
	if (scan->a->n_functions - scan->first < FUNCTIONS_MAX)
		return false;
	if (!scan->has_too_many)
		msg_warn("%s: more than %d allocation functions, the rest are not probed",
			 scan->a->files[scan->file].path, FUNCTIONS_MAX);
	scan->has_too_many = true;
	return true;
}

static void visit_name(const struct elfname *name, void *arg)
{
	struct scan *scan = arg;
	int kind = scan->has_too_many
			   ? -1
			   : alloc_kind_of(name->name, scan->request->prefix, name->is_local);
	struct alloc_function *known, f = { .file = scan->file, .bytes = name->bytes };

	if (!is_wanted(scan->request, kind))
		return;
	f.offset = elfsegs_offset(&scan->segs, name->vaddr);
	if (f.offset == UINT64_MAX || name->is_indirect)
		return;
	f.kind = (enum alloc_kind)kind;
	known = find_function(scan, f.offset);
	if (known) {
		add_alias(known, f.kind, name->name, f.bytes);
		return;
	}
	if (is_full(scan))
		return;
	f.name = mem_strndup(name->name, strcspn(name->name, "@"));
	add_function(scan->a, &f);
}

/* Reads as much of the function's code as possible. Returns its bytes; 0: unreadable. */
static size_t read_code(const struct scan *scan, const struct alloc_function *f, uint8_t **code)
{
	uint64_t bytes = f->bytes ? f->bytes : CODE_DEFAULT_BYTES;
	uint64_t left = f->offset < scan->elf.size ? scan->elf.size - f->offset : 0;

	if (bytes > CODE_MAX_BYTES)
		bytes = CODE_MAX_BYTES;
	if (bytes > left)
		bytes = left;
	*code = elf64_read(&scan->elf, f->offset, bytes, CODE_MAX_BYTES);
	return *code ? bytes : 0;
}

static void place_function(const struct scan *scan, struct alloc_function *f)
{
	const struct alloc_traits *traits = alloc_kind_traits(f->kind);
	struct probe_request request = {
		.n_args = traits->n_args,
		.wants_return = traits->wants_return,
		.may_move_args = scan->request->may_move_args,
	};
	uint8_t *code = NULL;
	size_t bytes = scan->request->places_at_zero ? 0 : read_code(scan, f, &code);

	probe_place_find(&f->place, &request, code, bytes);
	free(code);
	msg_debug("%s: %s at 0x%llx+%u (%s)", scan->a->files[f->file].path, f->name,
		  (unsigned long long)f->offset, f->place.offset, probe_kind_name(f->place.kind));
}

/* Returns false if the file has no allocation functions. */
static bool read_functions(struct scan *scan, int fd)
{
	if (elf64_open(&scan->elf, fd) || !elf64_is_native(&scan->elf))
		return false;
	if (elfsegs_read_elf(&scan->segs, &scan->elf))
		return false;
	elfnames_visit(&scan->elf, visit_name, scan);
	for (size_t i = scan->first; i < scan->a->n_functions; i++)
		place_function(scan, &scan->a->functions[i]);
	return scan->a->n_functions > scan->first;
}

/* ---- files ---- */

static struct alloc_file *find_file(const struct allocators *a, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < a->n_files; i++)
		if (a->files[i].dev == dev && a->files[i].ino == ino)
			return &a->files[i];
	return NULL;
}

/* Adds a searched file and its functions. Takes over fd; negative: not readable, don't retry. */
static void add_file(struct allocators *a, const struct allocators_request *request,
		     const struct alloc_file *found, int fd)
{
	struct scan scan = {
		.a = a, .request = request, .first = a->n_functions, .file = a->n_files
	};
	struct alloc_file *file;

	file = MEM_APPEND(a->files, a->n_files, a->files_cap);
	*file = *found;
	file->path = mem_strdup(found->path);
	file->fd = fd;
	file->was_mapped = true;
	if (fd >= 0 && !read_functions(&scan, fd)) {
		close(fd);
		file->fd = -1;
	}
	a->n_new += a->n_functions - scan.first;
}

/* Opens the mapped file. Returns a file descriptor; -EEXIST: it is the known file; or -errno. */
static int open_mapped(pid_t pid, const struct mapping *m, const struct timespec *read_time,
		       const struct alloc_file *known, struct stat *st)
{
	struct mapping wanted = *m;
	int path_fd, fd = -EEXIST;

	if (known && !strcmp(known->path, m->path))
		wanted.known = &known->st;
	path_fd = mapfile_open(pid, &wanted, read_time, st);
	if (path_fd < 0)
		return path_fd;
	if (!known || !file_is_same_version(&known->st, st))
		fd = root_reopen(path_fd);
	close(path_fd);
	return fd;
}

static void close_file(struct alloc_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static void forget_file(struct allocators *a, size_t file)
{
	size_t n = 0, first_new = a->n_functions - a->n_new;

	for (size_t i = 0; i < a->n_functions; i++) {
		struct alloc_function *f = &a->functions[i];

		if (f->file == file) {
			a->n_new -= i >= first_new;
			free(f->name);
			continue;
		}
		f->file -= f->file > file;
		a->functions[n++] = *f;
	}
	a->n_functions = n;
	close_file(&a->files[file]);
	free(a->files[file].path);
	a->n_files--;
	memmove(&a->files[file], &a->files[file + 1], (a->n_files - file) * sizeof(*a->files));
}

/*
 * Searches a mapped file, unless known. A known file without probes is checked: it may have been
 * deleted, and its inode reused.
 */
static void scan_mapping(struct allocators *a, pid_t pid, const struct allocators_request *request,
			 const struct mapping *m, const struct timespec *read_time)
{
	struct alloc_file found = { .dev = m->dev, .ino = m->ino, .path = m->path };
	struct alloc_file *known = find_file(a, m->dev, m->ino);
	int fd;

	if (known)
		known->was_mapped = true;
	if (known && (known->probes || !known->st.st_ino))
		return;
	fd = open_mapped(pid, m, read_time, known, &found.st);
	if (fd < 0 && (known || process_has_ended(pid)))
		return; /* another mapping may lead to the file */
	if (fd < 0) {
		msg_errno(fd, "%s: search for allocators failed", m->path);
		found.st = (struct stat){};
	}
	if (known)
		forget_file(a, (size_t)(known - a->files));
	add_file(a, request, &found, fd);
}

/* ---- the file given by -O ---- */

/* Returns true if -O ("libfoo", "libfoo.so.1") matches the file, even if replaced on disk. */
static bool has_name(const struct mapping *m, const char *object)
{
	const char *slash = strrchr(m->path, '/'), *end = m->path + file_path_length(m->path), *at;
	size_t n = strlen(object);

	if (strchr(object, '/') || !slash)
		return n == (size_t)(end - m->path) && !strncmp(m->path, object, n);
	at = slash + 1 + n;
	return !strncmp(slash + 1, object, n) && (at == end || strchr(".-", *at));
}

/* Searches the file at path -O, which may be mapped later, even under another name. */
static int scan_path(struct allocators *a, pid_t pid, const struct allocators_request *request)
{
	char path[PATH_MAX + 32];
	struct stat st;
	struct alloc_file found = { .path = path, .is_asked_for = true };
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", process_live_task(pid), request->object);
	if (request->object[0] != '/' || stat(path, &st))
		snprintf(path, sizeof(path), "%s", request->object);
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENOENT;
	found.dev = st.st_dev;
	found.ino = st.st_ino;
	found.st = st;
	if (find_file(a, st.st_dev, st.st_ino))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	add_file(a, request, &found, fd);
	return 0;
}

/* ---- scan ---- */

static size_t scan_mappings(struct allocators *a, pid_t pid,
			    const struct allocators_request *request, const struct mappings *maps,
			    const struct timespec *read_time)
{
	size_t n_fitting = 0;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->items[i];

		if (!m->ino || (request->object && !has_name(m, request->object)))
			continue;
		n_fitting++;
		scan_mapping(a, pid, request, m, read_time);
	}
	return n_fitting;
}

int allocators_scan(struct allocators *a, pid_t pid, const struct allocators_request *request)
{
	struct timespec read_time;
	struct mappings maps;
	int err;

	a->n_new = 0;
	clock_gettime(CLOCK_REALTIME_COARSE, &read_time);
	err = mappings_read(&maps, pid);
	if (err)
		return err;
	if (!scan_mappings(a, pid, request, &maps, &read_time) && request->object)
		err = strchr(request->object, '/') ? scan_path(a, pid, request) : -ENOENT;
	mappings_free(&maps);
	return err ? err : (int)a->n_new;
}

/* Compares paths, too: events may report another inode number than /proc (overlayfs). */
static bool is_of(const struct alloc_file *file, const struct mapped_name *name)
{
	size_t n = file_path_length(name->path);

	return (file->dev == name->dev && file->ino == name->ino) ||
	       (file_path_length(file->path) == n && !strncmp(file->path, name->path, n));
}

bool allocators_are_probed(const struct allocators *a, const struct maps *maps)
{
	for (size_t i = 0; i < a->n_files; i++)
		for (size_t k = 0; a->files[i].probes && k < maps->count; k++)
			if (is_of(&a->files[i], maps->items[k].name))
				return true;
	return false;
}

/* ---- release ---- */

static bool is_mapped_in(const struct mappings *maps, const struct alloc_file *file)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].ino == file->ino && maps->items[i].dev == file->dev)
			return true;
	return false;
}

/* Marks all files if a live process's mappings can't be read: they must not be released. */
void allocators_mark(struct allocators *a, pid_t pid)
{
	struct mappings maps = {};
	int err = mappings_read(&maps, pid);

	if (err == -ESRCH)
		return;
	for (size_t i = 0; i < a->n_files; i++)
		a->files[i].is_mapped |= err || is_mapped_in(&maps, &a->files[i]);
	if (!err)
		mappings_free(&maps);
}

bool allocators_release(struct allocators *a, void (*leave)(struct alloc_file *file, void *arg),
			void *arg)
{
	bool waits = false;

	for (size_t i = a->n_files; i-- > 0;) {
		struct alloc_file *file = &a->files[i];
		bool is_needed = file->is_mapped || file->is_asked_for, may_go = !file->was_mapped;

		waits |= !is_needed && !may_go;
		file->was_mapped = is_needed;
		file->is_mapped = false;
		if (is_needed || !may_go)
			continue;
		leave(file, arg);
		forget_file(a, i);
	}
	return waits;
}

void allocators_close(struct allocators *a)
{
	for (size_t i = 0; i < a->n_files; i++)
		if (!a->files[i].stays_open)
			close_file(&a->files[i]);
}

void allocators_free(struct allocators *a)
{
	for (size_t i = 0; i < a->n_files; i++) {
		close_file(&a->files[i]);
		free(a->files[i].path);
	}
	for (size_t i = 0; i < a->n_functions; i++)
		free(a->functions[i].name);
	free(a->files);
	free(a->functions);
	memset(a, 0, sizeof(*a));
}
