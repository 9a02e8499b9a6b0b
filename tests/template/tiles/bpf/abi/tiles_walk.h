/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and leaves a frame of tiles: the same code in the kernel and in the loader. */
#ifndef ABI_TILES_WALK_H
#define ABI_TILES_WALK_H

#include "abi/runtimes.h"
#include "abi/stack.h"
#include "abi/unwind_step.h"

static inline bool tiles_has(const struct tiles_layout *layout, __u64 ip)
{
	return ip >= layout->low && ip < layout->high;
}

static inline __u64 tiles_at(__u64 ip)
{
	return ip & ~(TILES_BYTES - 1ULL);
}

/* Makes the definition of the tile whose head has been read. */
static inline void tiles_define(struct tiles_walk *w, __u64 serial, __u64 at, __u32 tgid,
				__u32 runtime)
{
	__u64 fingerprint = runtime_mix(serial, at);

	for (int i = 0; i < TILES_NAME_BYTES / 8; i++)
		fingerprint = runtime_mix(fingerprint, ((__u64 *)w->head.name)[i]);
	w->def.def.word = runtime_word(at, fingerprint);
	w->def.def.kind = STACK_FUNCTION;
	w->def.def.tgid = tgid;
	w->def.def.fingerprint = fingerprint;
	w->def.def.runtime = runtime;
	__builtin_memcpy(w->def.name, w->head.name, sizeof(w->def.name));
}

/* Leaves a frame at a call; an interrupted frame may be incomplete. */
static inline int tiles_leave(struct unwind_state *s, const struct tiles_head *head)
{
	struct unwind_frame_record saved;
	__u64 cfa = s->sp + head->frame_bytes;

	unwind_depend(s);
	if (s->ip_is_exact || head->frame_bytes > TILES_MOST_BYTES)
		return UNWIND_BAD_RULE;
	if (!unwind_read(s, &saved, sizeof(saved), cfa - sizeof(saved)))
		return UNWIND_FAULT;
	s->bp_at = cfa - sizeof(saved);
	return unwind_arrive(s, saved.return_address, cfa, saved.bp);
}

#endif
