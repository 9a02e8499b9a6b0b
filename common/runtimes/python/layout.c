// SPDX-License-Identifier: GPL-2.0-only
/* Layout of the frames of a CPython build; see layout.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elfexports.h"
#include "runtimes/python/layout.h"

#define MINOR(version)	  ((version) >> 16)
#define OFFSETS_COOKIE	  "xdebugpy"
#define WORD_VERSION	  1
#define WORD_FREE	  2 /* nonzero: built without the GIL */
#define WORD_INTERPRETERS 5
#define WORD_OLDER	  8
#define WORD_THREADS	  9

/* ---- offsets stored in the file ---- */

/* Word indices of the parts of struct _Py_DebugOffsets, each of which begins with its size. */
struct parts {
	unsigned int state, thread_id, frame, code;
};

static bool has_known_offsets(const uint64_t *words, size_t n, uint32_t version)
{
	return n >= PYTHON_OFFSET_WORDS && !memcmp(words, OFFSETS_COOKIE, 8) &&
	       MINOR((uint32_t)words[WORD_VERSION]) == MINOR(version);
}

/*
 * Checks that no offset for reads exceeds its object's size, and that other offsets fit their
 * fields.
 */
static bool is_small(const uint64_t *words, const struct parts *at)
{
	for (unsigned int i = 1; i <= 3; i++)
		if (words[at->frame + i] > PYTHON_FRAME_BYTES - sizeof(uint64_t))
			return false;
	return words[at->frame + 5] < PYTHON_FRAME_BYTES &&
	       words[at->code + 5] < PYTHON_CODE_BYTES - sizeof(uint32_t) &&
	       words[at->code + 9] <= UINT8_MAX && words[at->state + 4] <= UINT16_MAX &&
	       words[at->thread_id] <= UINT16_MAX && words[WORD_INTERPRETERS] <= UINT16_MAX &&
	       words[WORD_OLDER] <= UINT16_MAX && words[WORD_THREADS] <= UINT16_MAX &&
	       words[at->state + 2] <= UINT16_MAX;
}

static bool has_usual_code(const uint64_t *words, const struct parts *at)
{
	return words[at->code + 1] == PYTHON_CODE_FILENAME &&
	       words[at->code + 3] == PYTHON_CODE_QUALNAME &&
	       words[at->code + 4] == PYTHON_CODE_LINETABLE;
}

static const char *take_offsets(struct python_file *python, const uint64_t *words, size_t n,
				const struct parts *at)
{
	struct python_layout *l = &python->layout;

	if (!has_known_offsets(words, n, python->version))
		return "frame layout not exported";
	if (words[WORD_FREE])
		return "free-threaded build (no GIL)";
	if (!is_small(words, at) || !has_usual_code(words, at))
		return "unknown code object layout";
	python->layout.lists.interpreters = (uint16_t)words[WORD_INTERPRETERS];
	python->layout.lists.older = (uint16_t)words[WORD_OLDER];
	python->layout.lists.threads = (uint16_t)words[WORD_THREADS];
	python->layout.lists.next = (uint16_t)words[at->state + 2];
	l->top = (uint16_t)words[at->state + 4];
	l->thread_id = (uint16_t)words[at->thread_id];
	l->frame_previous = (uint8_t)words[at->frame + 1];
	l->frame_code = (uint8_t)words[at->frame + 2];
	l->frame_instr = (uint8_t)words[at->frame + 3];
	l->frame_owner = (uint8_t)words[at->frame + 5];
	l->code_first_line = (uint8_t)words[at->code + 5];
	l->code_adaptive = (uint8_t)words[at->code + 9];
	l->entry_owner = 3;
	return NULL;
}

/* ---- offsets known here, by version ---- */

/* Sets the layout of 3.8 to 3.10: frames are objects; eval_begin is found in the file. */
static void take_objects(struct python_file *python, bool is_310)
{
	struct python_layout *l = &python->layout;

	l->lists = (struct python_lists){ .interpreters = 32, .threads = 8, .next = 8 };
	l->thread_id = 176;
	l->top = 24;
	l->frame_previous = 24;
	l->frame_code = 32;
	l->frame_instr = is_310 ? 96 : 104;
	l->frame_locals = is_310 ? 352 : 360;
	l->instr_shift = is_310;
	l->code_first_line = PYTHON_CODE_LINE;
	l->code_file = 104;
	l->code_name = 112;
	l->code_lines = 120;
	l->lines_kind = is_310 ? PYTHON_LINES_RANGES : PYTHON_LINES_STEPS;
	l->str_ascii = 48;
	l->str_compact = 72;
}

static const struct python_layout of_311 = {
	.thread_id = 152,
	.top = 56,
	.has_cframe = 1,
	.ends_inside = 1,
	.cframe_frame = 8,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instr = 56,
	.frame_owner = 68,
	.entry_owner = 1,
	.code_first_line = 72,
	.code_adaptive = 184,
	.lists = { .interpreters = 40, .threads = 16, .next = 8 },
};

static const struct python_layout of_312 = {
	.thread_id = 136,
	.top = 56,
	.has_cframe = 1,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instr = 56,
	.frame_owner = 70,
	.entry_owner = 3,
	.code_first_line = 68,
	.code_adaptive = 192,
	.lists = { .interpreters = 40, .threads = 72, .next = 8 },
};

