/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls as they are counted in the kernel and read by tools/syscount/calls.c. */
#ifndef ABI_CALL_RECORD_H
#define ABI_CALL_RECORD_H

#include "abi/filter.h"
#include "abi/hist.h"

enum call_abi {
	CALL_NATIVE,
	CALL_COMPAT, /* 32-bit on a 64-bit kernel */
	CALL_ABIS,
};

/* Calls with lower numbers are counted in an array, if the number is the only key. */
#define CALLS_PER_ABI 512

struct call_counts {
	__u64 calls[CALL_ABIS * CALLS_PER_ABI];
};

/* The key of a count. A field that no option asks for is 0. */
struct call_key {
	__u32 tgid;
	__s32 number;
	__u16 abi;   /* enum call_abi */
	__u16 error; /* its errno; 0: it succeeded */
	/* octave of the duration, or one of the constants below; 0 if only calls are counted */
	__u32 octave;
};

/*
 * Calls without a duration. CALL_UNTIMED: they began before their thread was traced, or never
 * return. CALL_UNSEEN: the thread's calls are seen, but not the beginning of this one, as seccomp
 * refuses calls before sys_enter.
 */
#define CALL_UNTIMED HIST_OCTAVES
#define CALL_UNSEEN  (HIST_OCTAVES + 1)

struct call_times {
	__u64 slots[HIST_SLOTS_PER_OCTAVE]; /* calls, by duration within the octave */
	__u64 total_ns, min_ns, max_ns;
};

/*
 * Fast path for most calls: a row per CPU, in the cell that its key's hash leads to or in the one
 * beside it. Keys that find both taken are in the table. Two halves are used alternately, counted
 * from CALL_FIRST_TURN on; a cell that is not of this turn is free.
 */
struct call_cell {
	struct call_key key;
	__u64 turn;
	struct call_times times;
};

#define CALL_MAX_CELL_BITS 9
#define CALL_FIRST_TURN	   1

struct call_label {
	char comm[TASK_COMM_LEN];
};

#define CALL_STACK_DEPTH 64

/* A call that has not returned. */
struct call_flight {
	__u32 tgid, tid;
	__s32 number;
	__u16 abi;
	__u16 n_words;	  /* of its kernel stack */
	__u64 began_ns;	  /* 0: before the tracing */
	__u64 off_cpu_ns; /* about how long its thread has been off CPU; 0: it runs, or unknown */
	char comm[TASK_COMM_LEN];
	__u64 words[CALL_STACK_DEPTH]; /* leaf first */
};

struct call_settings {
	__u64 mult; /* nanoseconds to fixed point, see hist_scale() */
	__u32 shift;
	bool is_plain; /* count calls by number; the settings below are unused */
	__u32 ppid;    /* count only children of this process; 0: any */
	__u32 error;   /* count only calls that failed with this errno; 0: any */
	__s32 numbers[CALL_ABIS];
	bool only_numbers; /* just those */
	bool only_failed;
	bool by_process;
	bool by_call;
	bool by_error;
	bool timed;	  /* durations are measured */
	bool tracked;	  /* the current call of each task is recorded */
	bool with_stacks; /* of calls in flight */
	bool has_turns;	  /* two tables alternate; else the first is the only one */
	__u8 cell_bits;	  /* log2 of the number of cells in a half */
};

#endif
