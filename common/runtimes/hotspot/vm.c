// SPDX-License-Identifier: GPL-2.0-only
/* Reads HotSpot's description of itself; see vm.h. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/unwind_regs.h"
#include "base/array.h"
#include "base/peek.h"
#include "elf/elfexports.h"
#include "runtimes/hotspot/vm.h"

#define MAX_ENTRIES    8192 /* limit per table; JDK 25 has 900 */
#define ENTRIES_A_READ 64
#define NAME_BYTES     64

/* An element of the tables. Their strides are variables, too, but have never changed. */
struct field_entry {
	uint64_t type, name, text;
	uint32_t is_static, unused;
	uint64_t offset, address;
};

struct type_entry {
	uint64_t name, super;
	uint32_t kinds[4];
	uint64_t size;
};

enum part { FIELD, VARIABLE, TYPE };

/*
 * Names of a member. A later name replaces an earlier one: fields were renamed, or moved to a
 * superclass and back (CompiledMethod existed from 9 to 22).
 */
static const struct wanted {
	enum part part;
	size_t at;
	const char *type, *name;
} wanted[] = {
#define WANT(member, type, name)                                           \
	{                                                                  \
		FIELD, offsetof(struct hotspot_fields, member), type, name \
	}
#define WANT_VARIABLE(m, type, name)                                     \
	{                                                                \
		VARIABLE, offsetof(struct hotspot_fields, m), type, name \
	}
#define WANT_SIZE(member, type)                                         \
	{                                                               \
		TYPE, offsetof(struct hotspot_fields, member), type, "" \
	}
	WANT_VARIABLE(heap, "CodeCache", "_heap"), /* 8 */
	WANT_VARIABLE(heaps, "CodeCache", "_heaps"),
	WANT_VARIABLE(interpreter, "AbstractInterpreter", "_code"),
	WANT_VARIABLE(call_stub, "StubRoutines", "_call_stub_return_address"),
	WANT_VARIABLE(release, "Abstract_VM_Version", "_s_vm_release"),
	WANT(list_data, "GrowableArray<int>", "_data"),
	WANT(heap_memory, "CodeHeap", "_memory"),
	WANT(heap_segments, "CodeHeap", "_segmap"),
	WANT(heap_log2, "CodeHeap", "_log2_segment_size"),
	WANT(space_low, "VirtualSpace", "_low"),
	WANT(space_high, "VirtualSpace", "_high_boundary"),
	WANT_SIZE(header_bytes, "HeapBlock"),
	WANT(block_used, "HeapBlock::Header", "_used"),
	WANT(name, "CodeBlob", "_name"),
	WANT(size, "CodeBlob", "_size"),
	WANT(code_begin, "CodeBlob", "_code_begin"), /* 9 to 22 */
	WANT(code_end, "CodeBlob", "_code_end"),
	WANT(code_offset, "CodeBlob", "_code_offset"),
	WANT(data_offset, "CodeBlob", "_data_offset"),
	WANT(frame_words, "CodeBlob", "_frame_size"),
	WANT(frame_complete, "CodeBlob", "_frame_complete_offset"),
	WANT(mutable_data, "CodeBlob", "_mutable_data"), /* 25 */
	WANT(relocation_bytes, "CodeBlob", "_relocation_size"),
	WANT(method, "CompiledMethod", "_method"),
	WANT(method, "nmethod", "_method"),
	WANT(compile_id, "nmethod", "_compile_id"),
	WANT(entry_address, "nmethod", "_verified_entry_point"),
	WANT(entry_offset, "nmethod", "_verified_entry_offset"), /* 23 */
	WANT(deopt_address, "CompiledMethod", "_deopt_handler_begin"),
	WANT(deopt_offset, "nmethod", "_deoptimize_offset"),
	WANT(deopt_offset, "nmethod", "_deopt_handler_offset"),
	WANT(deopt_offset, "nmethod", "_deopt_handler_entry_offset"),	       /* 26 */
	WANT(call_deopt_address, "CompiledMethod", "_deopt_mh_handler_begin"), /* up to 25 */
	WANT(call_deopt_offset, "nmethod", "_deoptimize_mh_offset"),
	WANT(call_deopt_offset, "nmethod", "_deopt_mh_handler_offset"),
	WANT(original_pc, "nmethod", "_orig_pc_offset"),
	WANT(scopes_address, "CompiledMethod", "_scopes_data_begin"),
	WANT(scopes_offset, "nmethod", "_scopes_data_offset"),
	WANT(scopes_pcs, "nmethod", "_scopes_pcs_offset"),
	WANT(dependencies, "nmethod", "_dependencies_offset"),
	WANT(metadata, "nmethod", "_metadata_offset"),
	WANT(immutable_data, "nmethod", "_immutable_data"), /* 23 */
	WANT(method_const, "Method", "_constMethod"),
	WANT_SIZE(const_bytes, "ConstMethod"),
	WANT(const_pool, "ConstMethod", "_constants"),
	WANT(const_flags, "ConstMethod", "_flags"),
	WANT(const_flags, "ConstMethod", "_flags._flags"), /* 21 */
	WANT(const_code_bytes, "ConstMethod", "_code_size"),
	WANT(const_name, "ConstMethod", "_name_index"),
	WANT(const_words, "ConstMethod", "_constMethod_size"),
	WANT_SIZE(pool_bytes, "ConstantPool"),
	WANT(pool_holder, "ConstantPool", "_pool_holder"),
	WANT(pool_source, "ConstantPool", "_source_file_name_index"), /* 17 */
	WANT(class_name, "Klass", "_name"),
	WANT(class_source, "InstanceKlass", "_source_file_name_index"),
	WANT(symbol_length, "Symbol", "_length"),
	WANT(symbol_body, "Symbol", "_body"),
	WANT_VARIABLE(threads, "ThreadsSMRSupport", "_java_thread_list"),
	WANT_VARIABLE(continuation_return, "ContinuationEntry", "_return_pc"), /* 25 */
	WANT(threads_length, "ThreadsList", "_length"),
	WANT(threads_data, "ThreadsList", "_threads"),
	WANT(thread_entry, "JavaThread", "_cont_entry"), /* 25 */
	WANT(thread_os, "JavaThread", "_osthread"),
	WANT(thread_os, "Thread", "_osthread"),
	WANT(os_pthread, "OSThread", "_pthread_id"),
	WANT(queue_buffer, "StubQueue", "_stub_buffer"),
	WANT(queue_end, "StubQueue", "_queue_end"),
};

