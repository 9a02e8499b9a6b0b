// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a traced process that exports V8's symbols: words of arbitrary values, of which every
 * other one is a pointer to one of them, read as objects, strings, code and translations; and
 * records that BPF has made of it.
 */
#include <unistd.h>

#include "elf/elf64.h"
#include "runtimes/runtimes.h"
#include "runtimes/v8/v8.h"
#include "runtimes/v8/layout.h"
#include "runtimes/v8/walk.h"
#include "fuzz.h"

#define N_WORDS 512

static const struct v8_version versions[] = {
	{ .major = 9,
	  .bytecodes_positions = 32,
	  .stream_start = 96,
	  .code_size = 40,
	  .code_flags = 48,
	  .code_deopt = 16,
	  .kind_baseline = 1,
	  .operands = "2103113",
	  .op_begin = 3,
	  .op_last_begin = 3,
	  .op_frame = 4,
	  .op_last_frame = 4,
	  .op_builtin = 5,
	  .opcodes_are_numbers = true },
	{ .major = 13,
	  .bytecodes_positions = 24,
	  .stream_start = 32,
	  .code_start = 40,
	  .code_size = 56,
	  .code_flags = 52,
	  .code_deopt = 8,
	  .kind_baseline = 1,
	  .operands = "64332133",
	  .op_begin = 6,
	  .op_last_begin = 6,
	  .op_last_frame = 1,
	  .op_builtin = 2,
	  .has_matches = true },
};

/* Types are few, so that words often are one. */
static const struct v8_layout layout = { .type_function = 1,
					 .last_function = 1,
					 .type_shared = 16,
					 .type_scope = 17,
					 .type_script = 18,
					 .n_strings = 16,
					 .function_shared = 24,
					 .shared_name = 16,
					 .shared_script = 32,
					 .shared_literal = 52,
					 .scope_first = 32 };

static uint64_t words[N_WORDS];

/* Most pointers are tagged as those to objects are. */
static uint64_t tag_of(uint64_t word)
{
	return word >> 4 & 1 ? word >> 5 & 3 : 1;
}

static void resolve(struct v8_calls *calls, const struct v8_def *def)
{
	struct runtime_function *function = v8_function_read(&def->def, sizeof(*def));
	struct runtime_call found[RUNTIME_MAX_CALLS];
	struct runtime_position position = { .is_made = true, .has_index = true };
	size_t n;

	for (unsigned int i = 0; i < 4; i++) {
		position.pc = (uintptr_t)&words[N_WORDS / 2];
		position.is_return = i & 1;
		position.index = i * 50;
		if (i & 2)
			position.index = V8_IS_RETURN | (uintptr_t)&words[N_WORDS - 8];
		n = v8_calls_resolve(calls, function, &position, found);
		if (!n || n > RUNTIME_MAX_CALLS)
			abort();
		while (n-- > 0)
			runtime_function_free(found[n].function);
	}
	runtime_function_free(function);
}

static void read_heap(const struct v8_version *version)
{
	const struct v8_file v8 = { .version = version,
				    .layout = layout,
				    .type_bytecodes = 19,
				    .type_code = 20,
				    .type_stream = 21,
				    .type_wrapper = 22,
				    .type_interpreter = 23 };
	struct v8_calls *calls = v8_calls_new(getpid(), &v8, true);
	struct v8_def def;

	for (size_t i = 0; i < 16; i++)
		if (v8_define_remote(getpid(), &layout, (uintptr_t)&words[i] | 1, &def))
			resolve(calls, &def);
	v8_calls_free(calls);
}

static void read_record(const uint8_t *bytes, size_t size)
{
	struct v8_def def = { 0 };

	memcpy(&def, bytes, size < sizeof(def) ? size : sizeof(def));
	runtime_function_free(v8_function_read(&def.def, sizeof(def)));
	runtime_function_free(size < sizeof(def) ? v8_function_read(&def.def, size) : NULL);
}

FUZZ(bytes, size)
{
	struct v8_file v8;
	struct elf64 elf;

	read_record(bytes, size);
	fuzz_place(words, N_WORDS, bytes, size, tag_of);
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		read_heap(&versions[i]);
	if (!elf64_open_image(&elf, bytes, size))
		v8_file_read(&v8, &elf);
	return 0;
}
