// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the symbols of symbols/elfsyms at random addresses of code with what eu-addr2line says,
 * and where they differ with readelf's and nm's lists, from which the truth is found the slow way:
 * of all symbols that cover an address, those that begin last.
 *
 *	compare N <LIST		N addresses of each file; lines of "FILE" or "FILE TAB DEBUGFILE"
 *	compare -t FILE [N]	how fast: load, N lookups, memory
 *
 * A difference is explained where the other name begins at the same address (an alias); where
 * eu-addr2line, but no size in the lists, reaches as far as the address (it takes the nearest
 * symbol, also of a file with only exported ones, between which others may lie), or it prefers one
 * that began before; and where it does not know of stubs and nm does.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "../random.h"
#include "symbols/debugfile.h"
#include "symbols/elfsyms.h"

#define SHOWN_PER_FILE 5
#define CODE_MAX       64
#define LOOKUPS	       4000000

struct entry {
	uint64_t addr, size;
	bool is_label; /* without a size */
	char *name;
};

/* Symbols of the lists, ascending; tops[i]: the highest end of the first i + 1. */
struct list {
	struct entry *items;
	size_t count, cap;
	uint64_t *tops;
	bool is_whole; /* not only exported symbols: a label's end is where the next one begins */
};

struct file {
	const char *path, *debug_path;
	struct elfsyms *es;
	int fd; /* open as long as es */
	struct {
		uint64_t addr, bytes;
	} code[CODE_MAX];
	size_t n_code;
	uint64_t code_bytes;
	struct list symbols, stubs;
	size_t differences;
};

static struct {
	size_t files, no_elf, addresses, named, equal, both_absent;
	size_t aliases, stubs, beyond, other_cover, only_ours, unexplained;
} total;

static double now_s(void)
{
	return (double)clock_now_ns() / 1e9;
}

/* ---- our own ---- */

static void read_code(struct file *f, const struct elffile *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf->elf, scn)) && f->n_code < CODE_MAX)
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_ALLOC) &&
		    (sh.sh_flags & SHF_EXECINSTR) && sh.sh_size) {
			f->code[f->n_code].addr = sh.sh_addr;
			f->code[f->n_code++].bytes = sh.sh_size;
			f->code_bytes += sh.sh_size;
		}
}

static struct elfsyms *load_symbols(struct file *f)
{
	int fd = f->fd = open(f->path, O_RDONLY | O_CLOEXEC), root = open("/", O_PATH | O_CLOEXEC);
	struct debug_place place = { .root_fd = root, .own_root_fd = -1, .path = f->path };
	struct elfsyms *es = NULL;
	struct elffile elf;

	if (fd >= 0 && !elffile_open(&elf, fd)) {
		if (!f->n_code)
			read_code(f, &elf);
		elffile_close(&elf);
		es = elfsyms_load(fd, &place);
	}
	close(root);
	return es;
}

/* Small sections are met as often as large ones, half of the time. */
static uint64_t pick_address(const struct file *f)
{
	uint64_t at, i = random_u64() % f->n_code;

	if (random_u64() & 1) {
		at = random_u64() % f->code_bytes;
		for (i = 0; at >= f->code[i].bytes; i++)
			at -= f->code[i].bytes;
		return f->code[i].addr + at;
	}
	return f->code[i].addr + random_u64() % f->code[i].bytes;
}

/* ---- theirs ---- */

static FILE *run(const char *command, const char *path)
{
	char *line = mem_printf(command, path);
	FILE *out = popen(line, "re");

	free(line);
	return out;
}

static void add_entry(struct list *l, uint64_t addr, uint64_t size, const char *name)
{
	l->items = mem_grow(l->items, l->count, &l->cap, sizeof(*l->items));
	l->items[l->count++] = (struct entry){
		.addr = addr,
		.size = size,
		.is_label = !size,
		.name = mem_strndup(name, strcspn(name, "@")),
	};
}