static const char *take_known(struct python_layout *l, const struct python_layout *known)
{
	uint64_t code_type = l->code_type;

	*l = *known;
	l->code_type = code_type;
	return NULL;
}

/* Sets offsets that are the same since 3.11; in 3.12 str objects became smaller. */
static void take_texts(struct python_layout *l, bool is_312)
{
	l->code_file = PYTHON_CODE_FILENAME;
	l->code_name = PYTHON_CODE_QUALNAME;
	l->code_lines = PYTHON_CODE_LINETABLE;
	l->has_versions = is_312;
	l->str_ascii = is_312 ? 40 : 48;
	l->str_compact = is_312 ? 56 : 72;
}

const char *python_layout_find(struct python_file *python, const uint64_t *words, size_t n)
{
	static const struct parts of_313 = { 19, 24, 28, 34 }, of_314 = { 22, 27, 31, 39 },
				  of_315 = { 22, 30, 39, 47 };
	uint32_t minor = MINOR(python->version);
	const char *refused;

	switch (minor) {
	case 0x308:
	case 0x309:
	case 0x30a:
		take_objects(python, minor == 0x30a);
		return NULL;
	case 0x30b:
		refused = take_known(&python->layout, &of_311);
		break;
	case 0x30c:
		refused = take_known(&python->layout, &of_312);
		break;
	case 0x30d:
		refused = take_offsets(python, words, n, &of_313);
		break;
	case 0x30e:
		refused = take_offsets(python, words, n, &of_314);
		break;
	case 0x30f:
		refused = take_offsets(python, words, n, &of_315);
		break;
	default:
		return "unknown version";
	}
	take_texts(&python->layout, minor >= 0x30c);
	return refused;
}

/* ---- the file ---- */

/*
 * Architectures, by the two variants of thread-local storage (U. Drepper: ELF Handling For
 * Thread-Local Storage, 3): above the thread pointer, with struct pthread below it, or vice versa.
 */
static const struct machine {
	uint16_t number; /* e_machine */
	bool has_threads_below;
} machines[] = { { EM_X86_64, false }, { EM_AARCH64, true } };

static const struct machine *find_machine(const struct elf64 *elf)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].number == elf->header.e_machine)
			return &machines[i];
	return NULL;
}

/* Reads a 32-bit number; 0: unreadable. */
static uint32_t read_number(const struct elf64 *elf, uint64_t vaddr)
{
	uint32_t *at = elf64_read_vaddr(elf, vaddr, sizeof(*at), sizeof(*at)),
		 number = at ? *at : 0;

	free(at);
	return number;
}

/* Guesses a version before 3.11 by exported symbols: each version has a new one. */
static uint32_t guess_version(const struct elf64 *elf)
{
	static const struct {
		const char *name;
		uint32_t version;
	} news[] = { { "PyIter_Send", 0x030a0000 },
		     { "PyFrame_GetBack", 0x03090000 },
		     { "PyCode_NewWithPosOnlyArgs", 0x03080000 } };
	Elf64_Sym symbol;

	for (size_t i = 0; i < sizeof(news) / sizeof(*news); i++)
		if (!elfexports_find_symbol(elf, news[i].name, &symbol))
			return news[i].version;
	return 0x03070000;
}

static uint32_t find_version(const struct elf64 *elf)
{
	Elf64_Sym symbol;

	return elfexports_find_symbol(elf, "Py_Version", &symbol)
		       ? guess_version(elf)
		       : read_number(elf, symbol.st_value);
}

static bool is_old(const struct python_file *python)
{
	return python->version < 0x030b0000;
}

static int find_evaluation(struct python_layout *layout, const struct elf64 *elf)
{
	Elf64_Sym symbol;

	if (elfexports_find_symbol(elf, "_PyEval_EvalFrameDefault", &symbol))
		return -ENOENT;
	layout->eval_begin = symbol.st_value;
	layout->eval_bytes = (uint32_t)symbol.st_size;
	return 0;
}

int python_file_read(struct python_file *python, const struct elf64 *elf)
{
	static const char *const names[] = { "_PyRuntime", "PyCode_Type" };
	uint64_t vaddrs[2], bytes = PYTHON_OFFSET_WORDS * sizeof(uint64_t), *words;
	const struct machine *machine = find_machine(elf);

	*python = (struct python_file){ 0 };
	if (!machine || elfexports_find(elf, names, 2, vaddrs))
		return -ENOENT;
	python->version = find_version(elf);
	if (!python->version || (is_old(python) && find_evaluation(&python->layout, elf)))
		return -ENOENT;
	python->has_threads_below = machine->has_threads_below;
	python->runtime = vaddrs[0];
	python->layout.code_type = vaddrs[1];
	words = elf64_read_vaddr(elf, vaddrs[0], bytes, bytes);
	python->refused = python_layout_find(python, words, words ? PYTHON_OFFSET_WORDS : 0);
	if (is_old(python) && !python->refused && python->has_threads_below)
		python->refused = "needs x86-64 before 3.11";
	free(words);
	return 0;
}
