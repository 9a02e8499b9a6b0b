// SPDX-License-Identifier: GPL-2.0-only
/* Machine code of V8; see code.h. */
#include <stdlib.h>

#include "base/load.h"
#include "base/peek.h"
#include "runtimes/v8/code.h"

#define PAGE	       4096
#define STREAM_CODE    8 /* in the head of machine code: its Code, if that is another object */
#define MAX_CODE_BYTES (1U << 20)
#define MAX_TABLE      (1U << 20)
#define MAX_CALLS      (1U << 16)
#define MAX_STEPS      8192 /* maximum instructions of a translation */
#define MAX_OPERANDS   8
#define KIND_MASK      15

/* Indices in deoptimization data. */
#define DEOPT_TRANSLATION 0
#define DEOPT_FIRST(v)	  (is_13(v) ? 12 : 11)
#define DEOPT_ENTRY	  3 /* elements of an entry; the second one is the translation's offset */

static bool is_13(const struct v8_version *v)
{
	return v->major >= 13;
}

static bool is_maglev(const struct v8_version *v, const struct v8_machine_code *code)
{
	return v->major >= 11 && code->kind == v->kind_baseline + 1;
}

/* ---- code by address ---- */

/* Returns the SharedFunctionInfo of optimized code; 0: other code. */
static uint64_t find_shared(const struct v8_heap *heap, const struct v8_machine_code *code)
{
	const struct v8_version *v = heap->v8->version;
	uint64_t deopt = v8_heap_word(heap, code->object, v->code_deopt), shared;
	uint16_t type;

	if (code->kind <= v->kind_baseline)
		return 0;
	shared = v8_heap_element(heap, deopt, is_13(v) ? 7 : 6);
	type = v8_heap_type(heap, &shared);
	if (heap->v8->type_wrapper && type == heap->v8->type_wrapper) {
		shared = v8_heap_word(heap, shared, 8);
		type = v8_heap_type(heap, &shared);
	}
	return type == heap->v8->layout.type_shared ? shared : 0;
}

/* Reads the code whose machine code has its head at an address. False: something else is there. */
static bool read_head(const struct v8_heap *heap, uint64_t head, struct v8_machine_code *code)
{
	const struct v8_version *v = heap->v8->version;
	uint64_t object = head + 1;

	if (v8_heap_type(heap, &object) !=
	    (v->code_start ? heap->v8->type_stream : heap->v8->type_code))
		return false;
	code->start = head + v->stream_start;
	if (v->code_start) {
		object = v8_heap_word(heap, object, STREAM_CODE);
		if (v8_heap_type(heap, &object) != heap->v8->type_code ||
		    v8_heap_word(heap, object, v->code_start) != code->start)
			return false;
	}
	code->object = object;
	code->size = v8_heap_number(heap, object, v->code_size);
	code->kind = v8_heap_number(heap, object, v->code_flags) & KIND_MASK;
	return true;
}

bool v8_code_is_at(const struct v8_heap *heap, uint64_t object, uint64_t start)
{
	const struct v8_version *v = heap->v8->version;
	uint64_t head = start - v->stream_start + 1;

	return v->code_start ? v8_heap_word(heap, head, STREAM_CODE) == object : head == object;
}

/* Returns the map of a thread's machine code; 0: unknown. */
static uint64_t known_map(const struct v8_heap *heap, uint64_t owner)
{
	for (size_t i = 0; i < V8_CODE_MAPS; i++)
		if (heap->code_maps[i].map && heap->code_maps[i].owner == owner)
			return heap->code_maps[i].map;
	return 0;
}

static void remember_map(struct v8_heap *heap, uint64_t owner, uint64_t map)
{
	size_t i = heap->n_code_maps++ % V8_CODE_MAPS;

	heap->code_maps[i].owner = owner;
	heap->code_maps[i].map = map;
}

/*
 * Instructions are aligned, and the head precedes them: goes down until a word is a map of code.
 * Most words are not even pointers.
 */
