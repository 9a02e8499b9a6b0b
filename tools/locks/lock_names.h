/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Identities of locks: a variable of a program, a location in a file that processes share, or just
 * an address. Resolved when a lock is first seen, since its process may be gone when the report is
 * made.
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
 * A futex is just a word. The function of the C library that waits for it shows its use: "mutex",
 * "condition", "rwlock", "semaphore", "barrier", "join"; "futex" if it is unknown. kind: enum
 * lock_kind, whose locks of the kernel have names of their own: "mutex", "rwsem", "percpu-rwsem",
 * "rtmutex", "semaphore", "spin", "rwlock". frames: the user stack, root first.
 */
const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n);

/*
 * Returns the kernel function that waited for a lock: the innermost one outside of the lock's own
 * code. NULL: there is none. frames: the kernel stack, root first.
 */
const char *lock_kind_user(const struct frame *const *frames, size_t n);

/*
 * Returns the address that identifies a lock: waiters for a condition of the C library alternate
 * between two words. kind: from lock_kind_name(); NULL: assumes a condition.
 */
uint64_t lock_kind_base(uint64_t addr, const char *kind);

struct processes;
struct lock_names;

struct lock_name {
	uint64_t addr; /* address in the first process that waited for it, or in the kernel */
	pid_t pid;     /* the only process that has it; 0: maybe several, or the kernel */
	bool is_kernels;

	/* A program's variable: file name, and symbol if present. */
	char *module, *symbol;
	char *readable;	       /* the demangled symbol; NULL: shown as it is */
	uint64_t vaddr;	       /* in the file, as ELF counts */
	uint64_t start, bytes; /* of the symbol */

	/*
	 * Otherwise the mapping that contains it: a file's path, "[heap]", "[anon]"; NULL: unknown.
	 */
	char *mapping;
	uint64_t offset; /* offset in the file; 0: not a file */
	dev_t dev;	 /* of the file, if processes share the lock */
	ino_t ino;	 /* inode of that file; 0: not shared */

	/* In the kernel: the lock's symbol; without one, the function that waited for it. */
	char *function;
};

/* Creates a table. processes: borrowed, outlive it. as_mangled: don't demangle names. */
struct lock_names *lock_names_new(struct processes *processes, bool as_mangled);
void lock_names_free(struct lock_names *names);

/* Evicts locks absent from the last reports, and resets kernel functions. */
void lock_names_begin_report(struct lock_names *names);

/*
 * Returns the lock at an address of a process, after `generation` execs. is_private: other
 * processes don't share it. Valid until lock_names_begin_report() or lock_names_free().
 */
const struct lock_name *lock_names_find(struct lock_names *names, pid_t pid, uint32_t generation,
					uint64_t addr, bool is_private);

/* Returns a lock of the kernel; the caller sets its symbol and function. */
struct lock_name *lock_names_find_kernels(struct lock_names *names, uint64_t addr);

/* Returns true if both are the same lock, maybe seen by two processes; then hashes are equal. */
bool lock_name_is_same(const struct lock_name *a, const struct lock_name *b);
uint64_t lock_name_hash(const struct lock_name *lock);

/*
 * Returns the name for people: "locks:table", "locks:table+0x28", "[libfoo.so+0x1234]",
 * "/dev/shm/x+0x40", "[heap] 0x55d0c0a012a0", "0x7f120000a010", "in pipe_write 0xffff888104a3c000".
 * Waiters for a condition use a part of the variable, which is not shown. Freed with free().
 */
char *lock_name_text(const struct lock_name *lock, const char *kind);

/*
 * Returns the name with its kind, as root of a stack: "[mutex locks:table]". Kernel locks that are
 * named after a function omit the address. Freed with free().
 */
char *lock_name_mark(const struct lock_name *lock, const char *kind);

#endif