/* ---- memory of the process ---- */

static void peek_text(pid_t pid, uint64_t addr, char text[NAME_BYTES])
{
	text[addr ? peek(pid, addr, text, NAME_BYTES - 1) : 0] = 0;
}

/* ---- tables ---- */

bool hotspot_find_tables(const struct elf64 *elf, struct hotspot_tables *tables)
{
	static const char *const names[] = { "gHotSpotVMStructs", "gHotSpotVMTypes" };
	uint64_t vaddrs[ARRAY_SIZE(names)];

	if (elfexports_find(elf, names, ARRAY_SIZE(names), vaddrs))
		return false;
	*tables = (struct hotspot_tables){ vaddrs[0], vaddrs[1] };
	return true;
}

struct table {
	pid_t pid;
	uint64_t bias;
	struct hotspot_fields *found;
	uint64_t type; /* address of the last field's type; 0: there was none */
	char type_name[NAME_BYTES];
	bool is_wanted; /* fields of that type are */
};

static void note(const struct table *table, enum part part, const char *type, const char *name,
		 uint64_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		void *at = (char *)table->found + wanted[i].at;
		int32_t offset = value < UINT16_MAX ? (int32_t)value : HOTSPOT_NONE;

		if (wanted[i].part != part || strcmp(wanted[i].type, type) ||
		    strcmp(wanted[i].name, name))
			continue;
		if (part == VARIABLE)
			*(uint64_t *)at = value - table->bias;
		else
			*(int32_t *)at = offset;
	}
}

static bool is_wanted(const char *type)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(wanted) && (wanted[i].part == TYPE || strcmp(wanted[i].type, type)))
		i++;
	return i < ARRAY_SIZE(wanted);
}

/* Most fields follow others of their type, and few are wanted: a text takes a system call. */
static void note_field(struct table *table, const void *entry)
{
	const struct field_entry *field = entry;
	char name[NAME_BYTES];

	if (field->type != table->type) {
		table->type = field->type;
		peek_text(table->pid, field->type, table->type_name);
		table->is_wanted = is_wanted(table->type_name);
	}
	if (!table->is_wanted)
		return;
	peek_text(table->pid, field->name, name);
	if (field->is_static)
		note(table, VARIABLE, table->type_name, name, field->address);
	else
		note(table, FIELD, table->type_name, name, field->offset);
}

static void note_type(struct table *table, const void *entry)
{
	const struct type_entry *type = entry;
	char name[NAME_BYTES];

	peek_text(table->pid, type->name, name);
	note(table, TYPE, name, "", type->size);
}

/* Visits a table's elements up to the first one without a name. */
static void visit_table(struct table *table, uint64_t variable, size_t size,
			void (*visit)(struct table *table, const void *entry))
{
	uint64_t at = peek_u64(table->pid, variable + table->bias);
	uint8_t bytes[ENTRIES_A_READ * sizeof(struct field_entry)];

	for (size_t i = 0; at && i < MAX_ENTRIES; i += ENTRIES_A_READ) {
		size_t n = peek(table->pid, at + i * size, bytes, ENTRIES_A_READ * size) / size;

		for (size_t j = 0; j < n; j++) {
			if (!*(const uint64_t *)(bytes + j * size))
				return;
			visit(table, bytes + j * size);
		}
		if (n < ENTRIES_A_READ)
			return;
	}
}

