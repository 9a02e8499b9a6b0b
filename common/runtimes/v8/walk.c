// SPDX-License-Identifier: GPL-2.0-only
/* Names V8's functions from outside; see walk.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "abi/stack.h"
#include "base/container.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/v8/walk.h"

struct v8_walk;
static bool v8_read(const struct v8_walk *w, void *to, uint32_t size, uint64_t addr);

#include "abi/v8_walk.h"

struct naming {
	struct v8_walk walk;
	pid_t tid;
	const struct runtime_thread *thread;
	uint64_t *words;
	size_t n, max;
	size_t next; /* native frame that continues the segment */
	bool is_full;
};

static bool v8_read(const struct v8_walk *w, void *to, uint32_t size, uint64_t addr)
{
	return peek_all(container_of(w, struct naming, walk)->tid, addr, to, size);
}

/* ---- definitions ---- */

static void seek_text(struct v8_walk *w, uint64_t string)
{
	v8_begin_text(w, string);
	for (int i = 0; i < V8_TEXT_STEPS && v8_step_text(w); i++)
		;
	v8_end_text(w);
}

/* Defines the function in w->shared. */
static void define(struct v8_walk *w, uint32_t tgid)
{
	v8_begin_definition(w, tgid);
	w->def.def.kind = STACK_FUNCTION;
	w->def.def.runtime = RUNTIME_V8;
	seek_text(w, v8_find_name(w));
	v8_end_name(w);
	seek_text(w, v8_find_file(w));
	v8_end_file(w);
}

bool v8_define_remote(pid_t pid, const struct v8_layout *layout, uint64_t shared,
		      struct v8_def *def)
{
	struct naming *naming = mem_zalloc(1, sizeof(*naming));
	struct v8_walk *w = &naming->walk;
	bool is_good;

	naming->tid = pid;
	w->layout = *layout;
	w->number = 1;
	w->shared_at = shared;
	is_good = v8_read_object(w, w->shared, V8_SHARED_BYTES, &w->shared_at) &&
		  v8_is_shared(w, w->shared[0]);
	if (is_good) {
		v8_fingerprint(w);
		define(w, (uint32_t)pid);
		*def = w->def;
	}
	free(naming);
	return is_good;
}

/* ---- frames ---- */

/* Reads the slots of native frame i. False: it has no function. */
static bool read_slots(const struct naming *naming, size_t i, uint64_t slots[V8_SLOTS])
{
	const struct runtime_thread *thread = naming->thread;
	uint64_t at;

	if (i + 1 >= thread->n_native || !(thread->framed[i / STACK_CHUNK] >> i % STACK_CHUNK & 1))
		return false;
	at = thread->sps[i + 1] - V8_FRAME_BYTES;
	return at >= thread->sps[i] &&
	       peek_all(thread->tid, at - V8_BELOW * sizeof(*slots), slots,
			V8_SLOTS * sizeof(*slots)) &&
	       v8_is_object(slots[V8_BELOW + 1]);
}

static void push(struct naming *naming, size_t frame, uint64_t word, uint64_t index)
{
	bool begins = naming->next != frame;

	naming->is_full = naming->n + begins + 1 + (index != 0) > naming->max;
	if (naming->is_full)
		return;
	if (begins)
		naming->words[naming->n++] =
			runtime_segment_word((uint32_t)frame) | RUNTIME_REPLACES;
	naming->words[naming->n++] = word;
	if (index)
		naming->words[naming->n++] = index;
	naming->next = frame + 1;
}

static void name_frame(struct naming *naming, size_t i)
{
	const struct runtime_thread *thread = naming->thread;
	uint64_t slots[V8_SLOTS], fingerprint, index;
	struct v8_walk *w = &naming->walk;

	if (!read_slots(naming, i, slots) || !v8_read_shared(w, slots[V8_BELOW]))
		return;
	fingerprint = v8_fingerprint(w);
	define(w, thread->tgid);
	thread->definer.define(&w->def.def, sizeof(w->def), thread->definer.arg);
	index = i ? 0 : v8_return_of_leaf(w, thread->sps[0], 0 /* x30 is unknown */);
	if (!index && thread->lines)
		index = v8_offset(slots[0]);
	push(naming, i, v8_function_word(fingerprint), index);
}

size_t v8_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
		      bool *is_cut)
{
	struct naming *naming = mem_zalloc(1, sizeof(*naming));
	size_t n;

	naming->tid = thread->tid;
	naming->thread = thread;
	naming->words = words;
	naming->n = thread->n_native;
	naming->max = max;
	naming->next = SIZE_MAX;
	naming->walk.layout = thread->process.v8;
	naming->walk.owner = runtime_mix(thread->process.serial, (uint32_t)thread->tid);
	naming->walk.number = 1;
	for (size_t i = 0; i < thread->n_native && !naming->is_full; i++)
		name_frame(naming, i);
	*is_cut = naming->is_full;
	n = naming->n;
	free(naming);
	return n;
}
