// SPDX-License-Identifier: GPL-2.0-only
/* Reads methods; see method.h. */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/hotspot.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/hotspot/method.h"

/* ---- names ---- */

/*
 * Returns true at what makes a hidden class's name unique: an address after "+" or "/" (since 15),
 * a number after "/" in older versions. Names of packages don't begin with a digit.
 */
static bool is_address(const char *text, size_t n)
{
	return n > 1 && (*text == '+' || *text == '/') && isdigit((unsigned char)text[1]);
}

/* Appends a class's name; returns its end. */
static char *add_class(char *to, const char *name, size_t n)
{
	for (size_t i = 0; i < n && !is_address(name + i, n - i); i++)
		*to++ = name[i] == '/' ? '.' : name[i];
	return to;
}

static size_t shown(size_t length, size_t space)
{
	return length < space ? length : space - 1;
}

char *hotspot_join_name(const char *class_name, size_t class_bytes, const char *method_name,
			size_t method_bytes)
{
	static const char dots[] = "...";
	size_t n_class = shown(class_bytes, HOTSPOT_CLASS_BYTES),
	       n_method = shown(method_bytes, HOTSPOT_METHOD_BYTES);
	char *name = mem_zalloc(1, n_class + n_method + 2 + 2 * sizeof(dots)), *exact;
	char *end = add_class(name, class_name, n_class);

	if (n_class < class_bytes)
		end = stpcpy(end, dots);
	*end++ = '.';
	end = mempcpy(end, method_name, n_method);
	if (n_method < method_bytes)
		memcpy(end, dots, sizeof(dots));
	exact = mem_strdup(name);
	free(name);
	return exact;
}

/* ---- method ---- */

#define SYMBOL_BYTES	 4096
#define SYMBOL_AT_ONCE	 160
#define POINTER_TAG	 7ULL
#define LINES_BYTES	 (16U << 10)
#define HAS_LINES	 1U   /* bit of ConstMethod's flags */
#define LINE_ESCAPE	 0xff /* two numbers follow; otherwise one byte has both */
#define LINE_BITS	 3
#define DIGITS		 5
#define DIGIT_BITS	 6
#define FIRST_HIGH_DIGIT 192 /* a digit of this value or more is followed by another one */

uint32_t hotspot_number(const uint8_t *bytes, size_t n, size_t *at, bool is_sparse)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < DIGITS && *at < n; i++) {
		uint32_t byte = bytes[(*at)++];

		if (is_sparse && !byte)
			return 0;
		number += (byte - is_sparse) << (i * DIGIT_BITS);
		if (byte < FIRST_HIGH_DIGIT)
			break;
	}
	return number;
}

