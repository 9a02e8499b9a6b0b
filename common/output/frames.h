/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames of stacks, and a table of distinct frames: equal frames have equal addresses. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/image.h"

enum frame_kind {
	FRAME_USER,
	FRAME_INLINED, /* user code inlined into its caller */
	FRAME_JIT,     /* user code generated at run time */
	FRAME_RUNTIME, /* a managed runtime's function, in place of its interpreter's frame */
	FRAME_KERNEL,
	FRAME_MARK, /* not code: a separator or a remark, such as "--" or "[blocked]" */
};

/*
 * Frames of one function are equal unless they carry a location, so request locations only if
 * needed.
 */
struct frame {
	const char *name;
	enum frame_kind kind;
	uint32_t line;	    /* source line being executed; 0: unknown, or not requested */
	const char *file;   /* source file; NULL: unknown, or not requested */
	const char *symbol; /* the linker's name; NULL: equal to name, unknown or not requested */
	const struct image *image; /* borrowed; NULL: no image, or not requested */
	uint64_t address; /* ELF virtual address in the image; a caller's is inside its call */
};

struct frame_table;

struct frame_table *frame_table_new(void);
void frame_table_free(struct frame_table *table);

/*
 * Returns the table's copy of a frame, with its texts, and counts a user. The copy is freed by
 * frame_table_release() after all users have called frame_release().
 */
const struct frame *frame_table_get(struct frame_table *table, const struct frame *frame);
void frame_release(const struct frame *frame);

/* Frees the frames without users. */
void frame_table_release(struct frame_table *table);

size_t frame_table_count(const struct frame_table *table);

#endif
