/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Python's functions: what the words of each process stand for, and one entry for functions that
 * are the same, which processes have in common. It lives as long as a word stands for it, or a user
 * holds it.
 */
#ifndef PYTHON_CODES_H
#define PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/python.h"
#include "base/hashtable.h"

struct python_codes;

struct python_function {
	struct hashlink link;
	struct python_codes *codes;
	unsigned int n_users; /* words and users that hold it */
	char *name;	      /* qualified name, or its beginning if long: "Thread.run" */
	char *file;	      /* path, or its end if long; NULL: unknown */
	uint32_t first_line;
	enum python_lines lines_kind;
	size_t n_lines;
	uint8_t lines[]; /* co_linetable, co_lnotab; none: not requested */
};

/* Functions are freed with it, even if they are still held. */
struct python_codes *python_codes_new(void);
void python_codes_free(struct python_codes *codes);

/*
 * Stores a record of size bytes, replacing the word's former meaning. If there are very many words,
 * those not requested recently are evicted: BPF sends them again.
 */
void python_codes_add(struct python_codes *codes, const struct python_def *def, size_t size);

/*
 * Returns the function that the word stands for; [python] if unknown. Valid until the next call of
 * one of these functions, unless it is held.
 */
struct python_function *python_codes_find(const struct python_codes *codes, pid_t pid,
					  uint64_t word);

void python_function_hold(struct python_function *function);
void python_function_release(struct python_function *function);

/* Returns the number of functions, without [python]. */
size_t python_codes_count_functions(const struct python_codes *codes);

/* Returns true if words of that process are known. */
bool python_codes_knows(const struct python_codes *codes, pid_t pid);

/* Drops the words of a process that has exited. */
void python_codes_forget(struct python_codes *codes, pid_t pid);

#endif