bool v8_code_find(struct v8_heap *heap, uint64_t owner, uint64_t pc, struct v8_machine_code *code)
{
	const struct v8_version *v = heap->v8->version;
	uint32_t align = v->code_start ? 64 : 32;
	uint64_t start = pc & ~(uint64_t)(align - 1), page = 1, map, known = known_map(heap, owner);
	uint8_t bytes[PAGE];

	for (uint64_t end = start - MAX_CODE_BYTES; start > end; start -= align) {
		uint64_t head = start - v->stream_start;

		if ((head & ~(uint64_t)(PAGE - 1)) != page) {
			page = head & ~(uint64_t)(PAGE - 1);
			if (!peek_all(heap->pid, page, bytes, PAGE))
				return false;
		}
		map = load_u64(bytes + (head & (PAGE - 1)));
		if ((known && map != known) || !v8_is_object(map) || !read_head(heap, head, code))
			continue;
		if (!known)
			remember_map(heap, owner, map);
		if (pc - code->start > code->size)
			return false;
		code->shared = find_shared(heap, code);
		return true;
	}
	return false;
}

/* ---- the call's state ---- */

/* Encoding of a table of calls. */
struct calls {
	uint64_t at; /* address of the entries */
	uint32_t n, entry_bytes, pc_bytes, state_bytes;
	uint8_t bias; /* states and trampolines are stored as their value plus this */
};

static uint32_t little(const uint8_t *bytes, uint32_t n)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return value;
}

/* Reads the head of the table. False: no calls with states. */
static bool open_calls(const struct v8_heap *heap, const struct v8_machine_code *code,
		       struct calls *calls)
{
	const struct v8_version *v = heap->v8->version;
	bool maglev = is_maglev(v, code);
	uint32_t head[3], config;

	calls->at = code->start + code->size;
	if (!peek_all(heap->pid, calls->at, head, sizeof(head)))
		return false;
	if (v->major < 10) {
		*calls = (struct calls){ calls->at + 8, head[0], 12, 4, 4, 0 };
		return calls->n && calls->n <= MAX_CALLS;
	}
	calls->n = head[is_13(v)];
	config = head[is_13(v) + 1];
	calls->pc_bytes = config >> 4 & 7;
	calls->state_bytes = config >> 7 & 7;
	calls->entry_bytes = 2 * calls->pc_bytes + calls->state_bytes + (config >> 1 & 7) + maglev;
	calls->at += is_13(v) ? 12 + 4 * maglev : 8 + 8 * maglev;
	calls->bias = 1;
	return config & 1 && calls->n && calls->n <= MAX_CALLS && calls->pc_bytes <= 4 &&
	       calls->state_bytes <= 4;
}

/*
 * Returns the number of the state at a return address; -1: none. If V8 has marked the code for lazy
 * deoptimization, the return address is that of the call's trampoline instead.
 */
static int32_t find_state(const struct v8_heap *heap, const struct v8_machine_code *code,
			  uint32_t offset)
{
	struct v8_bytes table;
	int32_t state = -1;
	struct calls c;

	if (!open_calls(heap, code, &c) ||
	    !v8_heap_read(heap, c.at, (uint64_t)c.n * c.entry_bytes, &table))
		return -1;
	for (uint32_t i = 0; i < c.n; i++) {
		const uint8_t *entry = table.bytes + (size_t)i * c.entry_bytes;
		uint32_t n = c.pc_bytes + c.state_bytes;
		int32_t found = (int32_t)(little(entry + c.pc_bytes, c.state_bytes) - c.bias);

		if (little(entry, c.pc_bytes) == offset ||
		    (found >= 0 && little(entry + n, c.pc_bytes) - c.bias == offset)) {
			state = found;
			break;
		}
	}
	free(table.bytes);
	return state;
}

/* ---- translations ---- */

struct reader {
	const struct v8_version *version;
	const uint8_t *bytes;
	size_t n, at;
	uint32_t n_opcodes;
};

struct instruction {
	uint32_t op;
	uint32_t n_repeats; /* number of instructions of the basis to repeat; 0: none */
	int32_t operands[MAX_OPERANDS];
};

