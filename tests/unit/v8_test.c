// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of V8: their objects are made in this process's own memory, and read as a traced
 * program's. What BPF does with them is the same code (bpf/abi/v8_walk.h).
 */
#include "runtimes/runtimes.h"
#include "runtimes/v8/v8.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/heap.h"
#include "runtimes/v8/walk.h"
#include "unit.h"

#define MAX_WORDS 4096

enum {
	TYPE_FUNCTION = 2000,
	TYPE_SHARED = 260,
	TYPE_SCOPE,
	TYPE_SCRIPT,
	TYPE_BYTECODES,
	TYPE_CODE
};

static const struct v8_version version = {
	.major = 11, .minor = 3, .bytecodes_positions = 32, .bytecodes_data = 54
};
static const struct v8_file file = {
	.version = &version,
	.layout = { .type_function = TYPE_FUNCTION,
		    .last_function = TYPE_FUNCTION,
		    .type_shared = TYPE_SHARED,
		    .type_scope = TYPE_SCOPE,
		    .type_script = TYPE_SCRIPT,
		    .n_strings = 128,
		    .function_shared = 24,
		    .shared_name = 16,
		    .shared_script = 32,
		    .shared_literal = 52,
		    .scope_first = 32,
		    .scope_module = 3 },
	.type_bytecodes = TYPE_BYTECODES,
	.type_code = TYPE_CODE,
};
static struct v8_heap heap;

static uint64_t words[MAX_WORDS];
static size_t n_words;

BEFORE_EACH()
{
	memset(words, 0, sizeof(words));
	n_words = 0;
	heap = (struct v8_heap){ .pid = getpid(), .v8 = &file };
}

/* ---- objects ---- */

static uint64_t small(int64_t value)
{
	return (uint64_t)value << 32;
}

static uint64_t *allocate(size_t n)
{
	uint64_t *at = &words[n_words];

	n_words += n;
	return n_words <= MAX_WORDS ? at : (abort(), NULL);
}

static uint64_t tagged(const uint64_t *object)
{
	return (uintptr_t)object | 1;
}

static uint64_t *untagged(uint64_t object)
{
	return (uint64_t *)(uintptr_t)(object - 1);
}

static uint64_t make(uint16_t type, size_t n)
{
	uint64_t *map = allocate(2), *object = allocate(n);

	memcpy((uint8_t *)map + V8_MAP_TYPE, &type, sizeof(type));
	object[0] = tagged(map);
	return tagged(object);
}

static uint64_t make_string(uint16_t type, uint32_t length, uint64_t first, uint64_t second)
{
	uint64_t object = make(type, 4), *at = untagged(object);

	at[1] = (uint64_t)length << 32;
	at[2] = first;
	at[3] = second;
	return object;
}

static uint64_t text(const char *characters)
{
	size_t n = strlen(characters);
	uint64_t object = make(V8_STRING_FLAT | V8_STRING_ONE_BYTE, 2 + (n + 7) / 8 + 2);

	untagged(object)[1] = (uint64_t)n << 32;
	memcpy(untagged(object) + 2, characters, n);
	return object;
}

static uint64_t rope(uint64_t first, uint64_t second)
{
	uint32_t n = (uint32_t)(untagged(first)[1] >> 32) + (uint32_t)(untagged(second)[1] >> 32);

	return make_string(V8_STRING_ROPE | V8_STRING_ONE_BYTE, n, first, second);
}

static uint64_t make_array(const void *bytes, size_t n)
{
	uint64_t object = make(1, 2 + (n + 7) / 8);

	untagged(object)[1] = small((int64_t)n);
	memcpy(untagged(object) + 2, bytes, n);
	return object;
}

static uint64_t make_script(uint32_t id, uint64_t name, uint64_t source)
{
	uint64_t object = make(TYPE_SCRIPT, 9), *at = untagged(object);

	at[V8_SCRIPT_SOURCE / 8] = source;
	at[V8_SCRIPT_NAME / 8] = name;
	at[V8_SCRIPT_ID / 8] = small(id);
	return object;
}

static uint64_t make_shared(uint64_t name, uint64_t script, uint32_t literal)
{
	uint64_t object = make(TYPE_SHARED, 8), *at = untagged(object);

	at[2] = name;
	at[4] = script;
	at[6] = small(literal);
	return object;
}

