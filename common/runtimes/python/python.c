// SPDX-License-Identifier: GPL-2.0-only
/* Python as a runtime; see python.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/python/python.h"
#include "runtimes/python/walk.h"
#include "runtimes/text.h"

/* ---- location of the state ---- */

/*
 * The state is not exported, so the process's memory is searched. The offset is the same for all
 * threads of a process, and mostly for all processes that run the same Python. Up to 3.14 the state
 * is a thread-specific value (pthread_getspecific(3)), which glibc stores in struct pthread. Since
 * 3.15 it is a thread-local variable, on the other side of the thread pointer; another variable has
 * the same value as long as the thread has the GIL.
 */

/* bytes of struct pthread that are searched; its actual size is not used */
#define VALUES_BYTES	 2304
#define VARIABLES_BYTES	 4096
#define SINCE_A_VARIABLE 0x030f0000
#define MAX_WORDS	 (RUNTIME_THREAD_BYTES / sizeof(uint64_t))
#define MAX_THREADS	 64 /* maximum threads per interpreter */
#define MAX_INTERPRETERS 16
#define MAX_PLACES	 16

struct search {
	const struct python_process *process;
	int32_t first; /* start of the searched memory, relative to the thread pointer */
	size_t n_bytes;
	struct {
		int32_t place;
		unsigned int n_threads;
	} found[MAX_PLACES];
	size_t n_found;
};

static void count_place(struct search *s, int32_t place)
{
	size_t i = 0;

	while (i < s->n_found && s->found[i].place != place)
		i++;
	if (i == MAX_PLACES)
		return;
	if (i == s->n_found)
		s->found[s->n_found++].place = place;
	s->found[i].n_threads++;
}

/*
 * Counts the words around one thread's pointer that point to its state. Reads up to the end of the
 * thread's mapped memory.
 */
static void search_thread(struct search *s, uint64_t state, uint64_t pointer)
{
	uint64_t words[MAX_WORDS];
	size_t n = peek(s->process->pid, pointer + (uint64_t)(int64_t)s->first, words, s->n_bytes);

	for (size_t i = 0; i < n / sizeof(*words); i++)
		if (words[i] == state)
			count_place(s, s->first + (int32_t)(i * sizeof(*words)));
}

static unsigned int most_threads(const struct search *s)
{
	unsigned int most = 0;

	for (size_t i = 0; i < s->n_found; i++)
		if (s->found[i].n_threads > most)
			most = s->found[i].n_threads;
	return most;
}

/*
 * Returns the location found in most threads, preferably the known one: a thread that holds the GIL
 * at every search shows two locations. The wrong one yields no frames while the thread waits, and
 * then only the right one is found.
 */
static int32_t choose_place(const struct search *s, int32_t known)
{
	unsigned int most = most_threads(s);
	int32_t place = 0;

	for (size_t i = 0; i < s->n_found; i++)
		if (s->found[i].n_threads == most && (!place || s->found[i].place == known))
			place = s->found[i].place;
	return place;
}

/* Begins a search. struct pthread is at the thread pointer, or ends there. */
static struct search begin(const struct python_process *process)
{
	bool is_below = process->self_offset < 0;
	struct search s = { .process = process };

	if (process->python->version >= SINCE_A_VARIABLE) {
		s.first = is_below ? 0 : -VARIABLES_BYTES;
		s.n_bytes = VARIABLES_BYTES;
	} else {
		s.first = process->self_offset;
		s.n_bytes = is_below ? (size_t)-process->self_offset : VALUES_BYTES;
	}
	return s;
}

/* Searches all threads of an interpreter. Returns the number of states, up to MAX_THREADS. */
static int search_interpreter(struct search *s, uint64_t interpreter)
{
	const struct python_layout *l = &s->process->python->layout;
	uint64_t state = peek_u64(s->process->pid, interpreter + l->lists.threads), self;
	int n = 0;

	for (; state && n < MAX_THREADS; n++) {
		self = peek_u64(s->process->pid, state + l->thread_id);
		search_thread(s, state, self - (uint64_t)(int64_t)s->process->self_offset);
		state = peek_u64(s->process->pid, state + l->lists.next);
	}
	return n;
}

