// SPDX-License-Identifier: GPL-2.0-only
/* Records of jitdump files; see jitdump.h. Numbers are of this machine: others are refused. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf64.h"
#include "symbols/jitdump.h"

#define MAGIC	     0x4a695444	  /* "JiTD" */
#define WINDOW_BYTES (256U << 10) /* records of lines that are larger are skipped */
#define MAX_CODES    (1U << 22)
#define MAX_LINES    (1U << 22)
#define MAX_NAME     4096
#define PREVIOUS_FILE \
	"\xff" /* what perf's own writers have where the file is that of the line before */
#define MALLOC_BYTES 16

/*
 * V8 counts the addresses of lines from where perf puts the code into the file that it makes of
 * it: behind an ELF header. Other compilers do not.
 */
#define HEADER_BYTES sizeof(Elf64_Ehdr)

enum record_kind {
	CODE_LOAD,
	CODE_MOVE,
	CODE_DEBUG_INFO,
	CODE_CLOSE,
};

struct file_header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct record {
	uint32_t kind, total_size;
	uint64_t timestamp;
};

struct load {
	struct record record;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
	/* the name, with a zero byte, and the code */
};

struct move {
	struct record record;
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

struct debug_info {
	struct record record;
	uint64_t code_addr, n_entries;
};

struct debug_entry {
	uint64_t addr;
	uint32_t line, discriminator;
	/* the file's name, with a zero byte */
};

struct line {
	uint64_t offset; /* from the code's first byte, maybe plus HEADER_BYTES */
	uint32_t line;
	uint32_t file; /* where its name is in files */
};

struct lines {
	struct line *items;
	char *files;
	size_t n, capacity, bytes, files_capacity;
};

struct jitdump_code {
	char *name;
	uint64_t size;
	struct lines lines;
};

/* What a MOVE record refers to. */
struct index {
	const struct jitdump_code *code; /* NULL: nothing that has a name */
};

struct jitdump {
	bool with_lines;
	bool has_ended;	       /* CLOSE, or what makes no sense */
	bool is_behind_header; /* the first line of all codes so far */
	struct jitdump_code **codes;
	size_t n, capacity;
	struct idmap by_index; /* index + 1: never 0 */
	size_t n_lines, bytes;
	uint64_t lines_addr; /* of the code whose lines have come and which is still to come */
	struct lines lines;
};

/* A part of the file in memory. */
struct window {
	int fd;
	uint64_t at, end; /* end: of the file */
	size_t n;
	uint8_t *bytes;
};

/* ---- the file ---- */

bool jitdump_is_of(int fd, pid_t inner_pid)
{
	struct file_header h;

	return pread(fd, &h, sizeof(h), 0) == sizeof(h) && h.magic == MAGIC && h.version == 1 &&
	       h.elf_mach == elf64_own_machine() && h.pid == (uint32_t)inner_pid &&
	       h.total_size >= sizeof(h) && h.total_size <= WINDOW_BYTES;
}

/* NULL: they are not there. Valid until the next call. */
static const void *look(struct window *w, uint64_t at, size_t n)
{
	ssize_t n_read;

	if (n > WINDOW_BYTES || at > w->end || w->end - at < n)
		return NULL;
	if (at >= w->at && at - w->at <= w->n && w->n - (at - w->at) >= n)
		return w->bytes + (at - w->at);
	n_read = pread(w->fd, w->bytes, WINDOW_BYTES, (off_t)at);
	w->at = at;
	w->n = n_read > 0 ? (size_t)n_read : 0;
	return w->n >= n ? w->bytes : NULL;
}

/* ---- codes ---- */

static void free_lines(struct lines *lines)
{
	free(lines->items);
	free(lines->files);
	*lines = (struct lines){};
}

struct jitdump *jitdump_new(bool with_lines)
{
	struct jitdump *dump = mem_zalloc(1, sizeof(*dump));