static bool is_mark(const char *name)
{
	return !strncmp(name, ".L", 2) || (name[0] == '$' && strchr("adtx", name[1]));
}

static bool is_in_code(const struct file *f, uint64_t addr)
{
	for (size_t i = 0; i < f->n_code; i++)
		if (addr - f->code[i].addr < f->code[i].bytes)
			return true;
	return false;
}

/* "  1: 0000000000001000  16 FUNC GLOBAL DEFAULT 12 name@@VERSION"; sizes may be hexadecimal. */
static void read_symbol(struct file *f, char *line)
{
	char *words[16], *save, *w = strtok_r(line, " \n", &save);
	size_t n = 0;
	uint64_t addr;

	for (; w && n < ARRAY_SIZE(words); w = strtok_r(NULL, " \n", &save))
		if (w[0] != '[') /* as in "[<other>: 88]" */
			words[n++] = w;
	f->symbols.is_whole |= n > 2 && !strcmp(words[2], "'.symtab'"); /* Symbol table '.symtab' */
	if (n < 8 || words[0][strlen(words[0]) - 1] != ':')
		return;
	if (strcmp(words[3], "FUNC") && strcmp(words[3], "IFUNC") &&
	    (strcmp(words[3], "NOTYPE") || (!strcmp(words[4], "LOCAL") && is_mark(words[7]))))
		return;
	addr = strtoull(words[1], NULL, 16);
	if (!strcmp(words[6], "UND") || !strcmp(words[6], "ABS") || !is_in_code(f, addr))
		return;
	add_entry(&f->symbols, addr, strtoull(words[2], NULL, 0), words[7]);
}

static void read_lines(struct file *f, const char *command, const char *path,
		       void (*read_line)(struct file *f, char *line))
{
	FILE *out = run(command, path);
	char *line = NULL;
	size_t cap = 0;

	while (out && getline(&line, &cap, out) > 0)
		read_line(f, line);
	free(line);
	if (out)
		pclose(out);
}

/* "0000000000001020 T name@plt": nm's way of saying where stubs are. */
static void read_stub(struct file *f, char *line)
{
	char *name = strrchr(line, ' ');
	uint64_t addr = strtoull(line, NULL, 16);

	if (!name || !strstr(name, "@plt"))
		return;
	name[strcspn(name, "\n")] = '\0';
	add_entry(&f->stubs, addr, 1, name + 1);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static uint64_t end_of_code(const struct file *f, uint64_t addr)
{
	for (size_t i = 0; i < f->n_code; i++)
		if (addr - f->code[i].addr < f->code[i].bytes)
			return f->code[i].addr + f->code[i].bytes;
	return addr;
}

/* A label reaches to what begins next; nothing reaches beyond its section. */
static void finish_list(struct file *f, struct list *l)
{
	uint64_t top = 0;

	if (!l->items)
		return;
	qsort(l->items, l->count, sizeof(*l->items), compare_entries);
	l->tops = mem_zalloc(l->count, sizeof(*l->tops));
	for (size_t i = 0; i < l->count; i++) {
		struct entry *e = &l->items[i];
		uint64_t limit = end_of_code(f, e->addr), next = limit;

		for (size_t j = i + 1; e->is_label && j < l->count; j++)
			if (l->items[j].addr > e->addr) {
				next = l->items[j].addr;
				break;
			}
		if (e->is_label)
			e->size = next - e->addr;
		if (e->size > limit - e->addr)
			e->size = limit - e->addr;
		top = e->addr + e->size > top ? e->addr + e->size : top;
		l->tops[i] = top;
	}
}

/*
 * Returns true if the list agrees: of the symbols that cover addr, one of that name begins last. A
 * label counts only where nothing with a size covers its location. name NULL: nothing covers addr
 * for sure.
 */
static bool list_says(const struct list *l, uint64_t addr, const char *name)
{
	uint64_t start = UINT64_MAX;
	bool only_labels = true, says = false;

	for (size_t i = l->count; i-- && l->tops[i] > addr;) {
		const struct entry *e = &l->items[i];

		if (addr - e->addr >= e->size || addr < e->addr)
			continue;
		if (!name && e->is_label && !l->is_whole)
			continue;
		if (start != UINT64_MAX && e->addr != start && (!only_labels || e->is_label))
			continue;
		if (e->addr != start || (only_labels && !e->is_label)) {
			says = false;
			start = e->addr;
		}
		only_labels &= e->is_label;
		says |= name && !strcmp(e->name, name);
	}
	return name ? says : start == UINT64_MAX;
}

static bool begins_at(const struct list *l, uint64_t addr, const char *name, size_t n)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].addr == addr && !strncmp(l->items[i].name, name, n) &&
		    !l->items[i].name[n])
			return true;
	return false;
}