#define HAS_NAME     (1U << 12)
#define HAS_INFERRED (1U << 14)

/* A scope with so many variables, what its flags say is there, and a position. */
static uint64_t make_scope(uint32_t flags, uint32_t n, const uint64_t *names, size_t n_names,
			   uint32_t position)
{
	uint64_t object = make(TYPE_SCOPE, 4 + 2 * n + n_names + 2), *at = untagged(object);

	at[1] = small(flags);
	at[3] = small(n);
	memcpy(at + 4 + (n < 75 ? n : 1) + n, names, n_names * sizeof(*names));
	at[4 + (n < 75 ? n : 1) + n + n_names] = small(position);
	return object;
}

/* ---- texts ---- */

static const char *read_text(uint64_t string)
{
	static char latin[256];
	struct v8_bytes characters;

	if (!v8_heap_string(&heap, string, sizeof(latin) - 1, &characters))
		return "none";
	for (size_t i = 0; i < characters.n; i++)
		latin[i] = (char)((uint16_t *)characters.bytes)[i];
	latin[characters.n] = '\0';
	free(characters.bytes);
	return latin;
}

TEST(strings_of_all_kinds_are_read)
{
	static const uint16_t wide[] = { 'w', 'i', 'd', 'e' };
	uint64_t flat = text("alphabet"), first;

	memcpy(&first, wide, sizeof(first));
	CHECK_STR(read_text(flat), "alphabet");
	CHECK_STR(read_text(text("")), "");
	CHECK_STR(read_text(make_string(V8_STRING_FLAT, 4, first, 0)), "wide");
	CHECK_STR(read_text(make_string(V8_STRING_THIN, 8, flat, 0)), "alphabet");
	CHECK_STR(read_text(make_string(V8_STRING_SLICED, 4, flat, small(2))), "phab");
	CHECK_STR(read_text(make_string(V8_STRING_EXTERNAL | V8_STRING_ONE_BYTE, 5, 0,
					(uintptr_t) "outer")),
		  "outer");
	CHECK_STR(read_text(rope(rope(text("a"), text("bc")), rope(text("d"), text("")))), "abcd");
	CHECK_STR(read_text(make_string(V8_STRING_SLICED, 2, rope(text("abc"), text("def")),
					small(2))),
		  "cd");
}

TEST(strings_that_lie_are_bounded)
{
	uint64_t circle = make_string(V8_STRING_ROPE, 10, 0, 0), *at = untagged(circle);
	uint64_t endless = make_string(V8_STRING_THIN, 10, 0, 0);

	at[2] = at[3] = circle;
	untagged(endless)[2] = endless;
	CHECK_STR(read_text(circle), "none");
	CHECK_STR(read_text(endless), "none");
	CHECK_STR(read_text(make_string(V8_STRING_FLAT, UINT32_MAX, 0, 0)), "none");
	CHECK_STR(read_text(make_string(V8_STRING_EXTERNAL, 5, 0, 8)), "none");
	CHECK_STR(read_text(make_string(V8_STRING_SLICED, 5, text("abc"), small(-1))), "none");
	CHECK_STR(read_text(make(TYPE_SCRIPT, 9)), "none");
	CHECK_STR(read_text(9), "none");
	CHECK_STR(read_text(0), "none");
}

TEST(moved_objects_are_followed_once)
{
	uint64_t moved = make(5, 2), twice = make(5, 2), here = text("here");

	untagged(moved)[0] = here - 1;
	untagged(twice)[0] = moved - 1;
	CHECK_STR(read_text(moved), "here");
	CHECK_STR(read_text(twice), "none");
}

/* ---- functions ---- */

/* Defines a function as BPF does, and returns its name and script as the loader reads them. */
static const char *name_of(uint64_t shared)
{
	static char names[512];
	struct runtime_function *function;
	struct v8_def def;

	if (!v8_define_remote(getpid(), &file.layout, shared, &def))
		return "none";
	function = v8_function_read(&def.def, sizeof(def));
	snprintf(names, sizeof(names), "%s %s %d", function->name,
		 function->file ? function->file : "-", def.begin);
	runtime_function_free(function);
	return names;
}