/* Searches all interpreters: a thread may have states in several, one of them at the location. */
int32_t python_place_find(const struct python_process *process, int32_t known, bool *has_threads)
{
	const struct python_file *python = process->python;
	const struct python_lists *lists = &python->layout.lists;
	uint64_t interpreter =
		peek_u64(process->pid, python->runtime + process->bias + lists->interpreters);
	struct search s = begin(process);
	int n = 0;

	for (int i = 0; interpreter && i < MAX_INTERPRETERS; i++) {
		n += search_interpreter(&s, interpreter);
		interpreter = peek_u64(process->pid, interpreter + lists->older);
	}
	*has_threads = n;
	return choose_place(&s, known);
}

/* ---- texts of code objects: PEP 393 ---- */

static size_t count_characters(const struct python_text *text, uint32_t kind, size_t n_bytes)
{
	if (kind != 1 && kind != 2 && kind != 4)
		return 0;
	return text->length < n_bytes / kind ? text->length : n_bytes / kind;
}

char *python_text_decode(const struct python_text *text, const uint8_t *bytes, size_t n_bytes)
{
	uint32_t kind = PYTHON_STR_KIND(text->state);

	return runtime_text_decode(bytes, count_characters(text, kind, n_bytes), kind);
}

/* ---- lines: co_linetable (Objects/locations.md in CPython; PEP 626 in 3.10) ---- */

/* Kinds of entries. 0 to 9: "short", two bytes; 10 to 12: one line, three bytes. */
enum {
	ONE_LINE_0 = 10,
	ONE_LINE_2 = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LOCATION = 15,
};

#define ENTRY_BEGINS 0x80

struct table {
	const uint8_t *at, *end;
};

/* Reads a number of six bits per byte, lowest first; bit 6 is set if more bytes follow. */
static uint32_t take_number(struct table *t)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; t->at < t->end && shift < 32; shift += 6) {
		uint8_t byte = *t->at++;

		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

/* Reads a signed number: bit 0 is the sign. Modulo 2^32, so nothing overflows. */
static uint32_t take_difference(struct table *t)
{
	uint32_t number = take_number(t);

	return number & 1 ? -(number >> 1) : number >> 1;
}

/* Skips the rest of an entry: the next one begins with a byte that has the top bit set. */
static void skip_entry(struct table *t)
{
	while (t->at < t->end && !(*t->at & ENTRY_BEGINS))
		t->at++;
}

static uint32_t take_line(struct table *t, unsigned int kind)
{
	uint32_t lines = 0;

	if (kind == LONG || kind == NO_COLUMNS)
		lines = take_difference(t);
	else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
		lines = kind - ONE_LINE_0;
	skip_entry(t);
	return lines;
}

static uint32_t find_location(struct table t, uint32_t line, uint32_t instruction)
{
	uint32_t end = 0;

	while (t.at < t.end && *t.at & ENTRY_BEGINS) {
		unsigned int kind = *t.at >> 3 & 15, n_units = (*t.at & 7) + 1;

		t.at++;
		line += take_line(&t, kind);
		end += n_units;
		if (instruction < end)
			return kind == NO_LOCATION ? 0 : line;
	}
	return 0;
}

/* ---- lines before 3.11: pairs of bytes, of which the second one has a sign ---- */

/* Before 3.10, they are co_lnotab (Objects/lnotab_notes.txt). */

#define UNIT_BYTES 2   /* bytes per instruction: tables count bytes */
#define NO_LINE	   128 /* 3.10: -128, as unsigned */

/* Finds the line by ranges (3.10): pairs of a range's bytes and the line's difference. */
static uint32_t find_range(struct table t, uint32_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		end += t.at[0];
		if (t.at[1] != NO_LINE)
			line += (uint32_t)(int8_t)t.at[1];
		if (offset < end)
			return t.at[1] == NO_LINE ? 0 : line;
	}
	return 0;
}

/* Finds the line by steps (before 3.10): pairs of bytes to the next line and its difference. */
static uint32_t find_step(struct table t, uint32_t line, uint64_t offset)
{
	uint64_t begin = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		begin += t.at[0];
		if (begin > offset)
			break;
		line += (uint32_t)(int8_t)t.at[1];
	}
	return line;
}

uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t n_bytes,
		     uint32_t first_line, uint32_t instruction)
{
	struct table t = { table, table + n_bytes };

	if (kind == PYTHON_LINES_LOCATIONS)
		return find_location(t, first_line, instruction);
	if (instruction >= INT32_MAX)
		return first_line;
	if (kind == PYTHON_LINES_RANGES)
		return find_range(t, first_line, (uint64_t)instruction * UNIT_BYTES);
	return find_step(t, first_line, (uint64_t)instruction * UNIT_BYTES);
}