/*
 * nm says where a stub begins, not where it ends; "*ABS*+0xADDR@plt" is one with a resolver at
 * ADDR, whose name it has here.
 */
static bool is_listed_stub(const struct file *f, uint64_t start, const char *name)
{
	static const char resolver[] = "*ABS*+0x";
	size_t n = strcspn(name, "@"), prefix = strlen(resolver);

	for (size_t i = 0; i < f->stubs.count; i++) {
		const char *stub = f->stubs.items[i].name;

		if (f->stubs.items[i].addr == start && !strncmp(stub, resolver, prefix))
			return begins_at(&f->symbols, strtoull(stub + prefix, NULL, 16), name, n);
	}
	return begins_at(&f->stubs, start, name, n);
}

/* ---- comparing ---- */

static bool explain(const struct file *f, uint64_t addr, const char *ours, uint64_t start,
		    const char *theirs, uint64_t their_start)
{
	if (ours && strstr(ours, "@plt")) {
		total.stubs++;
		return is_listed_stub(f, start, ours);
	}
	if (!list_says(&f->symbols, addr, ours))
		return false;
	if (!ours)
		total.beyond++;
	else if (!theirs)
		total.only_ours++;
	else if (start == their_start)
		total.aliases++;
	else
		total.other_cover++;
	return true;
}

static void compare_address(struct file *f, uint64_t addr, char *line)
{
	uint64_t start = 0, their_offset = 0;
	const char *ours = elfsyms_find(f->es, addr, &start);
	char *plus, *theirs = line;

	line[strcspn(line, "\n")] = '\0';
	plus = strrchr(line, '+');
	if (plus && !strncmp(plus, "+0x", 3)) {
		their_offset = strtoull(plus + 1, NULL, 16);
		*plus = '\0';
	}
	if (!strcmp(line, "??") || line[0] == '(')
		theirs = NULL;
	else
		line[strcspn(line, "@")] = '\0';
	total.addresses++;
	total.named += ours != NULL;
	if (!ours && !theirs)
		total.both_absent++;
	else if (ours && theirs && !strcmp(ours, theirs) && start == addr - their_offset)
		total.equal++;
	else if (!explain(f, addr, ours, start, theirs, addr - their_offset) &&
		 f->differences++ < SHOWN_PER_FILE)
		printf("%s: %#lx: %s (from %#lx), eu-addr2line: %s (from %#lx)\n", f->path, addr,
		       ours ? ours : "nothing", start, theirs ? theirs : "nothing",
		       addr - their_offset);
}

static FILE *ask_addr2line(const char *path, const uint64_t *addrs, size_t n)
{
	char name[] = "/tmp/compare-XXXXXX", *command;
	int fd = mkostemp(name, O_CLOEXEC);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "w"), *out;

	if (!in)
		exit(2);
	for (size_t i = 0; i < n; i++)
		fprintf(in, "%#lx\n", addrs[i]);
	fclose(in);
	command = mem_printf("eu-addr2line -S -e '%%s' <%s 2>/dev/null; rm %s", name, name);
	out = run(command, path); // NOLINT(clang-diagnostic-format-nonliteral)
	free(command);
	return out;
}