TEST(names_are_where_the_scope_says)
{
	uint64_t script = make_script(7, text("/app/a.js"), text("")), none = text("");
	uint64_t own[] = { text("own"), small(1), text("Class.inferred") };

#define NAMED(flags, n, at, n_names) \
	name_of(make_shared(make_scope(flags, n, at, n_names, 42), script, 3))
	CHECK_STR(NAMED(HAS_NAME, 0, own, 2), "own /app/a.js 42");
	CHECK_STR(NAMED(HAS_NAME | HAS_INFERRED, 5, own, 3), "own /app/a.js 42");
	CHECK_STR(NAMED(HAS_INFERRED, 80, own + 2, 1), "Class.inferred /app/a.js 42");
	CHECK_STR(NAMED(0, 1, own, 0), "(anonymous) /app/a.js 42");
	own[0] = none;
	CHECK_STR(NAMED(HAS_NAME | HAS_INFERRED, 2, own, 3), "Class.inferred /app/a.js 42");
	CHECK_STR(name_of(make_shared(text("builtin"), 0, 3)), "builtin - -1");
	CHECK_STR(name_of(make_shared(0, script, 3)), "(anonymous) /app/a.js -1");
}

TEST(long_names_lose_their_end_and_long_scripts_their_beginning)
{
	char longer[400];
	uint64_t script;

	memset(longer, 'x', sizeof(longer));
	memcpy(longer, "begin", 5);
	memcpy(longer + sizeof(longer) - 5, "end", 4);
	script = make_script(7, text(longer), text(""));
	CHECK_EQ(strlen(name_of(make_shared(text(longer), script, 3))),
		 V8_NAME_BYTES - 1 + 1 + V8_FILE_END_BYTES + 3);
	CHECK(!strncmp(name_of(make_shared(text(longer), script, 3)), "beginx", 6));
	CHECK(strstr(name_of(make_shared(text(longer), script, 3)), "xend -1"));
}

TEST(what_is_no_function_has_no_name)
{
	uint64_t scope = make(TYPE_SCOPE, 8), shared = make_shared(scope, scope, 1);

	CHECK_STR(name_of(0), "none");
	CHECK_STR(name_of(scope), "none");
	CHECK_STR(name_of(shared), "(anonymous) - 0");
	untagged(scope)[1] = small(HAS_NAME);
	untagged(scope)[3] = small(-1);
	CHECK_STR(name_of(shared), "(anonymous) - -1");
}

/* ---- lines ---- */

static struct v8_location locate(struct v8_lines *lines, uint64_t script, int32_t position)
{
	struct v8_location at;

	v8_lines_find(lines, &heap, script, 7, position, &at);
	return at;
}

TEST(lines_end_as_in_ecmascript)
{
	struct v8_lines *lines = v8_lines_new();
	uint64_t script = make_script(7, text("a.js"), text("a\nb\r\nc\rd"));

	CHECK_EQ(locate(lines, script, 0).line, 1);
	CHECK_EQ(locate(lines, script, 1).line, 1);
	CHECK_EQ(locate(lines, script, 2).line, 2);
	CHECK_EQ(locate(lines, script, 5).line, 3);
	CHECK_EQ(locate(lines, script, 7).line, 4);
	CHECK_EQ(locate(lines, script, 7).column, 1);
	CHECK_EQ(locate(lines, script, 9).line, 0);
	CHECK_EQ(locate(lines, script, -1).line, 0);
	untagged(script)[V8_SCRIPT_LINE / 8] = small(10);
	CHECK_EQ(locate(lines, script, 2).line, 12);
	untagged(script)[V8_SCRIPT_ID / 8] = small(8); /* another script is there now */
	CHECK_EQ(locate(lines, script, 2).line, 0);
	v8_lines_free(lines);
}

