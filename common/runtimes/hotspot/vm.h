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

/* Where a file exports its tables: virtual addresses of variables. */
struct hotspot_tables {
	uint64_t structs, types;
};

/* Fields that only the loader reads. Offsets of fields count from their object. */
struct hotspot_vm {
	struct hotspot_layout layout; /* without what differs between processes of a file */
	/* addresses of variables, relative to the load address */
	uint64_t heaps, interpreter, call_stub, release;
	bool has_one_heap; /* JDK 8: heaps is a pointer to the only heap */
	bool has_scopes_address;
	bool has_sparse_numbers; /* compressed numbers (UNSIGNED5) never contain the byte 0 */
	int32_t array_data;	 /* GrowableArray */
	int32_t heap_memory, heap_segments, heap_log2;	    /* CodeHeap */
	int32_t space_low, space_high;			    /* VirtualSpace */
	int32_t queue_buffer, queue_end;		    /* StubQueue */
	int32_t scopes_data, scopes_pcs, pcs_end, metadata; /* nmethod */
	int32_t immutable_data, mutable_data, relocation_bytes, data_offset;
	int32_t class_methods, class_source, pool_source;
	int32_t const_flags, const_words;
	unsigned int version; /* feature release: 8, 11, 17 */
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

/* Adds to the layout what differs between processes. -EAGAIN: the machine isn't initialized yet. */
int hotspot_vm_describe(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			struct hotspot_layout *layout);

/* Reads words and texts of the process; 0 and false: unreadable. */
uint64_t hotspot_peek_word(pid_t pid, uint64_t addr);
uint32_t hotspot_peek_u32(pid_t pid, uint64_t addr);
uint16_t hotspot_peek_u16(pid_t pid, uint64_t addr);

#endif
