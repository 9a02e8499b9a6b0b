// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory and files of a traced Python process: records of code objects with texts and tables of
 * lines of arbitrary bytes, offsets in its file, and files whose symbol tables are searched for
 * Python.
 */
#include "elf/elf64.h"
#include "runtimes/python/python.h"
#include "runtimes/meanings.h"
#include "runtimes/python/layout.h"
#include "runtimes/runtimes.h"
#include "fuzz.h"

static void check_utf8(const char *text)
{
	for (const unsigned char *at = (const void *)text; *at;) {
		int n_more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;

		if (n_more < 0 || *at > 0xf4)
			abort();
		for (at++; n_more; n_more--, at++)
			if ((*at & 0xc0) != 0x80)
				abort();
	}
}

static void read_record(const uint8_t *bytes, size_t size)
{
	struct python_def *def = calloc(1, sizeof(*def));
	size_t n = size < sizeof(*def) ? size : sizeof(*def);
	struct meanings *codes = meanings_new();
	const struct runtime_function *f;

	memcpy(def, bytes, n);
	def->def.runtime = RUNTIME_PYTHON;
	meanings_add(codes, &def->def, n);
	f = meanings_find(codes, (pid_t)def->def.tgid, def->def.word);
	check_utf8(f->name);
	if (f->file)
		check_utf8(f->file);
	for (uint32_t i = 0; i < 300; i += 7)
		python_line((enum python_lines)f->lines_kind, f->lines, f->n_lines, f->first_line,
			    i);
	meanings_forget(codes, (pid_t)def->def.tgid);
	if (meanings_count(codes))
		abort();
	meanings_free(codes);
	free(def);
}

/* Whatever is accepted lies inside of what is read. */
static void read_offsets(const uint8_t *bytes, size_t size)
{
	uint64_t words[PYTHON_OFFSET_WORDS] = { 0 };
	struct python_file python = { 0 };

	if (size < 4)
		return;
	memcpy(&python.version, bytes, 4);
	memcpy(words, bytes + 4, size - 4 < sizeof(words) ? size - 4 : sizeof(words));
	if (python_layout_find(&python, words, PYTHON_OFFSET_WORDS))
		return;
	if (python.layout.frame_code > PYTHON_FRAME_BYTES - 8 ||
	    python.layout.frame_previous > PYTHON_FRAME_BYTES - 8 ||
	    python.layout.code_first_line > PYTHON_CODE_BYTES - 4)
		abort();
}

FUZZ(bytes, size)
{
	struct python_file python;
	struct elf64 elf;

	read_record(bytes, size);
	read_offsets(bytes, size);
	if (elf64_open_image(&elf, bytes, size))
		return 0;
	python_file_read(&python, &elf);
	if (runtime_thread_bytes(&elf) > RUNTIME_THREAD_BYTES)
		abort();
	return 0;
}