/* ---- conversion ---- */

static unsigned int read_version(const struct hotspot_fields *found, pid_t pid, uint64_t bias)
{
	char text[NAME_BYTES];

	if (found->heap)
		return 8; /* calls itself 25.x */
	if (!found->release)
		return 0;
	peek_text(pid, peek_u64(pid, found->release + bias), text);
	return (unsigned int)strtoul(text, NULL, 10);
}

static int32_t either(int32_t a, int32_t b)
{
	return a != HOTSPOT_NONE ? a : b;
}

/* Writes an offset in a blob, counted from its block. */
static bool put_in_block(const struct hotspot_fields *f, uint16_t *to, int32_t offset, size_t size)
{
	int32_t at = offset + f->header_bytes;

	if (offset == HOTSPOT_NONE || at + size > HOTSPOT_BLOB_BYTES)
		return false;
	*to = (uint16_t)at;
	return true;
}

static bool put(uint16_t *to, int32_t offset, int32_t limit)
{
	*to = (uint16_t)offset;
	return offset != HOTSPOT_NONE && offset < limit;
}

static bool fill_blob(struct hotspot_layout *l, const struct hotspot_fields *f)
{
	int32_t deopt = either(f->deopt_address, f->deopt_offset),
		call_deopt = either(f->call_deopt_address, f->call_deopt_offset);

	l->has_code_addresses = f->code_begin != HOTSPOT_NONE;
	l->has_entry_address = f->entry_address != HOTSPOT_NONE;
	l->has_deopt_address = f->deopt_address != HOTSPOT_NONE;
	return put_in_block(f, &l->size, f->size, 4) &&
	       put_in_block(f, &l->code_begin, either(f->code_begin, f->code_offset), 8) &&
	       put_in_block(f, &l->code_end, either(f->code_end, f->data_offset), 8) &&
	       put_in_block(f, &l->frame_words, f->frame_words, 4) &&
	       put_in_block(f, &l->frame_complete, f->frame_complete, 4) &&
	       put_in_block(f, &l->name, f->name, 8) && put_in_block(f, &l->method, f->method, 8) &&
	       put_in_block(f, &l->compile_id, f->compile_id, 4) &&
	       put_in_block(f, &l->entry, either(f->entry_address, f->entry_offset), 8) &&
	       put_in_block(f, &l->deopts[0], deopt, 8) &&
	       put_in_block(f, &l->deopts[1], either(call_deopt, deopt), 8) &&
	       put_in_block(f, &l->original_pc, f->original_pc, 4);
}

static bool fill_names(struct hotspot_layout *l, const struct hotspot_fields *f)
{
	return put(&l->method_const, f->method_const, 256) &&
	       put(&l->const_bytes, f->const_bytes, HOTSPOT_CONST_BYTES) &&
	       put(&l->const_pool, f->const_pool, HOTSPOT_CONST_BYTES - 8) &&
	       put(&l->const_code_bytes, f->const_code_bytes, HOTSPOT_CONST_BYTES - 8) &&
	       put(&l->const_name, f->const_name, HOTSPOT_CONST_BYTES - 8) &&
	       put(&l->pool_bytes, f->pool_bytes, 1024) &&
	       put(&l->pool_holder, f->pool_holder, 1024) &&
	       put(&l->class_name, f->class_name, 1024) &&
	       put(&l->symbol_length, f->symbol_length, 64) &&
	       put(&l->symbol_body, f->symbol_body, 64);
}

static bool fill_layout(struct hotspot_layout *l, const struct hotspot_fields *f,
			unsigned int version)
{
	if (f->header_bytes <= 0 || f->header_bytes > 64 || f->block_used == HOTSPOT_NONE ||
	    f->block_used >= f->header_bytes)
		return false;
	l->header_bytes = (uint16_t)f->header_bytes;
	l->block_used = (uint16_t)f->block_used;
	l->bcp_words = version == 8 ? 7 : UNWIND_IS_ARM64 ? 9 : 8;
	l->sender_is_x19 = version >= 19;
	l->is_complete_short = version >= 23;
	l->has_x87 = version == 8 && !UNWIND_IS_ARM64;
	return fill_blob(l, f) && fill_names(l, f);
}

