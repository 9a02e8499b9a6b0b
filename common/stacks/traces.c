// SPDX-License-Identifier: GPL-2.0-only
/* Stacks by their places in files; see traces.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/background.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtimes/python_codes.h"
#include "stacks/places.h"
#include "stacks/python_places.h"
#include "stacks/traces.h"
#include "symbols/debuginfod.h"
#include "symbols/ksyms.h"

struct traces {
	struct hashtable table; /* by id */
	struct processes *processes;
	struct usyms *usyms;
	struct python_codes *codes;
	struct background *background;
	struct places *places;
	const struct frame **frames; /* of the trace that was asked for last, root first */
	size_t frames_cap;
	uint32_t n_reports;
};

static struct usyms *new_usyms(struct processes *processes, const struct dso_options *options,
			       struct background *background)
{
	struct dso_options with = {};

	if (options)
		with = *options;
	with.background = background;
	return usyms_new(processes, &with);
}

struct traces *traces_new(struct processes *processes, const struct dso_options *options)
{
	struct traces *traces = mem_zalloc(1, sizeof(*traces));

	traces->processes = processes;
	traces->background = background_new();
	traces->usyms = new_usyms(processes, options, traces->background);
	traces->codes = python_codes_new();
	traces->places = places_new(traces->usyms, options && options->places);
	return traces;
}

static void free_trace(struct trace *trace)
{
	free(trace->file);
	free(trace);
}

static void free_link(struct hashlink *link, void *arg)
{
	(void)arg;
	free_trace(container_of(link, struct trace, link));
}

void traces_free(struct traces *traces)
{
	if (!traces)
		return;
	debuginfod_stop();
	background_free(traces->background);
	hashtable_free(&traces->table, free_link, NULL);
	places_free(traces->places);
	usyms_free(traces->usyms);
	python_codes_free(traces->codes);
	free(traces->frames);
	free(traces);
}

void traces_set_kernelnames(struct traces *traces, struct kernelnames *names)
{
	places_set_kernelnames(traces->places, names);
}

void traces_set_own(struct traces *traces, uint64_t *programs, size_t n)
{
	places_set_own(traces->places, programs, n);
}

struct frame_table *traces_frame_table(struct traces *traces)
{
	return places_frame_table(traces->places);
}

/* ---- the table ---- */

static struct trace *find_id(const struct traces *traces, uint64_t id)
{
	struct hashlink *link = hashtable_first(&traces->table, id);

	return link ? container_of(link, struct trace, link) : NULL; /* ids are unique */
}

struct trace *traces_find(struct traces *traces, uint64_t id)
{
	struct trace *trace = find_id(traces, id);

	if (trace)
		trace->last_used = traces->n_reports;
	return trace;
}

static size_t places_bytes(uint32_t n)
{
	return n * sizeof(struct known_place *);
}

static bool is_same(const struct trace *a, const struct trace *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->n == b->n &&
	       a->flaw.runtime == b->flaw.runtime &&
	       !memcmp(a->waker, b->waker, sizeof(a->waker)) &&
	       !memcmp(a->places, b->places, places_bytes(a->n));
}

static uint64_t hash_trace(const struct trace *t)
{
	uint64_t hash = hash_words(t->waker, ARRAY_SIZE(t->waker));

	hash = hash_add(hash, (uint64_t)t->kind << 32 | t->reason);
	for (uint32_t i = 0; i < t->n; i++)
		hash = hash_add(hash, (uintptr_t)t->places[i]);
	return hash;
}

static void release_places(struct traces *traces, const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->n; i++)
		places_release(traces->places, trace->places[i]);
}

static struct trace *add_trace(struct traces *traces, const struct trace *draft, uint64_t id)
{
	struct trace *trace = mem_zalloc(1, sizeof(*trace) + places_bytes(draft->n));

	memcpy(trace, draft, sizeof(*draft) + places_bytes(draft->n));
	trace->id = id;
	if (draft->flaw.file)
		trace->flaw.file = trace->file = mem_strdup(draft->flaw.file);
	hashtable_add(&traces->table, &trace->link, id);
	return trace;
}

/* Returns the one that has the same places, or a copy of this one, whose places are taken over. */
static struct trace *intern_trace(struct traces *traces, const struct trace *draft)
{
	uint64_t id = hash_trace(draft) | STACK_ID_FOLDED;
	struct trace *trace;

	while ((trace = find_id(traces, id)) && !is_same(trace, draft))
		id = (id + 1) | STACK_ID_FOLDED;
	if (trace)
		release_places(traces, draft);
	else
		trace = add_trace(traces, draft, id);
	trace->last_used = traces->n_reports;
	return trace;
}

static bool is_return_address(const struct stack_def *def, uint32_t i)
{
	return i > 0 &&
	       !stack_is_exact(def->words[i]); // cppcheck-suppress arrayIndexOutOfBoundsCond
}

static void locate(struct traces *traces, const struct stack_def *def, uint32_t n,
		   struct place *places)
{
	struct location locations[STACK_DEPTH];
	uint64_t addrs[STACK_DEPTH];

	for (uint32_t i = 0; i < n; i++)
		addrs[i] = stack_address(def->words[i]);
	usyms_locate(traces->usyms, (pid_t)def->tgid, def->generation, def->time_ns, addrs, n,
		     locations);
	for (uint32_t i = 0; i < n; i++) {
		places[i] = (struct place){ .location = locations[i],
					    .is_return = is_return_address(def, i) };
		usyms_settle(&places[i].location, places[i].is_return, def->map_size);
	}
}