static void compare_addresses(struct file *f, const uint64_t *addrs, size_t n)
{
	FILE *out = ask_addr2line(f->path, addrs, n);
	char *line = NULL, *source = NULL;
	size_t cap = 0, source_cap = 0, i = 0;

	for (; i < n && getline(&line, &cap, out) > 0 && getline(&source, &source_cap, out) > 0;
	     i++)
		compare_address(f, addrs[i], line);
	if (i < n) {
		printf("%s: eu-addr2line answers %zu of %zu addresses\n", f->path, i, n);
		f->differences++;
	}
	free(line);
	free(source);
	pclose(out);
}

static void free_list(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].name);
	free(l->items);
	free(l->tops);
}

static void read_lists(struct file *f)
{
	read_lines(f, "readelf -sW '%s' 2>/dev/null", f->path, read_symbol);
	if (f->debug_path)
		read_lines(f, "readelf -sW '%s' 2>/dev/null", f->debug_path, read_symbol);
	read_lines(f, "nm --synthetic '%s' 2>/dev/null", f->path, read_stub);
	read_lines(f, "nm -D --synthetic '%s' 2>/dev/null", f->path, read_stub);
	finish_list(f, &f->symbols);
}

static void check_file(char *line, size_t n)
{
	uint64_t *addrs = mem_zalloc(n, sizeof(*addrs));
	char *tab = strchr(line, '\t');
	struct file f = { .path = line, .debug_path = tab ? tab + 1 : NULL };

	if (tab)
		*tab = '\0';
	f.es = load_symbols(&f);
	if (f.es && f.n_code) {
		total.files++;
		for (size_t i = 0; i < n; i++)
			addrs[i] = pick_address(&f);
		read_lists(&f);
		compare_addresses(&f, addrs, n);
		total.unexplained += f.differences;
		free_list(&f.symbols);
		free_list(&f.stubs);
	} else {
		total.no_elf++;
	}
	elfsyms_free(f.es);
	if (f.fd >= 0)
		close(f.fd);
	free(addrs);
}

static int check_list(size_t n)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		check_file(line, n);
	}
	free(line);
	printf("%zu files (%zu others are no ELF files), %zu addresses, %zu named\n", total.files,
	       total.no_elf, total.addresses, total.named);
	printf("like eu-addr2line: %zu by the same name, %zu without; differently: %zu aliases, "
	       "%zu stubs that nm lists, %zu beyond a symbol's end, %zu where another symbol "
	       "covers, %zu that it does not find; unexplained: %zu\n",
	       total.equal, total.both_absent, total.aliases, total.stubs, total.beyond,
	       total.other_cover, total.only_ours, total.unexplained);
	return total.unexplained || !total.files;
}

static int measure(const char *path, size_t n_lookups)
{
	uint64_t *addrs = mem_zalloc(1 << 16, sizeof(*addrs));
	struct file f = { .path = path };
	double start_s = now_s(), loaded_s, end_s;
	size_t found = 0;

	f.es = load_symbols(&f);
	if (!f.es || !f.n_code)
		return 1;
	loaded_s = now_s();
	for (size_t i = 0; i < 1 << 16; i++)
		addrs[i] = pick_address(&f);
	end_s = now_s();
	for (size_t i = 0; i < n_lookups; i++)
		found += elfsyms_find_readable(f.es, addrs[i % (1 << 16)]) != NULL;
	printf("%.1f ms load %.2f Mlookups/s %zu symbols %.1f MB %zu found %s\n",
	       (loaded_s - start_s) * 1e3, (double)n_lookups / (now_s() - end_s) / 1e6,
	       elfsyms_count(f.es), (double)elfsyms_bytes(f.es) / 1048576, found, path);
	elfsyms_free(f.es);
	if (f.fd >= 0)
		close(f.fd);
	free(addrs);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "-t"))
		return measure(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : LOOKUPS);
	return check_list(argc > 1 ? strtoull(argv[1], NULL, 10) : 10000);
}
