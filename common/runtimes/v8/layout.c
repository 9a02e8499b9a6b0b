// SPDX-License-Identifier: GPL-2.0-only
/* Layout of V8's objects; see layout.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elfexports.h"
#include "runtimes/v8/layout.h"

#define NO_MODULE 255 /* 9.x: a module's scope has no extra word */

/* Operands per opcode (TranslationOpcode, src/deoptimizer/translation-opcode.h in V8). */
#define OPERANDS_9  "2103113131111111115334111112"
#define OPERANDS_10 "103113131111121111111153340111112"
#define OPERANDS_11 "103311313111112111111115333401111121"
#define OPERANDS_12 "5333213432103311111111111111111101111121"
#define OPERANDS_13 "53332134332100331111111111111111111101111121"
#define OPERANDS_14 "643321343331003311101111111111111111101111121"

/* Until 10: opcodes in alphabetical order. */
#define OPCODES_9                                                                  \
	.operands = OPERANDS_9, .op_begin = 3, .op_last_begin = 3, .op_frame = 18, \
	.op_last_frame = 18, .op_builtin = 19, .opcodes_are_numbers = true
#define OPCODES_10                                                                  \
	.operands = OPERANDS_10, .op_begin = 2, .op_last_begin = 2, .op_frame = 22, \
	.op_last_frame = 22, .op_builtin = 23
#define OPCODES_11                                                                  \
	.operands = OPERANDS_11, .op_begin = 2, .op_last_begin = 3, .op_frame = 23, \
	.op_last_frame = 24, .op_builtin = 25, .has_matches = true
/* Since 11.8: frames first. */
#define OPCODES_12(list, begin)                                                               \
	.operands = (list), .op_begin = (begin), .op_last_begin = (begin) + 1, .op_frame = 0, \
	.op_last_frame = 1, .op_builtin = 2, .has_matches = true

/* Code and its instructions are one object until 10, two objects since 11. */
#define CODE_10(start)                                                                \
	.stream_start = (start), .code_size = 40, .code_flags = 48, .code_deopt = 16, \
	.code_positions = 24
#define CODE_12                                                                                   \
	.stream_start = 32, .code_start = 40, .code_size = 52, .code_flags = 48, .code_deopt = 8, \
	.code_positions = 16
#define CODE_13                                                                                   \
	.stream_start = 32, .code_start = 40, .code_size = 56, .code_flags = 52, .code_deopt = 8, \
	.code_positions = 16

static const struct v8_version versions[] = {
	{ 9, 4, 24, NO_MODULE, 32, 54, CODE_10(96), .kind_baseline = 11, OPCODES_9 },
	{ 9, 6, 24, NO_MODULE, 32, 54, CODE_10(128), .kind_baseline = 11, OPCODES_9 },
	{ 10, 2, 24, 3, 32, 56, CODE_10(128), .kind_baseline = 11, OPCODES_9 },
	{ 10, 8, 24, 3, 32, 54, CODE_10(128), .kind_baseline = 11, OPCODES_10 },
	{ 11, 3, 24, 3, 32, 54, .stream_start = 16, .code_start = 40, .code_size = 56,
	  .code_flags = 48, .code_deopt = 16, .code_positions = 24, .kind_baseline = 11,
	  OPCODES_11 },
	{ 11, 8, 32, 3, 32, 52, .stream_start = 32, .code_start = 32, .code_size = 44,
	  .code_flags = 40, .code_deopt = 8, .code_positions = 16, .kind_baseline = 11,
	  OPCODES_12(OPERANDS_12, 12) },
	{ 12, 4, 32, 3, 24, 64, CODE_12, .kind_baseline = 10, OPCODES_12(OPERANDS_12, 12) },
	{ 12, 9, 32, 3, 24, 64, CODE_12, .kind_baseline = 10, OPCODES_12(OPERANDS_13, 14) },
	{ 13, 6, 32, 5, 24, 64, CODE_13, .kind_baseline = 10, OPCODES_12(OPERANDS_14, 14) },
	{ 14, 1, 32, 5, 24, 64, CODE_13, .kind_baseline = 10, OPCODES_12(OPERANDS_14, 14) },
	{ 14, 6, 32, 5, 24, 64, CODE_13, .kind_baseline = 11, OPCODES_12(OPERANDS_14, 14) },
};

