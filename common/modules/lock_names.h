/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Identifies locks: as a program's variable, a location in a shared file, or just an address. Locks
 * are resolved when first seen, since their process may have exited before the report.
 */
#ifndef LOCK_NAMES_H
#define LOCK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "output/frames.h"

/*
 * Returns the kind of a lock that threads wait for.
 *
 * A futex is just a word; the waiting function of the C library shows its use: "mutex",
 * "condition", "rwlock", "semaphore", "barrier", "join"; "futex" if unknown. kind: enum lock_kind;
 * kernel locks are "mutex", "rwsem", "percpu-rwsem", "rtmutex", "semaphore", "spin", "rwlock".
 * frames: the user stack, root first.
 */
const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n);

/*
 * Returns the kernel function that waited for a lock: the innermost one outside of the lock's own
 * code; NULL: none. frames: the kernel stack, root first.
 */
const char *lock_kind_user(const struct frame *const *frames, size_t n);

/*
 * Returns the address that identifies a lock: waiters for a C library condition alternate between
 * two words. kind: from lock_kind_name(); NULL: assumes a condition.
 */
uint64_t lock_kind_base(uint64_t addr, const char *kind);

struct processes;
struct lock_names;

struct lock_name {
	uint64_t addr; /* address in the first process seen waiting, or in the kernel */
	pid_t pid;     /* the only process that uses the lock; 0: maybe several, or the kernel */
	bool is_kernels;

	/* Variable: file name (NULL: a kernel lock, or not a variable), and symbol if present. */
	char *module, *symbol;
	char *readable;	       /* demangled symbol; NULL: print symbol */
	uint64_t vaddr;	       /* ELF address of the lock in the file */
	uint64_t start, bytes; /* the symbol's address and size */

	/* Otherwise its mapping: a file's path, "[heap]", "[anon]"; NULL: unknown. */
	char *mapping;
	uint64_t offset; /* the lock's offset in the file; 0: not in a file */
	bool is_shared;	 /* processes share the lock, by the file */
	dev_t dev;	 /* the file's device, if is_shared */
	ino_t ino;	 /* the file's inode, if is_shared; 0: a first System V segment */

	/* Kernel function that waited for a lock without a symbol; NULL: none. */
	char *function;
};

/* Creates a table, freed with lock_names_free(). Borrows processes. as_mangled: don't demangle. */
struct lock_names *lock_names_new(struct processes *processes, bool as_mangled);
void lock_names_free(struct lock_names *names);

/* Evicts locks absent from the last reports, and resets kernel functions. */
void lock_names_begin_report(struct lock_names *names);

/*
 * Returns the lock at an address of a process with exec count `generation`. is_private: not shared
 * with other processes. Valid until lock_names_begin_report() or lock_names_free().
 */
const struct lock_name *lock_names_find(struct lock_names *names, pid_t pid, uint32_t generation,
					uint64_t addr, bool is_private);

/* Returns a lock of the kernel; the caller sets its symbol and function. */
struct lock_name *lock_names_find_kernels(struct lock_names *names, uint64_t addr);

/* Returns true for the same lock, maybe seen by two processes; equal locks have equal hashes. */
bool lock_name_is_same(const struct lock_name *a, const struct lock_name *b);
uint64_t lock_name_hash(const struct lock_name *lock);

/*
 * Returns the printed name: "locks:table", "locks:table+0x28", "[libfoo.so+0x1234]",
 * "/dev/shm/x+0x40", "[heap] 0x55d0c0a012a0", "0x7f120000a010", "in pipe_write 0xffff888104a3c000".
 * Omits the offset in a condition. Freed with free().
 */
char *lock_name_text(const struct lock_name *lock, const char *kind);

/*
 * Returns the root frame of a lock's stacks: "[mutex locks:table]". Omits the address of kernel
 * locks that are named after a function. Freed with free().
 */
char *lock_name_mark(const struct lock_name *lock, const char *kind);

#endif
