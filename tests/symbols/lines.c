// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares source lines and inlined functions with eu-addr2line's at random addresses of a file's
 * code: "lines COUNT FILE...". Both go by the same DWARF, but not by the same code: libdw's own way
 * to an address's unit is not ours, and eu-addr2line has no cache. It leaves callers out now and
 * then, or shows functions that were inlined next to the address as if they held it, so binutils'
 * addr2line and LLVM's (where it is installed) have the last word.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "../random.h"
#include "elf/elffile.h"
#include "symbols/debugfile.h"
#include "symbols/elfsyms.h"
#include "symbols/srclines.h"

#define LINE_BYTES 65536

static unsigned long equal, different, inlined, by_others;
static char their_function[256]; /* of the last frame read */

/* A file under test. */
struct subject {
	const char *path;
	int fd;
	struct srclines *lines;
	struct elfsyms *symbols;
	uint64_t text, text_bytes; /* where compiled code is */
};

static bool find_text(struct subject *subject)
{
	struct elffile file;
	GElf_Shdr header;
	bool found;

	if (elffile_open(&file, subject->fd))
		return false;
	found = elffile_section(&file, ".text", &header);
	subject->text = header.sh_addr;
	subject->text_bytes = header.sh_size;
	elffile_close(&file);
	return found && subject->text_bytes;
}

static char *read_line(FILE *f)
{
	static char line[2][LINE_BYTES];
	static int turn;

	turn = !turn;
	if (!fgets(line[turn], LINE_BYTES, f))
		return NULL;
	line[turn][strcspn(line[turn], "\n")] = '\0';
	return line[turn];
}

/* "file:line:column" without the column; "??:0" where nothing is known. */
static void cut_column(char *place)
{
	char *note = strstr(place, " (discriminator"), *last, *first;

	if (note)
		*note = '\0';
	last = strrchr(place, ':');
	first = strchr(place, ':');
	if (last && last != first)
		*last = '\0';
}

/* Theirs is absolute where ours is as the compiler was told. */
static bool is_same_place(const char *theirs, const char *own)
{
	size_t n = strlen(theirs), m = strlen(own);

	return n >= m && !strcmp(theirs + n - m, own) && (n == m || theirs[n - m - 1] == '/');
}

/* One frame of theirs is two lines: a name, the first with "inlined at ..." behind it; a place. */
static bool is_equal_frame(FILE *theirs, const struct srcframe *frame, bool is_last)
{
	char *function = read_line(theirs), *place = function ? read_line(theirs) : NULL, *at, *own;
	bool same;

	if (!place)
		return false;
	at = strstr(function, " inlined at ");
	if (at)
		*at = '\0';
	snprintf(their_function, sizeof(their_function), "%s", function);
	cut_column(place);
	own = mem_printf("%s:%" PRIu32, frame->file ? frame->file : "??", frame->line);
	same = is_same_place(place, own) && (is_last || !strcmp(function, frame->function));
	free(own);
	return same;
}

/*
 * The start code of the C library and the compiler has no DWARF; eu-addr2line then gives the line
 * before it in the table, of another function, where gdb says that there is none.
 */
static bool is_start_code(size_t n)
{
	static const char *const functions[] = { "_start", "deregister_tm_clones",
						 "register_tm_clones", "__do_global_dtors_aux",
						 "frame_dummy" };

	for (size_t i = 0; !n && i < ARRAY_SIZE(functions); i++)
		if (!strcmp(their_function, functions[i]))
			return true;
	return false;
}

static bool compare(FILE *theirs, const struct srcframe *frames, size_t n)
{
	static const struct srcframe nothing;
	size_t wanted = n ? n : 1;
	bool same = true;

	for (size_t i = 0; i < wanted && same; i++)
		same = is_equal_frame(theirs, n ? &frames[i] : &nothing, i == wanted - 1);
	return (same && !read_line(theirs)) || is_start_code(n);
}

/* A process for each address: answers can't run into each other. */
static bool agrees(const char *program, const char *path, uint64_t addr,
		   const struct srcframe *frames, size_t n)
{
	char *command =
		mem_printf("%s -fiC -e '%s' 0x%" PRIx64 " 2>/dev/null", program, path, addr);
	FILE *theirs = popen(command, "r");
	bool same = theirs && compare(theirs, frames, n);

	free(command);
	if (theirs)
		pclose(theirs);
	return same;
}

static void compare_at(const struct subject *subject, uint64_t addr)
{
	const struct srcframe *frames = NULL;
	size_t n = srclines_find(subject->lines, addr, &frames);

	inlined += n > 1;
	if (agrees("eu-addr2line", subject->path, addr, frames, n)) {
		equal++;
	} else if (agrees("addr2line", subject->path, addr, frames, n) ||
		   agrees("llvm-addr2line", subject->path, addr, frames, n)) {
		by_others++;
	} else {
		different++;
		printf("differs: 0x%" PRIx64 " of %s, ours: %zu frames\n", addr, subject->path, n);
	}
}

/* An address in a function, not in what fills the gap to the next one. */
static uint64_t choose_addr(const struct subject *subject)
{
	uint64_t addr;

	do
		addr = subject->text + random_u64() % subject->text_bytes;
	while (!elfsyms_find(subject->symbols, addr, NULL));
	return addr;
}

static bool open_subject(struct subject *subject)
{
	struct debug_place place = { open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), -1, NULL };

	subject->fd = open(subject->path, O_RDONLY | O_CLOEXEC);
	if (subject->fd < 0)
		return false;
	subject->lines = srclines_open(subject->fd, &place, false, NULL);
	subject->symbols = elfsyms_load(subject->fd, NULL);
	return subject->lines && subject->symbols && find_text(subject);
}

static bool compare_file(const char *path, unsigned long count)
{
	struct subject subject = { .path = path };
	bool ok = open_subject(&subject);

	for (unsigned long i = 0; ok && i < count; i++)
		compare_at(&subject, choose_addr(&subject));
	if (!ok)
		printf("%s: no code with DWARF and symbols in it\n", path);
	elfsyms_free(subject.symbols);
	srclines_free(subject.lines);
	if (subject.fd >= 0)
		close(subject.fd);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	bool ok = count > 0;

	for (int i = 2; i < argc && ok; i++)
		ok = compare_file(argv[i], count);
	printf("%lu addresses equal, %lu only to another's than eu-addr2line's, %lu inlined; "
	       "%lu different\n",
	       equal + by_others, by_others, inlined, different);
	printf("%s source_lines_equal_those_of_eu_addr2line\n",
	       ok && equal && inlined && !different ? "PASS" : "FAIL");
	return ok && equal && inlined && !different ? 0 : 1;
}
