// SPDX-License-Identifier: GPL-2.0-only
/* Finds inlined methods; see scopes.h. */

#include "base/load.h"
#include "base/peek.h"
#include "elf/code_end.h"
#include "elf/elf64.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/scopes.h"

#define SCOPE_BYTES	 16 /* three numbers */
#define DESCRIPTIONS_MAX (1U << 20)
#define READ_AT_ONCE	 128
#define CODE_BYTES_MAX	 (1U << 30)
#define PATH_BYTES	 1024 /* of code that is decoded for each jump */
#define JUMPS_MAX	 8

/* struct PcDesc. */
struct description {
	int32_t pc; /* relative to the code */
	int32_t scope, objects, flags;
};

/* Addresses of a compiled method's debug information. */
struct tables {
	uint64_t pcs, scopes, methods;
	size_t n_pcs;
};

static uint64_t field_u64(const struct hotspot_blob *blob, int32_t at)
{
	bool is_inside = at >= 0 && at + sizeof(uint64_t) <= sizeof(blob->bytes);

	return is_inside ? load_u64(blob->bytes + at) : 0;
}

static uint32_t field_u32(const struct hotspot_blob *blob, int32_t at)
{
	return (uint32_t)field_u64(blob, at);
}

static uint16_t field_u16(const struct hotspot_blob *blob, int32_t at)
{
	return (uint16_t)field_u64(blob, at);
}

/* Returns the offset of the field with the scopes' address, or with their offset. */
static int32_t scopes_field(const struct hotspot_fields *f)
{
	return f->scopes_address != HOTSPOT_NONE ? f->scopes_address : f->scopes_offset;
}

/*
 * Since 23, the tables are outside of the blob. The offset of pcs has 16 bits if the next field is
 * two bytes further.
 */
static uint64_t find_immutable(const struct hotspot_fields *f, const struct hotspot_blob *blob,
			       struct tables *tables)
{
	uint64_t base = field_u64(blob, f->immutable_data);

	tables->pcs =
		base + (scopes_field(f) - f->scopes_pcs == 2 ? field_u16(blob, f->scopes_pcs)
							     : field_u32(blob, f->scopes_pcs));
	tables->scopes = base + field_u32(blob, scopes_field(f));
	if (f->mutable_data >= 0)
		tables->methods =
			field_u64(blob, f->mutable_data) + field_u32(blob, f->relocation_bytes);
	else
		tables->methods = blob->address + field_u32(blob, f->data_offset) +
				  field_u16(blob, f->metadata);
	return tables->scopes;
}

static uint64_t find_in_blob(const struct hotspot_fields *f, const struct hotspot_blob *blob,
			     struct tables *tables)
{
	tables->pcs = blob->address + field_u32(blob, f->scopes_pcs);
	tables->scopes = f->scopes_address != HOTSPOT_NONE
				 ? field_u64(blob, f->scopes_address)
				 : blob->address + field_u32(blob, f->scopes_offset);
	tables->methods = blob->address + field_u32(blob, f->metadata);
	return blob->address + field_u32(blob, f->dependencies);
}

static bool find_tables(const struct hotspot_fields *f, const struct hotspot_blob *blob,
			struct tables *tables)
{
	uint64_t end = f->immutable_data >= 0 ? find_immutable(f, blob, tables)
					      : find_in_blob(f, blob, tables);

	tables->n_pcs = (end - tables->pcs) / sizeof(struct description);
	return end >= tables->pcs && tables->n_pcs <= DESCRIPTIONS_MAX;
}

/* Finds the first description at or after a position in the code. They are sorted. */
static bool find_description(pid_t pid, const struct tables *tables, int32_t pc,
			     struct description *found)
{
	struct description read[READ_AT_ONCE];
	size_t low = 0, n = tables->n_pcs;

