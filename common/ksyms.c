// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel symbols, kept in the text of /proc/kallsyms itself: names move to the front of the buffer
 * as lines are parsed, each as its type letter, the name and a zero byte. Symbols that are not
 * code stay in the table without a name, because they end the code before them. An address beyond
 * the end of its text must find nothing: a wrong name is worse than none.
 */
#include <stdlib.h>
#include <string.h>

#include "addrsort.h"
#include "kallsyms.h"
#include "ksyms.h"
#include "mem.h"
#include "readfile.h"

#define KALLSYMS_PATH "/proc/kallsyms"

/* Ten times the largest seen; keeps offsets within 32 bits. */
#define KALLSYMS_MAX_BYTES (256u << 20)

/* kallsyms has no sizes. The last symbol of a module reaches to the end of its page ... */
#define PAGE_BYTES 4096
/* ... and none reaches further than this: modules and BPF programs come and go in between. */
#define MODULE_SYMBOL_MAX_BYTES (64u << 10)

struct ksyms {
	char *names;		/* offset 0 is the empty name */
	struct addr_item *syms; /* value: pack_value() */
	size_t count;
	bool hidden;
};

struct parser {
	struct ksyms *ks;
	size_t cap;
	size_t used;	     /* bytes of names */
	uint32_t module;     /* offset of the last module's name */
	bool any, any_shown; /* symbols; those with an address */
};

static uint64_t pack_value(uint32_t name, uint32_t module)
{
	return (uint64_t)module << 32 | name;
}

/* "" for what only ends the symbol before it. */
static const char *name_of(const struct ksyms *ks, const struct addr_item *sym)
{
	return ks->names + (uint32_t)sym->value;
}