	dump->with_lines = with_lines;
	dump->is_behind_header = true;
	return dump;
}

void jitdump_drop(struct jitdump *dump)
{
	for (size_t i = 0; i < dump->n; i++) {
		free_lines(&dump->codes[i]->lines);
		free(dump->codes[i]->name);
		free(dump->codes[i]);
	}
	free(dump->codes);
	idmap_free(&dump->by_index, free);
	free_lines(&dump->lines);
	*dump = (struct jitdump){ .with_lines = dump->with_lines, .is_behind_header = true };
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	jitdump_drop(dump);
	free(dump);
}

size_t jitdump_bytes(const struct jitdump *dump)
{
	return dump->bytes + dump->capacity * sizeof(*dump->codes) +
	       dump->by_index.size * 2 * sizeof(uint64_t);
}

const char *jitdump_name(const struct jitdump_code *code)
{
	return code->name;
}

static void note_index(struct jitdump *dump, uint64_t index, const struct jitdump_code *code)
{
	struct index *known = idmap_find(&dump->by_index, index + 1);

	if (index == UINT64_MAX)
		return;
	if (!known) {
		known = mem_zalloc(1, sizeof(*known));
		dump->bytes += sizeof(*known) + MALLOC_BYTES;
		idmap_add(&dump->by_index, index + 1, known);
	}
	known->code = code;
}

/* What has that index from now on has no name. */
static void forget_index(struct jitdump *dump, uint64_t index)
{
	struct index *known = idmap_find(&dump->by_index, index + 1);

	if (known)
		known->code = NULL;
}

static struct jitdump_code *new_code(struct jitdump *dump, const char *name, size_t n)
{
	struct jitdump_code *code = mem_zalloc(1, sizeof(*code));

