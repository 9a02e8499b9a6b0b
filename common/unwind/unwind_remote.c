// SPDX-License-Identifier: GPL-2.0-only
/* Walks stacks from outside; see unwind_remote.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/stack.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/mem.h"
#include "base/peek.h"
#include "base/search.h"
#include "process/procstate.h"
#include "unwind/unwind_remote.h"

#define PAGE_BYTES 4096

/* A walk, and a buffer of its latest read, which extends to the end of a page. */
struct remote {
	struct unwind_state state;
	const struct unwind_view *view;
	uint64_t addr;
	size_t n_bytes;
	uint8_t bytes[PAGE_BYTES];
	struct unwind_leaving leaving;
};

static bool is_in_hole(const struct unwind_copy *copy, uint64_t addr)
{
	return copy->holes && copy->holes >> (addr / copy->piece - copy->regs.sp / copy->piece) & 1;
}

static bool read_copy(const struct unwind_copy *copy, void *dst, __u32 size, __u64 addr)
{
	uint64_t at = addr - copy->regs.sp;

	if (at >= copy->n_bytes || size > copy->n_bytes - at)
		return false;
	if (is_in_hole(copy, addr) || is_in_hole(copy, addr + size - 1))
		return false;
	memcpy(dst, copy->bytes + at, size);
	return true;
}

static bool has_read(const struct remote *remote, uint32_t size, uint64_t addr)
{
	uint64_t at = addr - remote->addr;

	return at < remote->n_bytes && size <= remote->n_bytes - at;
}

static bool read_page(struct remote *remote, uint32_t size, uint64_t addr)
{
	remote->addr = addr;
	remote->n_bytes = PAGE_BYTES - addr % PAGE_BYTES;
	if (remote->n_bytes >= size &&
	    peek_all(remote->view->pid, addr, remote->bytes, remote->n_bytes))
		return true;
	remote->n_bytes = 0;
	return false;
}

bool unwind_remote_read(struct unwind_state *s, void *dst, uint32_t size, uint64_t addr)
{
	struct remote *remote = container_of(s, struct remote, state);

	if (remote->view->copy)
		return read_copy(remote->view->copy, dst, size, addr);
	if (!has_read(remote, size, addr) && !read_page(remote, size, addr))
		return peek_all(remote->view->pid, addr, dst, size);
	memcpy(dst, remote->bytes + (addr - remote->addr), size);
	return true;
}

#define unwind_read unwind_remote_read
#include "unwind/walk_outside.h"

static bool find_mapping(const struct unwind_view *view, struct unwind_state *s, uint64_t ip)
{
	size_t i = SEARCH_RANK(view->mappings, view->n_mappings, end, ip);

	if (i == view->n_mappings || ip < view->mappings[i].start)
		return !view->tables;
	s->mapping = view->mappings[i];
	return true;
}

/* ---- one frame ---- */

static bool is_trampoline(const struct unwind_view *view, uint64_t address)
{
	return view->returns && view->returns->trampoline && view->returns->trampoline == address;
}

/* Leaves a return probe's trampoline as BPF does, see struct unwind_returns. */
static int step_from_trampoline(const struct unwind_returns *returns, struct unwind_state *s)
{
	for (size_t i = 0; i < returns->n && i < UNWIND_MAX_RETURNS; i++)
		if (returns->calls[i].sp == s->sp) {
			s->ip = unwind_code_address(returns->calls[i].address);
			return UNWIND_GOES_ON;
		}
	return UNWIND_PROBED;
}

static int step_by_frame_pointer(const struct unwind_view *view, struct unwind_state *s, int reason)
{
	struct unwind_frame_record record;

	if (!unwind_read_frame_record(s, &record) || !record.return_address ||
	    (!find_mapping(view, s, record.return_address - 1) &&
	     !is_trampoline(view, record.return_address)))
		return reason;
	return unwind_follow_record(s, &record);
}

static int step_without_rule(const struct unwind_view *view, struct unwind_state *s)
{
	struct unwind_leaving *leaving = &container_of(s, struct remote, state)->leaving;
	int reason = view->leave ? view->leave(view, s, leaving) : UNWIND_NO_RULE;

	if (reason != UNWIND_NO_RULE)
		return reason;
	leaving->note = 0;
	reason = unwind_by_code(s);
	return reason == UNWIND_NO_RULE ? step_by_frame_pointer(view, s, reason) : reason;
}

/* Notes that frame n was left along its frame pointer, without a rule. */
static void note_framed(const struct unwind_view *view, size_t n)
{
	if (view->framed)
		view->framed[n / STACK_CHUNK] |= 1U << n % STACK_CHUNK;
}

