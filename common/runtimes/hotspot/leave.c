// SPDX-License-Identifier: GPL-2.0-only
/* Leaves frames from outside by the code that BPF uses, too (abi/hotspot_walk.h); see walk.h. */
#include <stdbool.h>

#include "abi/unwind_layout.h"
#include "base/container.h"
#include "runtimes/hotspot/walk.h"
#include "unwind/unwind_remote.h"
#include "unwind/unwind_tables.h"

#define IN_METHOD 1 /* note: the callee's frame is a method's */

#define unwind_read unwind_remote_read
#include "unwind/walk_outside.h"

#include "abi/hotspot_walk.h"

struct frame {
	struct hotspot_walk walk;
	const struct unwind_tables *tables;
	struct unwind_leaving *leaving;
};

static struct frame *frame_of(struct hotspot_walk *w)
{
	return container_of(w, struct frame, walk);
}

static void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *w, __u64 pc)
{
	(void)s;
	frame_of(w)->leaving->pc = pc;
}

static __u32 hotspot_run_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop, __u32 at)
{
	return hotspot_loop(s, w, loop, at);
}

static const struct unwind_rule *hotspot_find_rule(struct unwind_state *s, struct hotspot_walk *w,
						   __u64 ip)
{
	const struct unwind_mapping mapping = { .pages_start = w->rules.start,
						.first_page = w->rules.first_page,
						.n_pages = w->rules.n_pages };

	(void)s;
	return unwind_tables_find(frame_of(w)->tables, &mapping, ip);
}

static bool read_blob(struct unwind_state *s, struct hotspot_walk *w)
{
	uint64_t block = hotspot_find_block(s, &w->layout, hotspot_blob_address(&w->layout, s->ip));
	uint16_t n = w->layout.blob_bytes;

	return block && n <= HOTSPOT_BLOB_BYTES && unwind_read(s, w->block, n, block) &&
	       hotspot_take_blob(w, block);
}

static int leave_frame(struct unwind_state *s, struct frame *frame)
{
	struct hotspot_walk *w = &frame->walk;

	frame->leaving->note = IN_METHOD;
	if (hotspot_is_interpreter(&w->layout, s->ip) && hotspot_find_interpreted(s, w))
		return hotspot_leave_interpreted(s, w);
	if (!read_blob(s, w))
		return UNWIND_BAD_RULE;
	if (hotspot_is_method(s, w))
		return hotspot_leave_method(s, w);
	frame->leaving->note = 0;
	w->method = 0;
	return hotspot_leave_stub(s, w);
}

/*
 * With a copied stack, the code can't be read, so the walk ends here: compiled methods don't have
 * frame pointers.
 */
int hotspot_leave_remote(const struct unwind_view *view, struct unwind_state *s,
			 struct unwind_leaving *leaving)
{
	struct frame frame = { .tables = view->tables, .leaving = leaving };

	if (!hotspot_has(&view->runtime->hotspot, s->ip))
		return UNWIND_NO_RULE;
	frame.walk.layout = view->runtime->hotspot;
	frame.walk.rules = view->runtime->rules;
	frame.walk.is_called = leaving->note == IN_METHOD;
	return leave_frame(s, &frame);
}
