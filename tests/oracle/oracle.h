/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface of the oracle's preloaded library, BPF program and loader. */
#ifndef ORACLE_H
#define ORACLE_H

#ifndef ORACLE_PRELOAD
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#endif

/* How _Unwind_Backtrace() ended. */
enum oracle_ending {
	ORACLE_ENDED,	/* at the outermost frame */
	ORACLE_STOPPED, /* at code that it knows nothing of, or when told so */
	ORACLE_CUT,	/* there was no more room */
};

#ifndef ORACLE_PRELOAD
#define ORACLE_OWN_FRAMES 2 /* of our stack: the marker and the function that calls it */
#define ORACLE_SHIFT	  1 /* our frame i is their frame i - 1: they lack the marker */

enum oracle_verdict {
	ORACLE_UNFIT, /* could not be compared */
	ORACLE_EQUAL, /* both ended at the same frame: the outermost, or one without a rule */
	ORACLE_DIFFERENT,
	ORACLE_INCOMPLETE, /* ours is shorter, but right as far as it goes, and says why */
	ORACLE_BEYOND,	   /* equal up to code that the other knows nothing of; ours goes on */
	ORACLE_VERDICTS = 8,
};

struct oracle_counts {
	__u64 unfit;
	__u64 by_reason[ORACLE_VERDICTS][UNWIND_REASONS];
};

/* The first stack that differs, for a person to look at. */
struct oracle_difference {
	__u32 is_taken, tgid, reason, n_ours, n_theirs, at;
	__u64 ours[STACK_DEPTH];
	__u64 theirs[STACK_DEPTH];
};
#endif

#endif