/* Returns the number of a block's bytes up to the end of the last field that is read. */
static uint16_t used_bytes(const struct hotspot_layout *l)
{
	const uint16_t ends[] = { l->size,	     l->code_begin, l->code_end,  l->frame_words,
				  l->frame_complete, l->name,	    l->method,	  l->compile_id,
				  l->entry,	     l->deopts[0],  l->deopts[1], l->original_pc };
	uint16_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		last = ends[i] > last ? ends[i] : last;
	return last + 8 < HOTSPOT_BLOB_BYTES ? (uint16_t)(last + 8) : HOTSPOT_BLOB_BYTES;
}

/* Returns true if the fields are known that describe a process. */
static bool has_process(const struct hotspot_fields *f)
{
	return (f->heap || (f->heaps && f->list_data >= 0)) && f->interpreter && f->call_stub &&
	       f->heap_memory >= 0 && f->heap_segments >= 0 && f->heap_log2 >= 0 &&
	       f->space_low >= 0 && f->space_high >= 0 && f->queue_buffer >= 0 && f->queue_end >= 0;
}

int hotspot_vm_read(struct hotspot_vm *vm, const struct hotspot_tables *tables, pid_t pid,
		    uint64_t bias)
{
	struct hotspot_fields *f = &vm->fields;
	struct table table = { .pid = pid, .bias = bias, .found = f };

	*vm = (struct hotspot_vm){};
	memset(f, 0xff, offsetof(struct hotspot_fields, heap));
	visit_table(&table, tables->structs, sizeof(struct field_entry), note_field);
	visit_table(&table, tables->types, sizeof(struct type_entry), note_type);
	if (f->const_bytes == HOTSPOT_NONE)
		return -EAGAIN;
	vm->version = read_version(f, pid, bias);
	if (!vm->version)
		return -EAGAIN;
	vm->has_sparse_numbers = vm->version >= 20;
	if (!fill_layout(&vm->layout, f, vm->version) || !has_process(f))
		return -ENOTSUP;
	vm->layout.blob_bytes = used_bytes(&vm->layout);
	return 0;
}

/* ---- a process ---- */

static bool read_heap(const struct hotspot_fields *f, pid_t pid, uint64_t at,
		      struct hotspot_heap *heap, uint32_t *log2)
{
	uint64_t memory = at + (uint64_t)f->heap_memory, segments = at + (uint64_t)f->heap_segments;

	heap->low = peek_u64(pid, memory + (uint64_t)f->space_low);
	heap->high = peek_u64(pid, memory + (uint64_t)f->space_high);
	heap->segments = peek_u64(pid, segments + (uint64_t)f->space_low);
	*log2 = peek_u32(pid, at + (uint64_t)f->heap_log2);
	return heap->low && heap->segments && heap->low < heap->high && *log2 >= 5 && *log2 <= 16;
}

static size_t list_heaps(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			 uint64_t at[HOTSPOT_HEAPS])
{
	const struct hotspot_fields *f = &vm->fields;
	uint64_t list = peek_u64(pid, (f->heap ? f->heap : f->heaps) + bias), data;
	uint32_t n;

	if (f->heap) {
		at[0] = list;
		return list != 0;
	}
	n = peek_u32(pid, list);
	data = peek_u64(pid, list + (uint64_t)f->list_data);
	return n <= HOTSPOT_HEAPS && peek_all(pid, data, at, n * sizeof(*at)) ? n : 0;
}

static bool read_heaps(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
		       struct hotspot_layout *layout)
{
	uint64_t at[HOTSPOT_HEAPS];
	size_t n = list_heaps(vm, pid, bias, at);
	uint32_t log2;

	for (size_t i = 0; i < n; i++) {
		if (!read_heap(&vm->fields, pid, at[i], &layout->heaps[i], &log2))
			return false;
		layout->log2_segment = (uint16_t)log2;
	}
	return n;
}

/*
 * Reads the interpreter's range up to the code that has been generated: until all of it is, its
 * buffer is larger; other stubs get the rest.
 */
static bool read_interpreter(const struct hotspot_fields *f, pid_t pid, uint64_t bias,
			     struct hotspot_layout *layout)
{
	uint64_t queue = peek_u64(pid, f->interpreter + bias);

	layout->interpreter_low = peek_u64(pid, queue + (uint64_t)f->queue_buffer);
	layout->interpreter_high =
		layout->interpreter_low + peek_u32(pid, queue + (uint64_t)f->queue_end);
	layout->call_stub = peek_u64(pid, f->call_stub + bias);
	return layout->interpreter_low && layout->interpreter_low < layout->interpreter_high &&
	       layout->call_stub;
}

int hotspot_vm_describe(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			struct hotspot_layout *layout)
{
	*layout = vm->layout;
	return read_heaps(vm, pid, bias, layout) && read_interpreter(&vm->fields, pid, bias, layout)
		       ? 0
		       : -EAGAIN;
}