/* Reads a number of seven bits per byte, lowest first; bit 7 is set if more bytes follow. */
static bool next_unsigned(struct reader *r, uint64_t *to)
{
	*to = 0;
	for (unsigned int shift = 0; r->at < r->n && shift < 64; shift += 7) {
		uint8_t byte = r->bytes[r->at++];

		*to |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Reads a translation's number, whose lowest bit is the sign. */
static bool next_signed(struct reader *r, int32_t *to)
{
	uint64_t bits;

	if (!next_unsigned(r, &bits))
		return false;
	*to = (int32_t)(bits & 1 ? -(bits >> 1) : bits >> 1);
	return true;
}

static bool is_begin(const struct v8_version *v, uint32_t op)
{
	return op == v->op_begin || op == v->op_last_begin;
}

static bool next_opcode(struct reader *r, uint32_t *op)
{
	int32_t number;

	if (r->version->opcodes_are_numbers) {
		if (!next_signed(r, &number))
			return false;
		*op = (uint32_t)number;
		return true;
	}
	if (r->at >= r->n)
		return false;
	*op = r->bytes[r->at++];
	return true;
}

/* Reads an operand: distances and numbers of repeats have no sign. */
static bool next_operand(struct reader *r, bool is_unsigned, int32_t *to)
{
	uint64_t bits;

	if (!is_unsigned)
		return next_signed(r, to);
	if (!next_unsigned(r, &bits) || bits > INT32_MAX)
		return false;
	*to = (int32_t)bits;
	return true;
}

static bool next_instruction(struct reader *r, struct instruction *in)
{
	const struct v8_version *v = r->version;
	bool is_match;

	in->n_repeats = 0;
	if (!next_opcode(r, &in->op))
		return false;
	if (in->op >= r->n_opcodes) {
		in->n_repeats = in->op - r->n_opcodes;
		return v->has_matches && in->n_repeats;
	}
	is_match = v->has_matches && in->op == r->n_opcodes - 1;
	for (int i = 0; i < v->operands[in->op] - '0'; i++) {
		bool is_distance = v->has_matches && !i && is_begin(v, in->op);

		if (!next_operand(r, is_match || is_distance, &in->operands[i]))
			return false;
	}
	in->n_repeats = is_match ? (uint32_t)in->operands[0] : 0;
	return !is_match || in->n_repeats;
}

/* A frame of the interpreter in a translation. */
struct js_frame {
	int32_t bytecode, literal;
};

struct translation {
	struct reader own, basis; /* basis: an earlier translation that is repeated in parts */
	bool has_basis;
	int32_t n_wanted; /* frames of functions, counted down */
	struct js_frame *frames;
	size_t n;
};

/* Reads the beginning of a translation. False: malformed. */
static bool begin_translation(struct translation *t)
{
	const struct v8_version *v = t->own.version;
	struct instruction in;
	size_t begin = t->own.at;

	t->basis = t->own;
	if (!next_instruction(&t->own, &in) || in.n_repeats || !is_begin(v, in.op))
		return false;
	t->n_wanted = in.operands[v->has_matches ? 2 : 1];
	t->has_basis = v->has_matches && in.operands[0];
	if (t->n_wanted < 1 || t->n_wanted > V8_INLINED_MAX)
		return false;
	if (!t->has_basis)
		return true;
	if ((size_t)in.operands[0] > begin)
		return false;
	t->basis.at = begin - (size_t)in.operands[0];
	return next_instruction(&t->basis, &in);
}

static bool take_instruction(struct translation *t, const struct instruction *in)
{
	const struct v8_version *v = t->own.version;

	if (is_begin(v, in->op))
		return false;
	if (in->op == v->op_frame || in->op == v->op_last_frame)
		t->frames[t->n++] = (struct js_frame){ in->operands[0], in->operands[1] };
	else if (in->op != v->op_builtin && in->op != v->op_builtin + 1U)
		return true;
	t->n_wanted--;
	return true;
}

/* Moves to the basis's next instruction. False: the basis has ended. */
static bool next_of_basis(struct translation *t, struct instruction *in)
{
	if (!t->has_basis)
		return false;
	t->has_basis = next_instruction(&t->basis, in) && !in->n_repeats &&
		       !is_begin(t->own.version, in->op);
	return t->has_basis;
}

/* Reads one instruction, or several that it repeats. */
static bool step_translation(struct translation *t)
{
	struct instruction in, of_basis;

	if (!next_instruction(&t->own, &in))
		return false;
	if (!in.n_repeats) {
		next_of_basis(t, &of_basis);
		return take_instruction(t, &in);
	}
	for (uint32_t i = 0; i < in.n_repeats && t->n_wanted; i++)
		if (!next_of_basis(t, &of_basis) || !take_instruction(t, &of_basis))
			return false;
	return true;
}

/* Reads the frames of a state, outermost first. Returns their number; 0: malformed. */
static size_t read_translation(const struct v8_version *v, const struct v8_bytes *table,
			       uint32_t at, struct js_frame *frames)
{
	struct translation t = { .own = { v, table->bytes, table->n, at, v8_count_opcodes(v) },
				 .frames = frames };

	if (at >= table->n || !begin_translation(&t))
		return 0;
	for (int i = 0; i < MAX_STEPS && t.n_wanted; i++)
		if (!step_translation(&t))
			return 0;
	return t.n_wanted ? 0 : t.n;
}

static size_t frames_of_state(const struct v8_heap *heap, uint64_t deopt, uint32_t state,
			      struct js_frame *frames)
{
	const struct v8_version *v = heap->v8->version;
	uint32_t entry = DEOPT_FIRST(v) + DEOPT_ENTRY * state + 1;
	uint64_t at = v8_heap_element(heap, deopt, entry);
	struct v8_bytes table;
	size_t n;

	if ((uint32_t)at || !v8_heap_array(heap, v8_heap_element(heap, deopt, DEOPT_TRANSLATION),
					   MAX_TABLE * 4, &table))
		return 0;
	n = read_translation(v, &table, v8_small(at), frames);
	free(table.bytes);
	return n;
}

/* Returns the function in a literal; the reference to it may be weak. */
static uint64_t function_of(const struct v8_heap *heap, uint64_t literals, int32_t i)
{
	uint64_t shared =
		i < 0 ? 0 : (v8_heap_element(heap, literals, (uint32_t)i) & ~(uint64_t)3) | 1;

	return v8_heap_type(heap, &shared) == heap->v8->layout.type_shared ? shared : 0;
}

size_t v8_code_frames(const struct v8_heap *heap, const struct v8_machine_code *code, uint64_t pc,
		      struct v8_frame *to)
{
	const struct v8_version *v = heap->v8->version;
	uint64_t deopt = v8_heap_word(heap, code->object, v->code_deopt), literals;
	int32_t state = find_state(heap, code, (uint32_t)(pc - code->start));
	struct js_frame frames[V8_INLINED_MAX];
	size_t n;

	if (!code->shared || state < 0)
		return 0;
	n = frames_of_state(heap, deopt, (uint32_t)state, frames);
	literals = v8_heap_element(heap, deopt, is_13(v) ? 3 : 2);
	for (size_t i = 0; i < n; i++) {
		const struct js_frame *f = &frames[n - 1 - i];

		to[i] = (struct v8_frame){ function_of(heap, literals, f->literal), f->bytecode };
		if (!to[i].shared)
			return 0;
	}
	return n && to[n - 1].shared == code->shared ? n : 0;
}

/* ---- positions ---- */

uint64_t v8_code_bytecodes(const struct v8_heap *heap, uint64_t shared)
{
	uint64_t data = v8_heap_word(heap, shared, 8);
	uint16_t type = v8_heap_type(heap, &data);

	if (type == heap->v8->type_code) { /* baseline code */
		data = v8_heap_word(heap, data, heap->v8->version->code_deopt);
		type = v8_heap_type(heap, &data);
	}
	if (type == heap->v8->type_interpreter) {
		data = v8_heap_word(heap, data, 8);
		type = v8_heap_type(heap, &data);
	}
	return type == heap->v8->type_bytecodes ? data : 0;
}

/* Reads the difference to the next entry's offset: since 14 it has two flags below. */
static bool next_offset(struct reader *r, int64_t *difference)
{
	uint64_t bits;
	int64_t number;

	if (!next_unsigned(r, &bits))
		return false;
	number = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
	if (r->version->major >= 14)
		*difference = (int64_t)(bits >> 2);
	else
		*difference = number >= 0 ? number : -(number + 1);
	return true;
}

/* Finds the last position at or before an offset. */
static int32_t find_position(struct reader *r, int64_t offset)
{
	int64_t at = -1, difference;
	uint64_t found = 0, bits;

	while (next_offset(r, &difference) && next_unsigned(r, &bits)) {
		if (difference > offset - at)
			break;
		at += difference;
		found += bits >> 1 ^ -(bits & 1);
	}
	return (int32_t)(found >> 1 & 0x3fffffff) - 1;
}

int32_t v8_code_position(const struct v8_heap *heap, uint64_t bytecodes, int32_t offset)
{
	const struct v8_version *v = heap->v8->version;
	struct v8_bytes table;
	int32_t position;

	if (offset < 0 ||
	    !v8_heap_array(heap, v8_heap_word(heap, bytecodes, v->bytecodes_positions), MAX_TABLE,
			   &table))
		return -1;
	position = find_position(&(struct reader){ v, table.bytes, table.n, 0, 0 }, offset);
	free(table.bytes);
	return position;
}