	while (n > READ_AT_ONCE) {
		size_t half = n / 2;

		if (!peek_all(pid, tables->pcs + (low + half - 1) * sizeof(*read), read,
			      sizeof(*read)))
			return false;
		if (read[0].pc < pc) {
			low += half;
			n -= half;
		} else {
			n = half;
		}
	}
	if (!peek_all(pid, tables->pcs + low * sizeof(*read), read, n * sizeof(*read)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (read[i].pc >= pc) {
			*found = read[i];
			return true;
		}
	return false;
}

/*
 * Moves *at to the target of the next jump in the following bytes, if there is one. False: the
 * method returns before, or the jump leaves it.
 */
static bool follow_jump(pid_t pid, const struct hotspot_blob *blob, size_t bytes, int32_t *at)
{
	uint8_t code[PATH_BYTES];
	size_t n = peek(pid, blob->begin + (uint64_t)*at, code,
			bytes < sizeof(code) ? bytes : sizeof(code));
	struct code_path path = code_path(code, n, elf64_own_machine());
	uint64_t target = (uint64_t)(*at + path.jump);

	if (path.is_return || target >= blob->end - blob->begin)
		return false;
	*at = (int32_t)target;
	return true;
}

/*
 * Finds the next description that is reached without a conditional branch: slow paths are at the
 * end of the code, without descriptions of their own, and jump back. False: none.
 */
static bool find_next(pid_t pid, const struct hotspot_blob *blob, const struct tables *tables,
		      int32_t at, struct description *found)
{
	for (int i = 0; i < JUMPS_MAX; i++) {
		bool is_found = find_description(pid, tables, at, found) && found->scope;
		size_t bytes = is_found ? (size_t)(found->pc - at)
					: blob->end - blob->begin - (uint64_t)at;
		int32_t from = at;

		if (!bytes)
			return is_found;
		if (!follow_jump(pid, blob, bytes, &at))
			return false;
		if (at == from)
			return is_found;
	}
	return false;
}

/* Reads a scope. Returns its caller's; 0: it is the outermost one. */
static int32_t read_scope(const struct hotspot_vm *vm, pid_t pid, const struct tables *tables,
			  int32_t at, struct hotspot_scope *scope)
{
	uint8_t bytes[SCOPE_BYTES];
	size_t n = peek(pid, tables->scopes + (uint64_t)at, bytes, sizeof(bytes)), next = 0;
	uint32_t sender = hotspot_number(bytes, n, &next, vm->has_sparse_numbers),
		 method = hotspot_number(bytes, n, &next, vm->has_sparse_numbers);

	scope->bci = (int32_t)hotspot_number(bytes, n, &next, vm->has_sparse_numbers) - 1;
	scope->method = method ? peek_u64(pid, tables->methods + 8ULL * (method - 1)) : 0;
	return (int32_t)sender;
}

/* Reads the scopes, innermost first. Each has the position of its caller, which is lower. */
static size_t read_scopes(const struct hotspot_vm *vm, pid_t pid, const struct tables *tables,
			  int32_t at, struct hotspot_scope *scopes, size_t max)
{
	size_t n = 0;

	while (at > 0 && n < max) {
		int32_t sender = read_scope(vm, pid, tables, at, &scopes[n++]);

		if (sender < 0 || sender >= at)
			return 0;
		at = sender;
	}
	return at ? 0 : n;
}

static bool read_alive(const struct hotspot_vm *vm, pid_t pid,
		       const struct hotspot_compiled *compiled, struct hotspot_blob *blob)
{
	return hotspot_blob_read(&vm->layout, pid, compiled->blob - vm->layout.header_bytes,
				 blob) &&
	       blob->is_used && blob->compile_id == compiled->compile_id &&
	       blob->method == compiled->method;
}

bool hotspot_is_alive(const struct hotspot_vm *vm, pid_t pid,
		      const struct hotspot_compiled *compiled)
{
	struct hotspot_blob blob;

	return read_alive(vm, pid, compiled, &blob);
}

size_t hotspot_scopes_find(const struct hotspot_vm *vm, pid_t pid,
			   const struct hotspot_compiled *compiled, uint64_t pc, bool is_return,
			   struct hotspot_scope *scopes, size_t max)
{
	struct description description;
	struct hotspot_blob blob;
	struct tables tables;
	int32_t at;
	size_t n;

	if (!read_alive(vm, pid, compiled, &blob) || pc < blob.begin || pc > blob.end ||
	    blob.end - blob.begin > CODE_BYTES_MAX || !find_tables(&vm->fields, &blob, &tables))
		return 0;
	scopes[0] = (struct hotspot_scope){ compiled->method, -1 };
	at = (int32_t)(pc - blob.begin);
	if ((!is_return && at < blob.frame_complete) ||
	    !find_next(pid, &blob, &tables, at, &description))
		return 1; /* the method begins or ends: it runs no inlined method */
	n = read_scopes(vm, pid, &tables, description.scope, scopes, max);
	return n && scopes[n - 1].method == compiled->method ? n : 0;
}