static int find_caller(const struct unwind_view *view, struct unwind_state *s)
{
	uint64_t ip = s->ip - !s->ip_is_exact;
	const struct unwind_rule *rule;

	s->is_framed = false;
	if (view->returns && view->returns->trampoline &&
	    ip - view->returns->trampoline < UNWIND_PROBE_CODE)
		return UNWIND_PROBED;
	if (!view->tables)
		return step_by_frame_pointer(view, s, UNWIND_BY_FP);
	if (!find_mapping(view, s, ip))
		return UNWIND_NO_MAPPING;
	rule = unwind_tables_find(view->tables, &s->mapping, ip);
	if (!rule || rule->kind == UNWIND_GAP)
		return step_without_rule(view, s);
	container_of(s, struct remote, state)->leaving.note = 0;
	if (rule->kind == UNWIND_SP_EXACT)
		return unwind_go_interrupted(s, rule);
	return unwind_is_go(rule) ? unwind_by_go_rule(s, rule) : unwind_by_rule(s, rule);
}

static int step(const struct unwind_view *view, struct unwind_state *s)
{
	int reason = find_caller(view, s);

	return !reason && unwind_is_null(s) ? UNWIND_NULL : reason;
}

/* Writes a frame's word as BPF does, see STACK_EXACT. */
static void note_frame(const struct unwind_state *s, uint64_t *words, size_t i)
{
	words[i] = s->ip;
	if (!i || !s->ip_is_exact)
		return;
	words[i] = stack_mark_exact(words[i]);
	if (s->is_behind_signal)
		words[i - 1] = stack_mark_exact(words[i - 1]);
}

size_t unwind_walk_remote(const struct unwind_view *view, const struct unwind_regs *regs,
			  uint64_t *words, size_t max, int *reason)
{
	struct remote remote;
	struct unwind_state *s = &remote.state;
	size_t n = 0;

	remote.state = (struct unwind_state){ .regs = *regs };
	remote.view = view;
	remote.n_bytes = 0;
	remote.leaving.note = 0;
	unwind_begin(s);
	do {
		if (view->sps)
			view->sps[n] = s->sp;
		if (view->bps)
			view->bps[n] = s->bp;
		note_frame(s, words, n++);
		remote.leaving.pc = 0;
		*reason = n < max ? step(view, s) : UNWIND_DEPTH;
		if (*reason == UNWIND_GOES_ON && s->is_framed)
			note_framed(view, n - 1);
		if (remote.leaving.pc)
			words[n - 1] = remote.leaving.pc;
		if (*reason == UNWIND_GOES_ON && is_trampoline(view, s->ip))
			*reason = step_from_trampoline(view->returns, s);
	} while (*reason == UNWIND_GOES_ON);
	return n;
}

uint64_t unwind_count_arrivals(uint32_t tgid, uint32_t tid)
{
	struct thread_times times;

	return thread_times_read(&times, (pid_t)tgid, (pid_t)tid) ? times.arrivals : UINT64_MAX;
}

static bool is_denied(const struct unwind_thread *thread)
{
	char byte = 0;

	errno = 0;
	return !peek((pid_t)thread->tid, thread->regs.sp, &byte, 1) && errno == EPERM;
}

/*
 * Reads the count of arrivals only after the walk: it has then changed if the thread ran before or
 * during the walk.
 */
size_t unwind_walk_thread(const struct unwind_view *view, const struct unwind_thread *thread,
			  uint64_t *addrs, size_t max, int *reason)
{
	struct unwind_view of_thread = *view;
	size_t n;

	of_thread.pid = (pid_t)thread->tid; /* the main thread may have exited */
	of_thread.returns = &thread->returns;
	n = unwind_walk_remote(&of_thread, &thread->regs, addrs, max, reason);
	if (*reason != UNWIND_COMPLETE && is_denied(thread))
		*reason = UNWIND_DENIED;
	if (unwind_count_arrivals(thread->tgid, thread->tid) == thread->arrivals)
		return n;
	*reason = UNWIND_RAN_ON;
	return 1;
}

struct unwind_copy *unwind_copy_thread(const struct unwind_thread *thread)
{
	struct unwind_copy *copy = mem_zalloc(1, sizeof(*copy) + UNWIND_COPY_LARGE);

	copy->tgid = thread->tgid;
	copy->time_ns = clock_now_ns();
	copy->regs = thread->regs;
	copy->returns = thread->returns;
	copy->n_bytes =
		(uint32_t)peek((pid_t)thread->tid, thread->regs.sp, copy->bytes, UNWIND_COPY_LARGE);
	if (unwind_count_arrivals(thread->tgid, thread->tid) == thread->arrivals)
		return copy;
	free(copy);
	return NULL;
}
