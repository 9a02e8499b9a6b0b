// SPDX-License-Identifier: GPL-2.0-only
/* Names frames from outside; see walk.h. */
#include <stdbool.h>
#include <string.h>

#include "abi/stack.h"
#include "base/peek.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/walk.h"

#define WORD	     8
#define METHOD_BELOW (3 * WORD) /* an interpreted frame's method: bytes below its frame pointer */

struct walk {
	const struct runtime_thread *thread;
	uint64_t *words;
	size_t n, max;
	size_t next_frame; /* native frame that continues the last segment */
	int32_t position;  /* in the current frame's bytecode; negative: unknown, or compiled */
	struct hotspot_def def;
};

static bool name_stub(struct walk *w, const struct hotspot_blob *blob)
{
	w->def.class_bytes = 0;
	w->def.method_bytes = (uint16_t)strlen(blob->name);
	memcpy(w->def.method_name, blob->name, sizeof(blob->name));
	return w->def.method_bytes;
}

static bool name_method(struct walk *w, uint64_t method)
{
	return hotspot_method_define(&w->thread->process.hotspot, w->thread->tid, method, &w->def);
}

/* Finds the method, or the stub, of a native frame, and its name. False: none. */
static bool find_function(struct walk *w, uint64_t pc, uint64_t bp,
			  struct hotspot_compiled *compiled)
{
	const struct hotspot_layout *l = &w->thread->process.hotspot;
	struct hotspot_blob blob;

	*compiled = (struct hotspot_compiled){ .blob = 0 };
	if (pc >= l->interpreter_low && pc < l->interpreter_high) {
		compiled->method = peek_u64(w->thread->tid, bp - METHOD_BELOW);
		return name_method(w, compiled->method);
	}
	if (!hotspot_blob_find(l, w->thread->tid, pc, &blob))
		return false;
	compiled->blob = blob.address;
	if (!strstr(blob.name, "nmethod"))
		return name_stub(w, &blob);
	compiled->method = blob.method;
	compiled->compile_id = blob.compile_id;
	return name_method(w, blob.method);
}

static uint64_t make_fingerprint(const struct runtime_thread *thread,
				 const struct hotspot_compiled *compiled)
{
	uint64_t hash = runtime_mix(thread->process.serial, compiled->method);

	hash = runtime_mix(runtime_mix(hash, compiled->blob), compiled->compile_id);
	return runtime_mix(hash, 1);
}

static void define(struct walk *w, const struct hotspot_compiled *compiled)
{
	struct hotspot_def *def = &w->def;

	def->def.fingerprint = make_fingerprint(w->thread, compiled);
	def->def.word = runtime_word(compiled->blob ? compiled->blob : compiled->method,
				     def->def.fingerprint);
	def->def.kind = STACK_FUNCTION;
	def->def.tgid = w->thread->tgid;
	def->def.runtime = RUNTIME_HOTSPOT;
	def->blob = compiled->blob;
	def->method = compiled->method;
	def->compile_id = compiled->compile_id;
	w->thread->definer.define(&def->def, sizeof(*def), w->thread->definer.arg);
}

/* Returns the position of an interpreted frame in its method's bytecode. */
static int32_t find_position(const struct walk *w, uint64_t method, uint64_t bp)
{
	const struct hotspot_layout *l = &w->thread->process.hotspot;
	pid_t tid = w->thread->tid;
	uint64_t constant = peek_u64(tid, method + l->method_const),
		 at = peek_u64(tid, bp - (uint64_t)l->bcp_words * WORD) - constant - l->const_bytes;

	return at < peek_u16(tid, constant + l->const_code_bytes) ? (int32_t)at : -1;
}

/* Appends a frame's word; a segment's word precedes it if the frame isn't the next one. */
static void append(struct walk *w, size_t frame)
{
	if (w->n + 3 > w->max)
		return;
	if (w->next_frame != frame)
		w->words[w->n++] = runtime_segment_word((uint32_t)frame) | RUNTIME_REPLACES;
	w->words[w->n++] = w->def.def.word;
	if (w->thread->lines && w->position >= 0)
		w->words[w->n++] = (uint64_t)w->position;
	w->next_frame = frame + 1;
}

size_t hotspot_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
			   bool *is_cut)
{
	struct walk w = { .thread = thread,
			  .words = words,
			  .n = thread->n_native,
			  .max = max,
			  .next_frame = SIZE_MAX };
	struct hotspot_compiled compiled;

	*is_cut = false;
	for (size_t i = 0; i < thread->n_native; i++) {
		if (!find_function(&w, stack_address(words[i]), thread->bps[i], &compiled))
			continue;
		w.position =
			compiled.blob ? -1 : find_position(&w, compiled.method, thread->bps[i]);
		define(&w, &compiled);
		append(&w, i);
	}
	return w.n;
}