static const char *module_of(const struct ksyms *ks, const struct addr_item *sym)
{
	return ks->names + (sym->value >> 32);
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

/*
 * The linker's marks are no functions; the one at the end of all text has nothing behind it, and
 * the others would hide the function that starts there.
 */
static bool is_mark(const char *name)
{
	static const char *const marks[] = { "_text",	   "_stext",	 "_etext",
					     "_sinittext", "_einittext", "__pi__text" };

	if (name[0] != '_')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (!strcmp(name, marks[i]))
			return true;
	return name[1] == '_' && (has_suffix(name, "_text_start") || has_suffix(name, "_text_end"));
}

static bool is_code(char type, const char *name)
{
	return type && strchr("tTwW", type) && !is_mark(name);
}

static uint32_t keep_name(struct parser *p, char type, const char *name, size_t n)
{
	char *to = p->ks->names + p->used;

	to[0] = type;
	memmove(to + 1, name, n);
	to[n + 1] = '\0';
	p->used += n + 2;
	return to + 1 - p->ks->names;
}

/* Lines come by module, so that only a change of module needs a new name. */
static void keep_module(struct parser *p, const char *name, size_t n)
{
	const char *last = p->ks->names + p->module;

	if (!n)
		p->module = 0;
	else if (!p->module || strncmp(last, name, n) || last[n])
		p->module = keep_name(p, 'm', name, n);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *parse_addr(const char *s, uint64_t *addr)
{
	const char *start = s;
	int digit;

	*addr = 0;
	while ((digit = hex_digit(*s)) >= 0) {
		*addr = *addr << 4 | digit;
		s++;
	}
	return s != start && s - start <= 16 && *s == ' ' ? s + 1 : NULL;
}

static void add_symbol(struct parser *p, uint64_t addr, uint32_t name)
{
	struct ksyms *ks = p->ks;

	p->any = true;
	if (!addr)
		return;
	p->any_shown = true;
	ks->syms = mem_grow(ks->syms, ks->count, &p->cap, sizeof(*ks->syms));
	ks->syms[ks->count].addr = addr;
	ks->syms[ks->count++].value = pack_value(name, p->module);
}

/*
 * "ADDRESS TYPE NAME", then perhaps a tab and "[MODULE]". The names moved to the front are shorter
 * than the lines that they come from, so they never overtake the parser.
 */
static void parse_line(struct parser *p, char *line, char *end)
{
	char *name, *name_end, *module = end;
	uint64_t addr;
	const char *s = parse_addr(line, &addr);
	uint32_t kept = 0;
	char type;

	if (!s || end - s < 3 || s[1] != ' ')
		return;
	type = *s;
	name = line + (s - line) + 2;
	name_end = memchr(name, '\t', end - name);
	if (name_end && name_end[1] == '[' && end[-1] == ']')
		module = name_end + 2;
	name_end = name_end ? name_end : end;
	*name_end = '\0';
	if (addr && is_code(type, name))
		kept = keep_name(p, type, name, strlen(name));
	keep_module(p, module, module < end ? end - 1 - module : 0);
	add_symbol(p, addr, kept);
}

/* text has a free byte in front, which becomes the empty name, and a zero byte behind. */
static void parse_text(struct parser *p, char *text, size_t size)
{
	char *stop = text + size;

	for (char *line = text; line < stop;) {
		char *end = memchr(line, '\n', stop - line);

		end = end ? end : stop;
		parse_line(p, line, end);
		line = end + 1;
	}
}

static int linkage_rank(char type)
{
	return type == 'T' ? 2 : type == 't';
}

/* Whether a person would rather read a's name than b's, for the same address. */
static bool is_better(const struct ksyms *ks, const struct addr_item *a, const struct addr_item *b)
{
	const char *x = name_of(ks, a), *y = name_of(ks, b);
	bool x_padding = !strncmp(x, "__pfx_", 6), y_padding = !strncmp(y, "__pfx_", 6);

	if (!*x || !*y)
		return *x;
	if (x_padding != y_padding)
		return y_padding;
	if (linkage_rank(x[-1]) != linkage_rank(y[-1]))
		return linkage_rank(x[-1]) > linkage_rank(y[-1]);
	if ((*x == '_') != (*y == '_'))
		return *y == '_';
	return strlen(x) < strlen(y);
}

/* One symbol per address, and one without a name where there are several in a row. */
static void drop_duplicates(struct ksyms *ks)
{
	size_t kept = 0;

	for (size_t i = 0; i < ks->count; i++) {
		struct addr_item *sym = &ks->syms[i], *last = kept ? &ks->syms[kept - 1] : NULL;

		if (last && last->addr == sym->addr)
			*last = is_better(ks, sym, last) ? *sym : *last;
		else if (!last || *name_of(ks, sym) || *name_of(ks, last))
			ks->syms[kept++] = *sym;
	}
	ks->count = kept;
}

static struct ksyms *parse_symbols(char *buf, size_t size)
{
	struct parser p = { .ks = mem_zalloc(1, sizeof(*p.ks)), .used = 1 };
	struct ksyms *ks = p.ks;

	buf = mem_realloc(buf, size + 2, 1);
	memmove(buf + 1, buf, size + 1);
	buf[0] = '\0';
	ks->names = buf;
	parse_text(&p, buf + 1, size);
	ks->names = mem_realloc(ks->names, p.used, 1);
	ks->hidden = p.any && !p.any_shown;
	addrsort(ks->syms, ks->count);
	drop_duplicates(ks);
	ks->syms = mem_realloc(ks->syms, ks->count, sizeof(*ks->syms));
	return ks;
}

struct ksyms *ksyms_load(const char *path)
{
	size_t size = 0;
	char *buf = readfile(path ? path : KALLSYMS_PATH, KALLSYMS_MAX_BYTES, &size);

	return buf ? parse_symbols(buf, size) : NULL;
}

static int compare_addrs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t sort_unique(uint64_t *addrs, size_t n)
{
	size_t kept = 0;

	qsort(addrs, n, sizeof(*addrs), compare_addrs);
	for (size_t i = 0; i < n; i++)
		if (!kept || addrs[kept - 1] != addrs[i])
			addrs[kept++] = addrs[i];
	return kept;
}

struct ksyms *ksyms_load_for(const char *path, uint64_t *addrs, size_t n)
{
	size_t size = 0;
	char *text;

	n = n ? sort_unique(addrs, n) : 0;
	text = kallsyms_around(path ? path : KALLSYMS_PATH, addrs, n, &size);
	return text ? parse_symbols(text, size) : NULL;
}

struct ksyms *ksyms_copied_for(const struct kallsyms_copy *copy, uint64_t *addrs, size_t n)
{
	size_t size = 0;
	char *text;

	n = n ? sort_unique(addrs, n) : 0;
	text = kallsyms_copied(copy, addrs, n, &size);
	return parse_symbols(text, size);
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	free(ks->names);
	free(ks->syms);
	free(ks);
}

bool ksyms_hidden(const struct ksyms *ks)
{
	return ks->hidden;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The last byte that the symbol can reach. */
static uint64_t find_last(const struct ksyms *ks, const struct addr_item *sym)
{
	const struct addr_item *next = sym + 1, *stop = ks->syms + ks->count;
	uint64_t last = next < stop ? next->addr - 1 : UINT64_MAX;

	if (next == stop || strcmp(module_of(ks, sym), module_of(ks, next)))
		last = min_u64(last, sym->addr | (PAGE_BYTES - 1));
	if (*module_of(ks, sym) && last - sym->addr >= MODULE_SYMBOL_MAX_BYTES)
		last = sym->addr + MODULE_SYMBOL_MAX_BYTES - 1;
	return last;
}

bool ksyms_find(const struct ksyms *ks, uint64_t addr, struct ksym *sym)
{
	size_t rank = addrsort_rank(ks->syms, ks->count, addr);
	const struct addr_item *found = ks->syms + rank - 1;

	if (!rank || !*name_of(ks, found) || addr > find_last(ks, found))
		return false;
	sym->name = name_of(ks, found);
	sym->module = *module_of(ks, found) ? module_of(ks, found) : NULL;
	sym->start = found->addr;
	return true;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* bpf_prog_TAG or bpf_prog_TAG_NAME; bpf_prog_load() is the kernel's own. */
bool ksym_is_program(const char *name)
{
	size_t prefix = strlen("bpf_prog_");

	return has_prefix(name, "bpf_prog_") && strspn(name + prefix, "0123456789abcdef") == 16 &&
	       strchr("_", name[prefix + 16]);
}

/*
 * What lies between the traced code and the address that bpf_get_stack() records first: the
 * tracepoint's glue, the calls that run a program (JITed, through a trampoline, interpreted), and,
 * where the program itself is not in the stack, the helper. Perf's own frames stay: they are there without us too.
 */
bool ksym_is_tracer(const char *name)
{
	static const char *const prefixes[] = {
		"__traceiter_",	   "__bpf_trace_",     "bpf_trace_run",	       "bpf_iter_run_prog",
		"bpf_trampoline_", "__bpf_prog_enter", "__bpf_prog_exit",      "__bpf_prog_run",
		"___bpf_prog_run", "bpf_dispatcher_",  "bpf_overflow_handler",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	name += strspn(name, "_");
	return has_prefix(name, "bpf_get_stack") || has_prefix(name, "bpf_get_task_stack");
}