/* Finds the stack's flaw, and which of its code a known runtime has made. */
static void find_flaw(struct traces *traces, const struct stack_def *def, uint32_t n,
		      struct place *places, struct stack_flaw *flaw)
{
	*flaw = stack_flaw_find(traces->processes, def, places, n);
	for (uint32_t i = 0; flaw->runtime && i < n; i++)
		places[i].is_made = usyms_is_made(&places[i].location);
}

static uint32_t find_user(struct traces *traces, const struct stack_def *def, struct place *places,
			  struct stack_flaw *flaw)
{
	struct place native[STACK_DEPTH];
	uint32_t n = python_places_native(def);
	bool has_python = n < def->n_words;

	locate(traces, def, n, has_python ? native : places);
	find_flaw(traces, def, n, has_python ? native : places, flaw);
	return has_python ? python_places_merge(traces->codes, def, native, places) : n;
}

/* A return address is in the call before it. */
static uint32_t find_kernel(const struct stack_def *def, struct place *places)
{
	for (uint32_t i = 0; i < def->n_words; i++)
		places[i] = (struct place){ .location.offset = def->words[i],
					    .is_kernel = true,
					    .is_return = i > 0 };
	return def->n_words;
}

static void take_places(struct traces *traces, const struct stack_def *def, struct trace *draft)
{
	struct place places[STACK_WORDS];

	draft->n = def->kind == STACK_USER ? find_user(traces, def, places, &draft->flaw)
					   : find_kernel(def, places);
	for (uint32_t i = 0; i < draft->n; i++) {
		draft->places[i] = places_get(traces->places, &places[i]);
		if (places[i].location.made) /* while its perf map says so */
			place_look_up(traces->places, draft->places[i]);
	}
}

struct python_codes *traces_codes(struct traces *traces)
{
	return traces->codes;
}

struct trace *traces_add(struct traces *traces, const struct stack_def *def)
{
	struct trace *draft = mem_zalloc(1, sizeof(*draft) + places_bytes(def->n_words)), *trace;

	draft->kind = def->kind;
	draft->reason = def->reason;
	if (def->kind == STACK_WAKER)
		memcpy(draft->waker, def->words, sizeof(draft->waker));
	else
		take_places(traces, def, draft);
	trace = intern_trace(traces, draft);
	free(draft);
	return trace;
}

struct trace *traces_add_waker(struct traces *traces, const uint64_t words[WAKER_WORDS])
{
	struct trace draft = { .kind = STACK_WAKER };

	memcpy(draft.waker, words, sizeof(draft.waker));
	return intern_trace(traces, &draft);
}

void traces_preload(struct traces *traces, pid_t pid, uint32_t generation)
{
	usyms_preload(traces->usyms, pid, generation);
}

/* Evicts interned stacks that neither a definition nor the last two reports needed. */
static void release(struct hashlink *link, void *arg)
{
	struct trace *trace = container_of(link, struct trace, link);
	struct traces *traces = arg;

	if (trace->n_users || trace->last_used + 1 >= traces->n_reports)
		return;
	hashtable_remove(&traces->table, link);
	release_places(traces, trace);
	free_trace(trace);
}

static void keep_places(void *arg)
{
	places_keep(((struct traces *)arg)->places);
}

static void look_up_leaving(void *arg)
{
	places_look_up_leaving(((struct traces *)arg)->places);
}

void traces_release_files(struct traces *traces)
{
	usyms_release_files(traces->usyms, look_up_leaving, traces);
}

void traces_end_report(struct traces *traces)
{
	traces->n_reports++;
	hashtable_visit(&traces->table, release, traces);
	places_end_report(traces->places); /* frames are gone before the images that they are in */
	usyms_end_report(traces->usyms, keep_places, traces);
}

/* ---- frames ---- */

struct dso_stats traces_stats(const struct traces *traces)
{
	return usyms_stats(traces->usyms);
}

void traces_look_up(struct traces *traces, void (*meanwhile)(void *arg), void *arg)
{
	places_look_up(traces->places, meanwhile, arg);
}

/*
 * The one place where the tracer's own frames, which lie on top of a kernel stack, are trimmed: its
 * programs with all they call, and below them what the kernel runs them with.
 */
static uint32_t count_tracer_frames(const struct trace *trace)
{
	uint32_t first = trace->n;

	while (first > 0 && !trace->places[first - 1]->is_own)
		first--;
	while (first < trace->n && ksym_is_tracer(trace->places[first]->frames[0]->name))
		first++;
	return first;
}

static void look_up(struct traces *traces, struct trace *trace)
{
	bool is_answered = true;

	for (uint32_t i = 0; i < trace->n; i++) {
		place_look_up(traces->places, trace->places[i]);
		is_answered &= !trace->places[i]->is_unanswered;
	}
	if (trace->kind == STACK_KERNEL && !trace->is_trimmed)
		trace->n_trimmed = count_tracer_frames(trace);
	trace->is_trimmed = is_answered;
}

static void append_frame(struct traces *traces, size_t n, const struct frame *frame)
{
	traces->frames = mem_grow(traces->frames, n, &traces->frames_cap, sizeof(*traces->frames));
	traces->frames[n] = frame;
}

/* Root first, whereas places and the functions inlined at one are leaf first. */
const struct frame *const *trace_frames(struct traces *traces, struct trace *trace, size_t *n)
{
	look_up(traces, trace);
	*n = 0;
	append_frame(traces, *n, NULL); /* so that an empty list is not NULL */
	for (uint32_t i = trace->n; i-- > trace->n_trimmed;) {
		const struct known_place *place = trace->places[i];

		for (size_t k = place->n_frames; k-- > 0;)
			append_frame(traces, (*n)++, place->frames[k]);
	}
	return traces->frames;
}