/* Reads an exported 32-bit number. False: not exported, or unreadable. */
static bool read_number(const struct elf64 *elf, const char *name, uint32_t *number)
{
	Elf64_Sym symbol;
	uint32_t *at;
	bool is_found;

	if (elfexports_find_symbol(elf, name, &symbol))
		return false;
	at = elf64_read_vaddr(elf, symbol.st_value, sizeof(*at), sizeof(*at));
	is_found = at;
	if (is_found)
		*number = *at;
	free(at);
	return is_found;
}

/* Reads an instance type. False: not exported, or no such type. */
static bool read_type(const struct elf64 *elf, const char *name, uint16_t *type)
{
	uint32_t number;

	if (!read_number(elf, name, &number) || number >= UINT16_MAX)
		return false;
	*type = (uint16_t)number;
	return true;
}

static const struct v8_version *find_version(uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].major == major && versions[i].minor == minor)
			return &versions[i];
	return NULL;
}

static bool is_at_least(const struct v8_version *v, uint32_t major, uint32_t minor)
{
	return v->major > major || (v->major == major && v->minor >= minor);
}

/* Sets the offsets that few versions have changed. */
static void set_offsets(struct v8_layout *l, const struct v8_version *v)
{
	bool has_position = is_at_least(v, 12, 9); /* ScopeInfo and others grew by a word or two */

	l->function_shared = v->function_shared;
	l->shared_name = has_position ? 24 : 16;
	l->shared_script = has_position ? 40 : 32;
	l->shared_literal = has_position ? 60 : 52;
	l->scope_first = has_position ? 48 : 32;
	l->scope_begin = has_position ? 32 : 0;
	l->scope_module = v->scope_module;
	l->is_9 = v->major == 9;
}

#define TYPE(name, constant) "v8dbg_type_" name "__" constant "_TYPE"

static bool read_types(struct v8_file *v8, const struct elf64 *elf)
{
	struct v8_layout *l = &v8->layout;

	if (!read_type(elf, "v8dbg_FirstJSFunctionType", &l->type_function) &&
	    !read_type(elf, TYPE("JSFunction", "JS_FUNCTION"), &l->type_function))
		return false;
	if (!read_type(elf, "v8dbg_LastJSFunctionType", &l->last_function))
		l->last_function = l->type_function + 15; /* as many as since 11.8 */
	read_type(elf, TYPE("InstructionStream", "INSTRUCTION_STREAM"), &v8->type_stream);
	read_type(elf, TYPE("SharedFunctionInfoWrapper", "SHARED_FUNCTION_INFO_WRAPPER"),
		  &v8->type_wrapper);
	return read_type(elf, TYPE("SharedFunctionInfo", "SHARED_FUNCTION_INFO"),
			 &l->type_shared) &&
	       read_type(elf, TYPE("ScopeInfo", "SCOPE_INFO"), &l->type_scope) &&
	       read_type(elf, TYPE("Script", "SCRIPT"), &l->type_script) &&
	       read_type(elf, TYPE("BytecodeArray", "BYTECODE_ARRAY"), &v8->type_bytecodes) &&
	       read_type(elf, TYPE("Code", "CODE"), &v8->type_code) &&
	       read_type(elf, TYPE("InterpreterData", "INTERPRETER_DATA"), &v8->type_interpreter) &&
	       read_type(elf, "v8dbg_FirstNonstringType", &l->n_strings);
}

/* Returns the reason why a version is not supported; NULL: it is. */
static const char *find_layout(struct v8_file *v8, const struct elf64 *elf)
{
	uint32_t shared;

	v8->version = find_version(v8->major, v8->minor);
	if (!v8->version)
		return "unknown version";
	set_offsets(&v8->layout, v8->version);
	if (!read_number(elf, "v8dbg_class_JSFunction__shared__SharedFunctionInfo", &shared) ||
	    shared != v8->layout.function_shared || !read_types(v8, elf))
		return "unknown layout";
	return NULL;
}

int v8_file_read(struct v8_file *v8, const struct elf64 *elf)
{
	*v8 = (struct v8_file){ 0 };
	if (!read_number(elf, "_ZN2v88internal7Version6major_E", &v8->major) ||
	    !read_number(elf, "_ZN2v88internal7Version6minor_E", &v8->minor))
		return -ENOENT;
	v8->refused = find_layout(v8, elf);
	return 0;
}

uint32_t v8_count_opcodes(const struct v8_version *version)
{
	return (uint32_t)strlen(version->operands);
}
