/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of V8's objects and code in a file: the only unit that depends on versions. Instance types
 * come from the file, which exports them for debuggers (v8dbg_*), offsets from a table of versions.
 */
#ifndef V8_LAYOUT_H
#define V8_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/v8.h"
#include "elf/elf64.h"

/* How a version encodes what it does with machine code. Offsets are from untagged addresses. */
struct v8_version {
	uint8_t major, minor;
	uint8_t function_shared;
	uint8_t scope_module;
	uint8_t bytecodes_positions, bytecodes_data; /* offsets in BytecodeArray */
	uint8_t stream_start; /* distance from the head of machine code to its first instruction */
	/* in Code, which is the head itself if code_start is 0 */
	uint8_t code_start, code_size, code_flags, code_deopt, code_positions;
	uint8_t kind_baseline; /* number of "baseline"; next kinds: Maglev (since 11), TurboFan */
	/* translations: operands of each opcode; opcodes */
	const char *operands;
	uint8_t op_begin, op_last_begin, op_frame, op_last_frame, op_builtin;
	bool opcodes_are_numbers; /* operands are encoded as numbers; false: as bytes */
	bool has_matches; /* the last opcode, and higher ones, repeat earlier instructions */
};

struct v8_file {
	const char *refused; /* reason why its functions can't be named; NULL: they can */
	uint32_t major, minor;
	const struct v8_version *version; /* NULL: refused */
	struct v8_layout layout;
	/* further instance types; 0: none */
	uint16_t type_bytecodes, type_code, type_stream, type_wrapper, type_interpreter;
};

/* Returns the number of opcodes in a version's translations. */
uint32_t v8_count_opcodes(const struct v8_version *version);

/*
 * Reads a file, which is recognized by its exported symbols, not by its name; a few small reads
 * reject other files. Returns 0; -ENOENT: not V8, or V8 without its symbols for debuggers.
 */
int v8_file_read(struct v8_file *v8, const struct elf64 *elf);

#endif
