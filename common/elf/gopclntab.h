/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads .gopclntab, the table that Go's linker puts into every program for the Go runtime, and that
 * strip(1) retains: functions with their names, frame sizes, source lines and inlined calls. Go 1.2
 * to 1.27, x86-64 and arm64. The format is internal to Go and changes: src/internal/abi/symtab.go,
 * src/runtime/symtab.go and src/debug/gosym/pclntab.go of the Go release, "Go 1.2 Runtime Symbol
 * Information" by Russ Cox. Files are controlled by the traced side and read as root: every offset
 * is checked, time and memory are linear in the file's size and bounded (256 MiB of table), and a
 * broken entry affects its own function only.
 */
#ifndef GOPCLNTAB_H
#define GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf64.h"

struct go_span {
	const uint8_t *bytes;
	size_t size;
};

struct go_layout; /* format differences between releases */

struct gopclntab {
	const struct go_layout *layout;
	struct elf64 elf; /* copy of the caller's, with its file or image (borrowed) */
	uint8_t *bytes;	  /* the whole table, owned */
	size_t size;
	uint64_t vaddr;
	uint32_t quantum; /* alignment of code addresses, in bytes */
	uint64_t text;	  /* base of functions' offsets; 0: absolute addresses */
	size_t n_funcs;
	struct go_span functab, names, units, files, values;
	uint64_t gofunc;  /* address that offsets of inlined calls are relative to */
	bool has_calls;	  /* inlined calls are available */
	bool is_searched; /* has_calls and gofunc are set */
};

/* Flags of struct go_func, since Go 1.17: functions that stack walks treat specially. */
enum go_flag {
	GO_TOPFRAME = 1, /* outermost: no caller but the kernel */
	GO_SPWRITE = 2,	 /* switches to another stack */
	GO_ASM = 4,	 /* hand-written assembly */
};

/* A function. Offsets are relative to the parts of the table; 0: none. */
struct go_func {
	uint64_t start, end; /* ELF virtual addresses; end exclusive */
	int32_t name;
	int32_t frame_sizes, file_numbers, lines; /* offsets for go_values_begin() */
	uint32_t unit;
	uint8_t id; /* funcID, which identifies special functions of the runtime */
	uint8_t flags;
	uint32_t n_values, n_pointers; /* lengths of the arrays after struct _func */
	size_t values_at, pointers_at; /* offsets of these arrays in functab */
};

/* Iterator over a function's values; each is valid from start to end, exclusive. */
struct go_values {
	struct go_span left;
	uint64_t start, end;
	uint32_t quantum;
	int32_t value;
	bool is_first;
};

struct go_frame {
	const char *function; /* as stored in the table; NULL: broken */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	/* address in the function; in all but the innermost frame, within a call */
	uint64_t pc;
};

/*
 * Reads the table. The caller still owns the file or image, which must outlive g. 0; -ENODATA: not
 * a Go program; -ENOTSUP: unknown layout; -EINVAL: broken; -EFBIG: too large; or -errno of reading.
 * After an error there is nothing to close.
 */
int gopclntab_open(struct gopclntab *g, const struct elf64 *elf);
void gopclntab_close(struct gopclntab *g);

/* Returns true for a Go program with section headers. Doesn't read the table. */
bool gopclntab_exists(const struct elf64 *elf);

/* Reads function i of n_funcs, in ascending order of addresses. False: broken. */
bool gopclntab_func(const struct gopclntab *g, size_t i, struct go_func *f);

/* Finds the function that holds an ELF virtual address. False: none. */
bool gopclntab_find(const struct gopclntab *g, uint64_t vaddr, struct go_func *f);

/* Returns the name at an offset (struct go_func), valid until gopclntab_close(); NULL: broken. */
const char *gopclntab_name(const struct gopclntab *g, int32_t offset);

/*
 * Writes a name of n bytes as the runtime prints it: F[...] for F[int], since type arguments can
 * have any length, spaces and semicolons. to must have space for n + GO_NAME_SPARE bytes. Returns
 * the number of bytes written, without a terminator.
 */
size_t gopclntab_write_name(const struct gopclntab *g, char *to, const char *name, size_t n);

#define GO_NAME_SPARE 3

/* Begins to iterate over a function's values by address. offset: one of struct go_func's. */
struct go_values go_values_begin(const struct gopclntab *g, const struct go_func *f,
				 int32_t offset);

/* Finds the next value. False: no more. Ranges are not empty, but may exceed the function. */
bool go_values_next(struct go_values *v);

/* Returns the source file at an address of the function; NULL: unknown. */
const char *gopclntab_file(const struct gopclntab *g, const struct go_func *f, uint64_t vaddr);

/*
 * Finds the frames at an address, innermost first: functions inlined there, then the compiled one.
 * Writes at most max frames, returns their number; 0: not in a function.
 */
size_t gopclntab_frames(struct gopclntab *g, uint64_t vaddr, struct go_frame *frames, size_t max);

#endif