	code->name = mem_strndup(name, n);
	dump->codes = mem_grow(dump->codes, dump->n, &dump->capacity, sizeof(*dump->codes));
	dump->codes[dump->n++] = code;
	dump->bytes += sizeof(*code) + n + 1 + 2 * MALLOC_BYTES;
	return code;
}

/* ---- lines ---- */

static bool is_previous(const char *name)
{
	return !strcmp(name, PREVIOUS_FILE);
}

/* Where the name is among the files. */
static uint32_t add_file(struct lines *lines, const char *name, size_t n)
{
	const struct line *last = lines->n ? &lines->items[lines->n - 1] : NULL;
	uint32_t at = (uint32_t)lines->bytes;

	if (last && (is_previous(name) || !strcmp(lines->files + last->file, name)))
		return last->file;
	while (lines->files_capacity - lines->bytes <= n) {
		lines->files_capacity = 2 * lines->files_capacity + 256;
		lines->files = mem_realloc(lines->files, lines->files_capacity, 1);
	}
	memcpy(lines->files + at, name, n + 1);
	lines->bytes += n + 1;
	return at;
}

static void add_line(struct lines *lines, const struct debug_entry *entry, uint64_t code_addr,
		     const char *name, size_t n)
{
	struct line line = { .offset = entry->addr - code_addr, .line = entry->line };

	line.file = add_file(lines, name, n);
	lines->items = mem_grow(lines->items, lines->n, &lines->capacity, sizeof(line));
	lines->items[lines->n++] = line;
}

/* What is not as it should be has no lines at all. */
static bool add_lines(struct jitdump *dump, const struct debug_info *info, const char *at,
		      size_t n_bytes)
{
	struct debug_entry entry;

	for (uint64_t i = 0; i < info->n_entries; i++) {
		size_t n = n_bytes > sizeof(entry)
				   ? strnlen(at + sizeof(entry), n_bytes - sizeof(entry))
				   : n_bytes;

		if (n_bytes <= sizeof(entry) + n || dump->n_lines >= MAX_LINES)
			return false;
		memcpy(&entry, at, sizeof(entry));
		add_line(&dump->lines, &entry, info->code_addr, at + sizeof(entry), n);
		at += sizeof(entry) + n + 1;
		n_bytes -= sizeof(entry) + n + 1;
	}
	return true;
}

static void read_lines(struct jitdump *dump, const char *record, size_t n_bytes)
{
	struct debug_info info;

	memcpy(&info, record, sizeof(info));
	free_lines(&dump->lines);
	dump->lines_addr = info.code_addr;
	if (!add_lines(dump, &info, record + sizeof(info), n_bytes - sizeof(info)))
		free_lines(&dump->lines);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool are_inside(const struct lines *lines, uint64_t size)
{
	for (size_t i = 0; i < lines->n; i++)
		if (lines->items[i].offset > size + HEADER_BYTES)
			return false;
	return lines->n;
}

/* The lines that came before the code are its own, unless they lie outside of it. */
static void take_lines(struct jitdump *dump, struct jitdump_code *code, uint64_t code_addr)
{
	struct lines *lines = &dump->lines;

	if (dump->lines_addr != code_addr || !are_inside(lines, code->size)) {
		free_lines(lines);
		return;
	}
	qsort(lines->items, lines->n, sizeof(*lines->items), compare_lines);
	dump->is_behind_header &= lines->items[0].offset == HEADER_BYTES;
	dump->n_lines += lines->n;
	dump->bytes += lines->capacity * sizeof(*lines->items) + lines->files_capacity;
	code->lines = *lines;
	*lines = (struct lines){};
}

uint32_t jitdump_line(const struct jitdump *dump, const struct jitdump_code *code, uint64_t offset,
		      const char **file)
{
	const struct lines *lines = &code->lines;
	size_t rank;

	offset += dump->is_behind_header ? HEADER_BYTES : 0;
	rank = SEARCH_RANK(lines->items, lines->n, offset, offset);
	if (!rank)
		return 0;
	*file = lines->files + lines->items[rank - 1].file;
	return lines->items[rank - 1].line;
}

/* ---- records ---- */

/* Code whose name isn't known takes the place of what was there all the same. */
static void read_load(struct jitdump *dump, const char *record, size_t n_bytes,
		      jitdump_visit_fn *visit, void *arg)
{
	const char *name = record + sizeof(struct load);
	size_t n = strnlen(name, n_bytes - sizeof(struct load));
	struct jitdump_code *code;
	struct load load;

	memcpy(&load, record, sizeof(load));
	if (!n || !load.code_size || dump->n >= MAX_CODES) {
		forget_index(dump, load.code_index);
		free_lines(&dump->lines);
		visit(arg, load.code_addr, load.code_size, NULL);
		return;
	}
	code = new_code(dump, name, n);
	code->size = load.code_size;
	note_index(dump, load.code_index, code);
	if (dump->with_lines)
		take_lines(dump, code, load.code_addr);
	visit(arg, load.code_addr, load.code_size, code);
}

static void read_move(struct jitdump *dump, const char *record, jitdump_visit_fn *visit, void *arg)
{
	const struct jitdump_code *code;
	const struct index *index;
	struct move move;

	memcpy(&move, record, sizeof(move));
	index = idmap_find(&dump->by_index, move.code_index + 1);
	code = index ? index->code : NULL;
	visit(arg, move.old_code_addr, move.code_size, NULL);
	visit(arg, move.new_code_addr, move.code_size,
	      code && code->size == move.code_size ? code : NULL);
}

static void read_record(struct jitdump *dump, const char *record, uint32_t kind, size_t n_bytes,
			jitdump_visit_fn *visit, void *arg)
{
	if (kind == CODE_LOAD && n_bytes >= sizeof(struct load))
		read_load(dump, record, n_bytes, visit, arg);
	else if (kind == CODE_MOVE && n_bytes >= sizeof(struct move))
		read_move(dump, record, visit, arg);
	else if (kind == CODE_DEBUG_INFO && n_bytes > sizeof(struct debug_info) && dump->with_lines)
		read_lines(dump, record, n_bytes);
	else if (kind == CODE_CLOSE)
		dump->has_ended = true;
}

/* How much of a record is wanted: of a load not the code. */
static size_t wanted_bytes(const struct record *r)
{
	size_t most = r->kind == CODE_LOAD ? sizeof(struct load) + MAX_NAME : WINDOW_BYTES;

	if (r->total_size > most && r->kind == CODE_DEBUG_INFO)
		return sizeof(*r);
	return r->total_size < most ? r->total_size : most;
}

static uint64_t first_record(struct window *w)
{
	const struct file_header *h = look(w, 0, sizeof(*h));

	return h && h->total_size >= sizeof(*h) ? h->total_size : 0;
}

uint64_t jitdump_read(struct jitdump *dump, int fd, uint64_t from, uint64_t end,
		      jitdump_visit_fn *visit, void *arg)
{
	struct window w = { .fd = fd, .end = end, .bytes = mem_zalloc(1, WINDOW_BYTES) };
	uint64_t at = from ? from : first_record(&w);
	const void *found;

	while (at && !dump->has_ended && (found = look(&w, at, sizeof(struct record)))) {
		struct record r;
		const char *bytes;

		memcpy(&r, found, sizeof(r));
		if (r.total_size < sizeof(r))
			dump->has_ended = true;
		if (dump->has_ended || end - at < r.total_size)
			break;
		bytes = look(&w, at, wanted_bytes(&r));
		if (!bytes)
			break;
		read_record(dump, bytes, r.kind, wanted_bytes(&r), visit, arg);
		at += r.total_size;
	}
	free(w.bytes);
	return at;
}