/* ---- the runtime ---- */

struct build {
	struct runtime_file file;
	struct python_file python;
	int32_t place; /* offset of thread states in earlier processes; 0: unknown */
};

static struct build *build_of(const struct runtime_instance *instance)
{
	return container_of(instance->file, struct build, file);
}

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct python_file python;
	struct build *build;

	if (python_file_read(&python, elf))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->python = python;
	build->file.code = &python_code;
	build->file.kind = python.layout.eval_begin ? RUNTIME_PYTHON_OLD : RUNTIME_PYTHON;
	build->file.refused = python.refused;
	snprintf(build->file.title, sizeof(build->file.title), "Python %u.%u", python.version >> 24,
		 python.version >> 16 & 255);
	return &build->file;
}

/* Returns pthread_self() relative to the thread pointer. */
static int32_t self_offset(const struct runtime_instance *instance)
{
	return build_of(instance)->python.has_threads_below ? -(int32_t)instance->thread_bytes : 0;
}

/* Searches for the offset of thread states. known: the previous one; 0: none. */
static int32_t find_place(const struct runtime_instance *instance, int32_t known, bool *has_threads)
{
	const struct python_process process = {
		.pid = instance->pid,
		.python = &build_of(instance)->python,
		.bias = instance->bias,
		.self_offset = self_offset(instance),
	};

	return python_place_find(&process, known, has_threads);
}

/*
 * Uses the offset found in earlier processes, if any; with a wrong one, stacks have no frames.
 * Without an offset, a process has frames as long as it has a single thread.
 */
static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	struct build *build = build_of(instance);
	struct python_layout *layout = &process->python;
	bool has_threads;

	if (build->python.has_threads_below && !instance->thread_bytes)
		return -EAGAIN; /* the C library is not mapped yet */
	*layout = build->python.layout;
	layout->code_type += instance->bias;
	layout->runtime = build->python.runtime + instance->bias;
	if (layout->eval_begin)
		layout->eval_begin += instance->bias;
	layout->self_offset = self_offset(instance);
	if (!build->place)
		build->place = find_place(instance, 0, &has_threads);
	layout->state_offset = build->place;
	return 0;
}

/*
 * Searches again. Settled if the process has Python threads: not all threads need to run Python, so
 * stacks without frames are normal.
 */
static bool look_again(struct runtime_instance *instance, struct runtime_process *process,
		       bool *is_settled)
{
	struct python_layout *layout = &process->python;
	int32_t place = find_place(instance, layout->state_offset, is_settled);

	if (!place || place == layout->state_offset)
		return false;
	layout->state_offset = build_of(instance)->place = place;
	return true;
}

static struct runtime_function *read_function(const struct runtime_def *header, size_t size)
{
	const struct python_def *def = (const struct python_def *)header;
	struct runtime_function *f;

	if (size < offsetof(struct python_def, lines) ||
	    def->n_lines > size - offsetof(struct python_def, lines))
		return NULL;
	f = mem_zalloc(1, sizeof(*f) + def->n_lines);
	if (def->has_file)
		f->file = python_text_decode(&def->file_text, def->file, PYTHON_FILE_BYTES - 4);
	f->name = python_text_decode(&def->name_text, def->name, PYTHON_NAME_BYTES - 1);
	f->first_line = def->first_line;
	f->lines_kind = def->lines_kind;
	f->n_lines = def->n_lines;
	memcpy(f->lines, def->lines, def->n_lines);
	return f;
}

static size_t find_line(struct runtime_instance *instance, const struct runtime_function *f,
			const struct runtime_position *position, struct runtime_call *calls)
{
	(void)instance;
	if (!position->has_index)
		return 0;
	calls[0] = (struct runtime_call){ .line = python_line(f->lines_kind, f->lines, f->n_lines,
							      f->first_line,
							      (uint32_t)position->index) };
	return 1;
}

const struct runtime_code python_code = {
	.kinds = RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PYTHON_OLD),
	.recognize = recognize,
	.describe = describe,
	.look_again = look_again,
	.read = read_function,
	.resolve = find_line,
	.walk = python_walk_remote,
};