TEST(a_bytecode_has_the_last_position_before_it)
{
	/* from offset -1: +1 at position 3, +5 at 13, then +4 at 8, as pairs of differences */
	static const uint8_t table[] = { 2, 4 * 4, 10, 0x80 | (10 * 4 & 0x7f), 0, 8, 2 * 10 - 1 };
	static const uint8_t endless[] = { 0x80, 0x80, 0x80 };
	uint64_t bytecodes = make(TYPE_BYTECODES, 6), *at = untagged(bytecodes);

	at[4] = make_array(table, sizeof(table));
	CHECK_EQ(v8_code_position(&heap, bytecodes, 0), 3);
	CHECK_EQ(v8_code_position(&heap, bytecodes, 4), 3);
	CHECK_EQ(v8_code_position(&heap, bytecodes, -1), -1);
	at[4] = make_array(endless, sizeof(endless));
	CHECK_EQ(v8_code_position(&heap, bytecodes, 4), -1);
	at[4] = 0;
	CHECK_EQ(v8_code_position(&heap, bytecodes, 4), -1);
}

/* ---- frames ---- */

static struct runtime_function *define(uint64_t shared)
{
	struct v8_def def;

	CHECK(v8_define_remote(getpid(), &file.layout, shared, &def));
	return v8_function_read(&def.def, sizeof(def));
}

/* Returns the name of an interpreted frame of a function, and its line at the first bytecode. */
static const char *resolve(struct v8_calls *calls, const struct runtime_function *function)
{
	const struct runtime_position position = { .has_index = true, .index = 54 - 1 };
	struct runtime_call found[RUNTIME_MAX_CALLS];
	static char text[256];

	CHECK_EQ(v8_calls_resolve(calls, function, &position, found), 1);
	snprintf(text, sizeof(text), "%s %u",
		 found[0].function ? found[0].function->name : function->name, found[0].line);
	runtime_function_free(found[0].function);
	return text;
}

static uint64_t make_bytecodes(void)
{
	static const uint8_t table[] = { 2, 4 * 4 }; /* offset 0: position 3 */
	uint64_t bytecodes = make(TYPE_BYTECODES, 6);

	untagged(bytecodes)[4] = make_array(table, sizeof(table));
	return bytecodes;
}

TEST(lines_and_names_are_not_those_of_a_function_that_was_moved_there)
{
	uint64_t name = rope(text("Class."), text("method"));
	uint64_t script = make_script(7, text("a.js"), text("a\nb\nc"));
	uint64_t shared = make_shared(name, script, 3);
	struct v8_calls *calls = v8_calls_new(getpid(), &file, true);
	struct runtime_function *function;

	untagged(shared)[1] = make_bytecodes();
	function = define(shared);
	CHECK_STR(resolve(calls, function), "Class.method 2");
	untagged(shared)[6] = small(4);
	CHECK_STR(resolve(calls, function), "Class.method 0");
	untagged(shared)[0] = 0;
	CHECK_STR(resolve(calls, function), "Class.method 0");
	runtime_function_free(function);
	v8_calls_free(calls);
}

TEST(functions_without_scripts_have_no_name_of_others)
{
	uint64_t rope_name = rope(text("get "), text("name"));
	struct runtime_function *named = define(make_shared(rope_name, 0, 3));
	struct runtime_function *unnamed = define(make_shared(0, 0, 3));
	struct v8_calls *calls = v8_calls_new(getpid(), &file, true);

	resolve(calls, named);
	CHECK_STR(resolve(calls, unnamed), "(anonymous) 0");
	runtime_function_free(named);
	runtime_function_free(unnamed);
	v8_calls_free(calls);
}

/* ---- optimized code ---- */

static const struct v8_version compiled = {
	.major = 11,
	.bytecodes_data = 54,
	.stream_start = 16,
	.code_start = 40,
	.code_size = 56,
	.code_flags = 48,
	.code_deopt = 16,
	.kind_baseline = 1,
	.operands = "33",
	.op_frame = 1,
	.op_last_frame = 1,
	.op_builtin = 9,
};

static uint64_t make_list(const uint64_t *items, size_t n)
{
	uint64_t object = make(1, 2 + n);

	untagged(object)[1] = small((int64_t)n);
	memcpy(untagged(object) + 2, items, n * sizeof(*items));
	return object;
}

