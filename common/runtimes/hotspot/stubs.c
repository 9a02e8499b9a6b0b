// SPDX-License-Identifier: GPL-2.0-only
/* Rules of stubs; see stubs.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/unwind_regs.h"
#include "base/mem.h"
#include "base/peek.h"
#include "elf/x86_rows.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/stubs.h"
#include "unwind/code_rows.h"

#define WORD	       8
#define CODE_MAX_BYTES (1U << 20) /* limit per stub */
#define CODE_ALL_BYTES (8U << 20) /* limit of all stubs; a JVM has 1 MB */
#define BLOCKS_MAX     65536

struct visit {
	uint64_t begin;
	const struct runtime_rows *rows;
};

static void add_at(size_t offset, const struct unwind_rule *rule, void *arg)
{
	const struct visit *visit = arg;

	visit->rows->add(visit->begin + offset, rule, visit->rows->arg);
}

/* Returns true for stubs that HotSpot makes one by one in the blob, and that never move rsp. */
static bool is_frameless(const struct hotspot_blob *blob)
{
	return !strcmp(blob->name, "vtable chunks") || !strcmp(blob->name, "InlineCacheBuffer") ||
	       !strcmp(blob->name, "native signature handlers");
}

/* Returns true for the code of exceptions that is jumped to without a frame. */
static bool is_jumped_to(const struct hotspot_blob *blob)
{
	return strstr(blob->name, "xception") && !strstr(blob->name, "throw_") &&
	       !strstr(blob->name, "handle_exception") && !strstr(blob->name, "forward_exception");
}

/*
 * Returns true for stubs that are entered by a call. Others are jumped to from anywhere; adapters
 * move the return address; a continuation's stubs are on another stack.
 */
static bool is_wanted(const struct hotspot_blob *blob)
{
	static const char *const others[] = { "nmethod", "Interpreter",	 "I2C/C2I",    "afepoint",
					      "Deopt",	 "UncommonTrap", "ontinuation" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strstr(blob->name, others[i]))
			return false;
	if (is_jumped_to(blob))
		return false;
	return blob->frame_bytes || strstr(blob->name, "barrier_slow") ||
	       strstr(blob->name, "flush_icache") || strstr(blob->name, "jni_fast_") ||
	       !strncmp(blob->name, "StubRoutines", 12) || is_frameless(blob);
}

/* Reads all code of a stub; NULL: unreadable. */
static uint8_t *read_code(pid_t pid, uint64_t begin, size_t bytes)
{
	uint8_t *code = mem_zalloc(bytes, 1);

	if (peek_all(pid, begin, code, bytes))
		return code;
	free(code);
	return NULL;
}

/* Adds the rules that are derived from a stub's instructions. */
static void add_derived(const struct hotspot_blob *blob, const uint8_t *code, struct visit *visit)
{
	struct x86_code stub = { .code = code,
				 .bytes = blob->end - blob->begin,
				 .has_several = !strncmp(blob->name, "StubRoutines", 12),
				 .begins_framed = strstr(blob->name, "forward_exception"),
				 .has_frame = blob->frame_bytes };
	struct cfi_table rows = {};

	if (!UNWIND_IS_ARM64) {
		x86_rows_derive(&stub, add_at, visit);
		return;
	}
	code_rows_fill_code(&rows, code, stub.bytes);
	for (size_t i = 0; i < rows.count; i++) {
		struct cfi_row row = cfi_row(&rows, i);

		add_at(row.vaddr, &row.rule, visit);
	}
	cfi_free(&rows);
}

/* Adds a stub's rules. */
static void add_stub(const struct hotspot_blob *blob, pid_t pid, const struct runtime_rows *rows)
{
	static const struct unwind_rule gap = { .kind = UNWIND_GAP };
	static const struct unwind_rule at_call = {
		.kind = UNWIND_SP,
		.cfa_off = UNWIND_IS_ARM64 ? 0 : WORD,
		.extra_place = UNWIND_IS_ARM64 ? UNWIND_RA_IN_LINK : 0,
	};
	size_t bytes = blob->end - blob->begin;
	struct visit visit = { blob->begin, rows };
	uint8_t *code = bytes <= CODE_MAX_BYTES ? read_code(pid, blob->begin, bytes) : NULL;

	if (is_frameless(blob))
		add_at(0, &at_call, &visit);
	else if (code)
		add_derived(blob, code, &visit);
	add_at(bytes, &gap, &visit);
	free(code);
}

/* Returns true for a stub that gets rules, and subtracts its bytes from those that are left. */
static bool take_stub(const struct hotspot_blob *blob, const struct hotspot_heap *heap,
		      uint64_t *left)
{
	uint64_t bytes = blob->end - blob->begin;

	if (!blob->is_used || !is_wanted(blob) || blob->end > heap->high || bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

void hotspot_stubs_visit(const struct hotspot_layout *layout, pid_t pid,
			 const struct runtime_rows *rows)
{
	const struct hotspot_heap *heap = hotspot_blob_heap(layout, layout->interpreter_low);
	uint64_t at = heap ? heap->low : 0, left = CODE_ALL_BYTES;
	struct hotspot_blob blob = {};

	for (size_t i = 0; heap && i < BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(layout, pid, &at, heap->high, &blob))
			break;
		if (take_stub(&blob, heap, &left))
			add_stub(&blob, pid, rows);
	}
}
