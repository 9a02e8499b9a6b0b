/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HotSpot's description of itself: tables of fields, types and variables, exported by libjvm for
 * debuggers (vmStructs.hpp), also if it is stripped. All names and their changes are in vm.c.
 */
#ifndef HOTSPOT_VM_H
#define HOTSPOT_VM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/hotspot.h"
#include "elf/elf64.h"

/* Virtual addresses of the variables through which a file exports its tables. */
struct hotspot_tables {
	uint64_t structs, types;
};

#define HOTSPOT_NONE (-1)

/*
 * Layout of a libjvm: offsets of fields in their objects, and sizes of types (HOTSPOT_NONE:
 * unknown); addresses of variables, relative to the load address (0: unknown).
 */
struct hotspot_fields {
	int32_t list_data, heap_memory, heap_segments, heap_log2, space_low, space_high;
	int32_t header_bytes, block_used;
	int32_t name, size, code_begin, code_offset, code_end, data_offset, frame_words,
		frame_complete, mutable_data, relocation_bytes;
	int32_t method, compile_id, entry_address, entry_offset, deopt_address, deopt_offset,
		call_deopt_address, call_deopt_offset, original_pc, scopes_address, scopes_offset,
		scopes_pcs, dependencies, metadata, immutable_data;
	int32_t method_const, const_bytes, const_pool, const_flags, const_code_bytes, const_name,
		const_words;
	int32_t pool_bytes, pool_holder, pool_source, class_name, class_source;
	int32_t symbol_length, symbol_body;
	int32_t queue_buffer, queue_end;
	int32_t threads_length, threads_data, thread_entry, thread_os, os_pthread;
	uint64_t heap; /* JDK 8: the only heap */
	uint64_t heaps, interpreter, call_stub, release;
	uint64_t threads, continuation_return; /* 0: without virtual threads, or up to 24 */
};

struct hotspot_vm {
	struct hotspot_layout layout; /* the part that all processes of a file share */
	struct hotspot_fields fields;
	bool has_sparse_numbers; /* compressed numbers (UNSIGNED5) never contain the byte 0 */
	unsigned int version;	 /* feature release: 8, 11, 17 */
};

/* Returns true for a file that exports the tables. */
bool hotspot_find_tables(const struct elf64 *elf, struct hotspot_tables *tables);

/*
 * Reads the description from a process that has the file mapped, bias bytes above its virtual
 * addresses. -EAGAIN: the process has not relocated the library yet, or has exited; -ENOTSUP: a
 * needed field is unknown.
 */
int hotspot_vm_read(struct hotspot_vm *vm, const struct hotspot_tables *tables, pid_t pid,
		    uint64_t bias);

/* Completes the layout for a process. -EAGAIN: the machine isn't initialized yet. */
int hotspot_vm_describe(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			struct hotspot_layout *layout);

#endif
