/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remarks after a stack: "[blocked at end]". Frames without a name are bracketed, too, so the last
 * frame of a folded line is a remark only if it is one of these. Tools use these constants.
 */
#ifndef REMARKS_H
#define REMARKS_H

#define REMARK_ON_CPU		  "on cpu"
#define REMARK_BLOCKED		  "blocked"
#define REMARK_RUNNABLE		  "runnable"
#define REMARK_THROTTLED	  "throttled"
#define REMARK_BLOCKED_AT_START	  "blocked at start"
#define REMARK_BLOCKED_AT_END	  "blocked at end"
#define REMARK_BLOCKED_THROUGHOUT "blocked throughout"
#define REMARK_KERNEL_MODE	  "kernel mode"
#define REMARK_MAJOR		  "major"
#define REMARK_KERNEL_MODE_MAJOR  "kernel mode, major"

/* List of all remarks, as an initializer. */
#define REMARKS                                                                                    \
	REMARK_ON_CPU, REMARK_BLOCKED, REMARK_RUNNABLE, REMARK_THROTTLED, REMARK_BLOCKED_AT_START, \
		REMARK_BLOCKED_AT_END, REMARK_BLOCKED_THROUGHOUT, REMARK_KERNEL_MODE,              \
		REMARK_MAJOR, REMARK_KERNEL_MODE_MAJOR

#endif