/* Numbers with a sign have it in the lowest bit. */
static int32_t signed_number(const uint8_t *bytes, size_t n, size_t *at, bool is_sparse)
{
	uint32_t number = hotspot_number(bytes, n, at, is_sparse);

	return (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
}

/* ---- names ---- */

struct symbol {
	uint16_t length;
	char text[SYMBOL_BYTES];
};

/* Reads the beginning at once, which few symbols exceed. */
static bool read_symbol(const struct hotspot_layout *l, pid_t pid, uint64_t at,
			struct symbol *symbol)
{
	char bytes[SYMBOL_AT_ONCE];
	size_t n = at ? peek(pid, at, bytes, sizeof(bytes)) : 0;

	if (n < l->symbol_length + sizeof(symbol->length))
		return false;
	memcpy(&symbol->length, bytes + l->symbol_length, sizeof(symbol->length));
	if (!symbol->length || symbol->length > SYMBOL_BYTES)
		return false;
	if (n < l->symbol_body + (size_t)symbol->length)
		return peek_all(pid, at + l->symbol_body, symbol->text, symbol->length);
	memcpy(symbol->text, bytes + l->symbol_body, symbol->length);
	return true;
}

/* Returns the address of the entry with an index in a constant pool, which points to a symbol. */
static uint64_t entry_at(const struct hotspot_layout *l, uint64_t pool, uint16_t index)
{
	return pool + l->pool_bytes + 8ULL * index;
}

static bool read_entry(const struct hotspot_layout *l, pid_t pid, uint64_t entry,
		       struct symbol *symbol)
{
	return read_symbol(l, pid, entry & ~POINTER_TAG, symbol);
}

/* Returns the ConstMethod; 0: not a method. */
static uint64_t read_const(const struct hotspot_layout *l, pid_t pid, uint64_t method)
{
	return method & POINTER_TAG ? 0 : peek_u64(pid, method + l->method_const);
}

/* Reads two pieces with one system call. False: one is unreadable. */
static bool read_both(pid_t pid, uint64_t addr, void *to, size_t size, uint64_t other_addr,
		      void *other_to, size_t other_size)
{
	struct peek_piece pieces[] = {
		{ .addr = addr, .to = to, .size = size },
		{ .addr = other_addr, .to = other_to, .size = other_size },
	};

	peek_pieces(pid, pieces, ARRAY_SIZE(pieces));
	return pieces[0].is_read && pieces[1].is_read;
}

/* The names of a method. */
struct names {
	struct symbol class_name, method_name;
};

static bool read_names(const struct hotspot_layout *l, pid_t pid, uint64_t method,
		       struct names *names)
{
	uint64_t constant = read_const(l, pid, method), pool = 0, holder = 0, entry = 0;
	uint16_t index = 0;

	return constant &&
	       read_both(pid, constant + l->const_pool, &pool, sizeof(pool),
			 constant + l->const_name, &index, sizeof(index)) &&
	       read_both(pid, pool + l->pool_holder, &holder, sizeof(holder),
			 entry_at(l, pool, index), &entry, sizeof(entry)) &&
	       read_symbol(l, pid, peek_u64(pid, holder + l->class_name), &names->class_name) &&
	       read_entry(l, pid, entry, &names->method_name);
}

char *hotspot_method_name(const struct hotspot_layout *layout, pid_t pid, uint64_t method)
{
	struct names names;

	if (!read_names(layout, pid, method, &names))
		return NULL;
	return hotspot_join_name(names.class_name.text, names.class_name.length,
				 names.method_name.text, names.method_name.length);
}

static void copy(char *to, size_t size, const struct symbol *symbol)
{
	memcpy(to, symbol->text, symbol->length < size ? symbol->length : size);
}

bool hotspot_method_define(const struct hotspot_layout *layout, pid_t pid, uint64_t method,
			   struct hotspot_def *def)
{
	struct names names;

	if (!read_names(layout, pid, method, &names))
		return false;
	def->class_bytes = names.class_name.length;
	def->method_bytes = names.method_name.length;
	copy(def->class_name, sizeof(def->class_name), &names.class_name);
	copy(def->method_name, sizeof(def->method_name), &names.method_name);
	return true;
}

char *hotspot_method_file(const struct hotspot_vm *vm, pid_t pid, uint64_t method)
{
	const struct hotspot_layout *l = &vm->layout;
	uint64_t constant = read_const(l, pid, method),
		 pool = peek_u64(pid, constant + l->const_pool);
	struct symbol symbol;
	uint16_t index;

	if (vm->fields.pool_source >= 0)
		index = peek_u16(pid, pool + (uint64_t)vm->fields.pool_source);
	else if (vm->fields.class_source >= 0)
		index = peek_u16(pid, peek_u64(pid, pool + l->pool_holder) +
					      (uint64_t)vm->fields.class_source);
	else
		index = 0;
	if (!index || !read_entry(l, pid, peek_u64(pid, entry_at(l, pool, index)), &symbol) ||
	    symbol.length > NAME_MAX)
		return NULL;
	return mem_printf("%.*s", (int)symbol.length, symbol.text);
}

/* ---- lines ---- */

/*
 * Returns the line of a position by a compressed table (compressedStream.hpp): distances of
 * positions and lines, five and three bits in a byte, or two numbers after LINE_ESCAPE.
 */
static uint32_t find_line(const uint8_t *table, size_t n, int32_t position, bool is_sparse)
{
	int64_t at_position = 0, at_line = 0;
	uint32_t line = 0;

	for (size_t at = 0; at < n && table[at];) {
		uint8_t byte = table[at++];

		if (byte == LINE_ESCAPE) {
			at_position += signed_number(table, n, &at, is_sparse);
			at_line += signed_number(table, n, &at, is_sparse);
		} else {
			at_position += byte >> LINE_BITS;
			at_line += byte & ((1 << LINE_BITS) - 1);
		}
		if (at_position > position)
			break;
		line = at_line > 0 ? (uint32_t)at_line : 0;
	}
	return line;
}

uint32_t hotspot_method_line(const struct hotspot_vm *vm, pid_t pid, uint64_t method, int32_t bci)
{
	const struct hotspot_layout *l = &vm->layout;
	uint64_t constant = read_const(l, pid, method), begin = l->const_bytes, bytes;
	uint8_t table[LINES_BYTES];

	if (!constant || bci < 0 || vm->fields.const_flags < 0 || vm->fields.const_words < 0 ||
	    !(peek_u16(pid, constant + (uint64_t)vm->fields.const_flags) & HAS_LINES))
		return 0;
	begin += peek_u16(pid, constant + l->const_code_bytes);
	bytes = 8ULL * peek_u32(pid, constant + (uint64_t)vm->fields.const_words);
	if (bytes <= begin)
		return 0;
	bytes = bytes - begin < LINES_BYTES ? bytes - begin : LINES_BYTES;
	bytes = peek(pid, constant + begin, table, bytes);
	return find_line(table, bytes, bci, vm->has_sparse_numbers);
}