/* Code of a function, with one call, at which another one is inlined. */
static uint64_t make_code(uint64_t start, uint64_t own, uint64_t inlined)
{
	/* begin: two frames; a frame of literal 0, in it one of literal 1 */
	static const uint8_t translation[] = { 0, 0, 4, 0, 1, 0, 0, 0, 1, 0, 2, 0 };
	uint64_t object = make(TYPE_CODE, 9), *at = untagged(object);
	uint64_t deopt[15] = { make_array(translation, sizeof(translation)) };
	const uint64_t literals[] = { own, inlined };

	deopt[2] = make_list(literals, ARRAY_SIZE(literals));
	deopt[6] = own;
	at[2] = make_list(deopt, ARRAY_SIZE(deopt));
	at[5] = start;
	at[6] = 3; /* TurboFan's */
	at[7] = 64;
	return object;
}

static const char *resolve_at(struct v8_calls *calls, const struct runtime_function *function,
			      const struct runtime_position *position)
{
	struct runtime_call found[RUNTIME_MAX_CALLS];
	size_t n = v8_calls_resolve(calls, function, position, found);
	static char text[256];

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
			 found[i].function ? found[i].function->name : function->name);
		runtime_function_free(found[i].function);
	}
	return text;
}

static const char *resolve_return(struct v8_calls *calls, const struct runtime_function *function,
				  uint64_t pc)
{
	const struct runtime_position position = {
		.word = 1, .pc = pc, .is_return = true, .is_made = true
	};

	return resolve_at(calls, function, &position);
}

/* Resolves a leaf, with a return address on top of its stack. */
static const char *resolve_leaf(struct v8_calls *calls, const struct runtime_function *function,
				uint64_t pc, uint64_t top)
{
	const struct runtime_position position = {
		.word = 1, .pc = pc, .is_made = true, .has_index = true, .index = top | V8_IS_RETURN
	};

	return resolve_at(calls, function, &position);
}

TEST(inlined_functions_are_those_of_the_code_that_is_there_now)
{
	static uint64_t area[512] __attribute__((aligned(4096)));
	struct v8_file v8 = file;
	uint64_t script = make_script(7, text("a.js"), text("")), start = (uintptr_t)&area[8];
	uint64_t own = make_shared(text("own"), script, 1);
	struct runtime_function *function = define(own);
	struct v8_calls *calls;
	const uint32_t calls_table[] = { 1, 1 | 1 << 4 | 1 << 7 }; /* entries of three bytes */
	const uint8_t entry[] = { 8, 1, 0 };

	v8.version = &compiled;
	v8.type_stream = TYPE_CODE + 1;
	area[6] = untagged(make(TYPE_CODE + 1, 1))[0];
	area[7] = make_code(start, own, make_shared(text("first"), script, 2));
	memcpy(&area[16], calls_table, sizeof(calls_table));
	memcpy(&area[17], entry, sizeof(entry));
	calls = v8_calls_new(getpid(), &v8, false);
	CHECK_STR(resolve_return(calls, function, start + 8), "first own ");
	CHECK_STR(resolve_return(calls, function, start + 8), "first own ");
	area[7] = make_code(start, own, make_shared(text("second"), script, 3));
	CHECK_STR(resolve_return(calls, function, start + 8), "second own ");
	CHECK_STR(resolve_leaf(calls, function, start + 4096, start + 8), "second own ");
	CHECK_STR(resolve_leaf(calls, function, start + 4, start + 8),
		  "own "); /* an earlier call */
	runtime_function_free(function);
	v8_calls_free(calls);
}

/* ---- files ---- */

static int read_file(const char *path, struct v8_file *v8)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf64 elf;

	err = elf64_open(&elf, fd);
	if (!err)
		err = v8_file_read(v8, &elf);
	close(fd);
	return err;
}

TEST(node_is_recognized_by_what_it_exports)
{
	struct v8_file v8 = {};

	CHECK_EQ(read_file("/proc/self/exe", &v8), -ENOENT);
	NEED_FILE("/usr/bin/node", "nodejs");
	if (read_file("/usr/bin/node", &v8) == -ENOENT)
		SKIP("node has V8 in a library");
	CHECK(!v8.refused && v8.version);
	if (!v8.version)
		return;
	CHECK_EQ(v8.version->major, v8.major);
	CHECK_EQ(v8.version->minor, v8.minor);
	CHECK(v8.layout.type_function > v8.layout.type_shared);
	CHECK(v8.layout.n_strings == 64 || v8.layout.n_strings == 128);
}
