/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of system calls, written by BPF and read by tools/syscount/calls.c. */
#ifndef ABI_CALL_RECORD_H
#define ABI_CALL_RECORD_H

#include "abi/filter.h"
#include "abi/hist.h"

enum call_abi {
	CALL_NATIVE,
	CALL_COMPAT, /* 32-bit on a 64-bit kernel */
	CALL_ABIS,
};

/* Calls with numbers below this are counted in an array if the number is the only key. */
#define CALLS_PER_ABI 512

struct call_counts {
	__u64 calls[CALL_ABIS * CALLS_PER_ABI];
};

/* Key of a count. A field that no option requests is 0. */
struct call_key {
	__u32 tgid;
	__s32 number;
	__u16 abi;   /* enum call_abi */
	__u16 error; /* errno; 0: the call succeeded */
	/* octave of the duration, CALL_UNTIMED or CALL_UNSEEN; 0 if durations are not measured */
	__u32 octave;
};

/*
 * Calls without a duration. CALL_UNTIMED: the call began before its thread was traced, or never
 * returns. CALL_UNSEEN: the thread's calls are traced, but this one had no sys_enter event because
 * seccomp refused it earlier.
 */
#define CALL_UNTIMED HIST_OCTAVES
#define CALL_UNSEEN  (HIST_OCTAVES + 1)

struct call_times {
	__u64 slots[HIST_SLOTS_PER_OCTAVE]; /* calls per duration slot of the octave */
	__u64 total_ns, min_ns, max_ns;
};

/*
 * Fast path for most calls: one array of cells per CPU. A key uses the cell that its hash selects,
 * or the adjacent cell; if both are taken, it is counted in the hash table. The array has two
 * halves, used alternately; generation numbers (turns) begin with CALL_FIRST_TURN, and a cell of
 * another turn is free.
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
	bool has_ended; /* the process has exited: another one may have its pid */
};

#define CALL_STACK_DEPTH 64

/* A call that has not returned. */
struct call_flight {
	__u32 tgid, tid;
	__s32 number;
	__u16 abi;
	__u16 n_words;	  /* used elements of words */
	__u64 began_ns;	  /* entry time; 0: before tracing began */
	__u64 off_cpu_ns; /* estimated off-CPU time of the thread; 0: on CPU, or unknown */
	char comm[TASK_COMM_LEN];
	__u64 words[CALL_STACK_DEPTH]; /* kernel stack, leaf first */
};

struct call_settings {
	__u64 mult; /* factor from ns to fixed point, see hist_scale() */
	__u32 shift;
	bool is_plain; /* count calls by number; the settings below are unused */
	__u32 ppid;    /* count only children of this process; 0: any */
	__u32 error;   /* count only calls that failed with this errno; 0: any */
	__s32 numbers[CALL_ABIS];
	bool only_numbers; /* count only calls with these numbers */
	bool only_failed;
	bool by_process;
	bool by_call;
	bool by_error;
	bool timed;	  /* durations are measured */
	bool tracked;	  /* the current call of each task is recorded */
	bool with_stacks; /* read kernel stacks of calls in flight */
	bool has_turns;	  /* two count tables alternate; false: only the first is used */
	__u8 cell_bits;	  /* log2 of the number of cells in a half */
};

#endif
