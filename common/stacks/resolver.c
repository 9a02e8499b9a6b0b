// SPDX-License-Identifier: GPL-2.0-only
/* Stack definitions and interned stacks; see resolver.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "abi/runtime.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/epoch.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/msg.h"
#include "output/frames.h"
#include "runtimes/meanings.h"
#include "stacks/places.h"
#include "stacks/resolver.h"
#include "symbols/interrupts.h"
#include "symbols/ksyms.h"
#include "symbols/usyms.h"

/* ---- stack flaw ---- */

/* Returns true if the walk stopped because of the code that it reached. */
static bool is_cut(uint32_t reason)
{
	return reason == UNWIND_NO_RULE || reason == UNWIND_NO_MAPPING ||
	       reason == UNWIND_BAD_RULE || reason == UNWIND_FAULT || reason == UNWIND_NO_PROGRESS;
}

static const struct runtime *find_runtime(struct processes *processes, const struct stack_def *def)
{
	uint64_t time_ns = def->time_ns ? def->time_ns : clock_now_ns();
	struct maps *maps = processes_look(processes, (pid_t)def->tgid, def->generation, time_ns);
	const struct runtime *runtime = maps ? runtime_find(maps) : NULL;

	maps_release(maps);
	return runtime;
}

/* Finds the flaw of a stack whose outermost location is in a file. */
static struct stack_flaw flaw_of_file(const struct stack_def *def, const struct location *last)
{
	struct stack_flaw flaw = {};

	if (def->reason != UNWIND_NO_RULE || !last->dso)
		return flaw;
	flaw.kind = FLAW_CUT;
	flaw.file = usyms_dso_name(last);
	flaw.err = usyms_error(last);
	return flaw;
}

/*
 * Finds the flaw of a user stack with these n native locations, leaf first. is_named: a runtime's
 * function replaces the frame; then other frames are not a flaw, since no option names them. The
 * file's name belongs to the location, see usyms_dso_name().
 */
static struct stack_flaw stack_flaw_find(struct processes *processes, const struct stack_def *def,
					 const struct place *places, const bool *is_named,
					 uint32_t n)
{
	bool has_made = false, has_unnamed = false, has_functions = false;
	struct stack_flaw flaw = {};

	if (n && !usyms_is_made(&places[n - 1].location))
		flaw = flaw_of_file(def, &places[n - 1].location);
	for (uint32_t i = 0; i < n; i++) {
		bool is_made = usyms_is_made(&places[i].location);

		has_made |= is_made;
		has_functions |= is_named[i];
		has_unnamed |= is_made && !is_named[i] && !usyms_is_jit(&places[i].location);
	}
	if (!has_made || flaw.kind)
		return flaw;
	flaw.runtime = find_runtime(processes, def);
	flaw.has_names = !has_unnamed;
	if (is_cut(def->reason) && usyms_is_made(&places[n - 1].location))
		flaw.kind = FLAW_CUT;
	else if (has_unnamed && !has_functions)
		flaw.kind = FLAW_UNNAMED;
	return flaw;
}

/* ---- functions of runtimes ---- */

/*
 * Maximum number of a stack's locations with inlined functions; further frames of managed code have
 * only their own function. A process that lies may have RUNTIME_MAX_CALLS in each frame.
 */
#define MANY_PLACES 1024

/* Locations of a stack, leaf first. */
struct place_list {
	struct place *items;
	size_t n, cap;
};

static void append_place(struct place_list *list, struct place place)
{
	*MEM_APPEND(list->items, list->n, list->cap) = place;
}

/* The words of a stack that have not been converted to locations yet. */
struct rest {
	struct meanings *meanings;
	const struct stack_def *def;
	struct runtime_instance *instance; /* the process's runtime; NULL: none, or it has exited */
	const struct place *native;	   /* locations of the native frames */
	uint32_t n_native;
	uint32_t at;		      /* index of the next word */
	uint32_t begins[STACK_WORDS]; /* indices of segments' words, ordered by native frame */
	uint32_t n_begins, next;
	struct place_list *out;
};

uint32_t stack_count_native(const struct stack_def *def)
{
	uint32_t n = 0;

	while (n < def->n_words && n < STACK_DEPTH && !runtime_is_word(def->words[n]))
		n++;
	return n;
}

static uint32_t frame_of(const struct rest *r, uint32_t segment)
{
	return runtime_segment_frame(r->def->words[r->begins[segment]]);
}

/*
 * Inserts a segment in order of native frames. Segments come in order per interpreter state, but a
 * thread may have several states, one after another.
 */
static void add_segment(struct rest *r, uint32_t word)
{
	uint32_t i = r->n_begins++, frame = runtime_segment_frame(r->def->words[word]);

	for (; i && frame_of(r, i - 1) > frame; i--)
		r->begins[i] = r->begins[i - 1];
	r->begins[i] = word;
}

/* Returns the next segment's native frame; UINT32_MAX: no segment. */
static uint32_t next_frame(const struct rest *r)
{
	return r->next < r->n_begins ? frame_of(r, r->next) : UINT32_MAX;
}

static bool is_at_function(const struct rest *r)
{
	return r->at < r->def->n_words && runtime_is_word(r->def->words[r->at]) &&
	       !runtime_is_segment(r->def->words[r->at]);
}

/* Consumes a function's word, and that of its position, if present. */
static struct runtime_position take_position(struct rest *r)
{
	struct runtime_position position = { .word = r->def->words[r->at++] };

	if (r->at < r->def->n_words && !runtime_is_word(r->def->words[r->at])) {
		position.has_index = true;
		position.index = r->def->words[r->at++];
	}
	return position;
}

static void append_calls(struct rest *r, const struct runtime_position *position)
{
	struct runtime_instance *instance = r->out->n < MANY_PLACES ? r->instance : NULL;
	struct runtime_call calls[RUNTIME_MAX_CALLS];
	size_t n = meanings_resolve(r->meanings, instance, (pid_t)r->def->tgid, position, calls);

	for (size_t i = 0; i < n; i++)
		append_place(r->out, (struct place){ .function = calls[i].function,
						     .line = calls[i].line,
						     .is_inlined = i + 1 < n });
}

/* Appends functions in place of the native frame that runs them. */
static void append_segment(struct rest *r)
{
	struct runtime_position position;

	r->at = r->begins[r->next++] + 1;
	while (is_at_function(r)) {
		position = take_position(r);
		append_calls(r, &position);
	}
}

static bool is_replacing(const struct rest *r)
{
	return runtime_segment_replaces(r->def->words[r->begins[r->next]]);
}

/* Appends functions in place of native frames, from frame i on. Returns the next native frame. */
static uint32_t append_replaced(struct rest *r, uint32_t i)
{
	struct runtime_position position;

	r->at = r->begins[r->next++] + 1;
	for (; i < r->n_native && is_at_function(r); i++) {
		position = take_position(r);
		position.pc = stack_address(r->def->words[i]);
		position.is_return = r->native[i].is_return;
		position.is_made = usyms_is_made(&r->native[i].location);
		append_calls(r, &position);
	}
	return i;
}

/* Lists the segments in order. */
static void list_segments(struct rest *r)
{
	for (uint32_t i = r->n_native; i < r->def->n_words; i++)
		if (runtime_is_segment(r->def->words[i]))
			add_segment(r, i);
}

/* Appends the locations of all frames: native frames, or the functions that they run. */
static void merge_functions(struct rest *r)
{
	for (uint32_t i = 0; i < r->n_native;) {
		uint32_t frame = next_frame(r);

		if (frame > i) {
			append_place(r->out, r->native[i++]);
		} else if (!is_replacing(r)) {
			append_segment(r);
			i += frame == i && next_frame(r) != i;
		} else if (frame == i) {
			i = append_replaced(r, i);
		} else {
			r->next++; /* overlaps another segment: malformed */
		}
	}
	while (r->next < r->n_begins)
		append_segment(r);
}

/* Marks the native frames that are replaced. */
static void mark_replaced(const struct stack_def *def, uint32_t n_native, bool *is_replaced)
{
	uint32_t frame = UINT32_MAX;

	for (uint32_t i = n_native; i < def->n_words; i++) {
		uint64_t word = def->words[i];

		if (runtime_is_segment(word))
			frame = runtime_segment_replaces(word) ? runtime_segment_frame(word)
							       : UINT32_MAX;
		else if (runtime_is_word(word) && frame < n_native)
			is_replaced[frame++] = true;
	}
}

/* ---- interned stacks ---- */

/*
 * Interned stacks: sequences of locations in files, shared by all processes that run the same code,
 * and not tied to their lifetime. Names are looked up on demand.
 */

#define WAKER_WORDS  4 /* number of words of STACK_WAKER */
#define WAKER_STACKS 2 /* number of stack ids among them: the first words */

struct interned_stack {
	struct hashlink link;	 /* hashed by id, with STACK_ID_FOLDED */
	struct stack_flaw *flaw; /* flaw of a user stack; NULL: none */
	uint32_t n_users;	 /* number of definitions that refer to the stack */
	uint8_t kind, reason;
	bool is_trimmed, is_retained;
	uint16_t n_trimmed; /* number of the tracer's own locations at the leaf */
	uint16_t n;
	/* numbers of n places, leaf first; of a STACK_WAKER its words */
	_Alignas(uint64_t) uint32_t places[];
};

/*
 * A process's definition of a stack; refers to an interned stack. The definitions of a process are
 * in a list, to be released when the process has exited.
 */
struct definition {
	struct hashlink link; /* hashed by id */
	struct interned_stack *stack;
	struct definition *next; /* next definition of the same process */
	uint32_t used_age;
	bool is_leaving; /* passed to forgotten(); released unless BPF sends the definition again */
};

struct owner {
	struct hashlink link; /* hashed by pid */
	pid_t pid;
	struct definition *first;
	struct owner *next; /* next owner that has exited */
	uint32_t ended_turn;
};

struct resolver {
	struct hashtable stacks; /* hashed by id */
	struct hashtable definitions, owners;
	struct owner *ended, **ended_tail;
	uint32_t n_turns, age; /* n_turns counts drains; age counts drains or windows */
	bool by_window;
	struct processes *processes;
	struct usyms *usyms;
	struct meanings *meanings;
	struct runtime_instance *(*find_runtime)(pid_t pid, void *arg); /* see resolver_options */
	void *runtimes;
	struct places *places;
	const struct frame **frames; /* frames of the interned stack requested last, root first */
	size_t frames_cap;
	struct place_list found; /* locations of the stack that is being added */
	uint32_t epoch;
	uint64_t epoch_ns; /* beginning of the epoch (CLOCK_MONOTONIC) */
};

struct resolver *resolver_new(struct processes *processes, const struct resolver_options *options)
{
	static const struct resolver_options defaults;
	struct resolver *resolver = mem_zalloc(1, sizeof(*resolver));

	options = options ? options : &defaults;
	resolver->processes = processes;
	resolver->by_window = options->by_window;
	resolver->ended_tail = &resolver->ended;
	resolver->epoch_ns = clock_now_ns();
	resolver->usyms = usyms_new(processes, &options->symbols);
	resolver->meanings = meanings_new();
	resolver->find_runtime = options->find_runtime;
	resolver->runtimes = options->arg;
	resolver->places = places_new(resolver->usyms, options->symbols.places);
	places_set_kernelnames(resolver->places, options->kernelnames);
	return resolver;
}

void resolver_set_own(struct resolver *resolver, uint64_t *programs, size_t n)
{
	places_set_own(resolver->places, programs, n);
}

static void free_stack(struct interned_stack *stack)
{
	if (stack->flaw)
		free((char *)stack->flaw->file);
	free(stack->flaw);
	free(stack);
}

static void free_link(struct hashlink *link)
{
	free_stack(container_of(link, struct interned_stack, link));
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	for (struct owner *owner = resolver->ended, *next; owner; owner = next) {
		next = owner->next;
		free(owner);
	}
	hashtable_free(&resolver->definitions, hashlink_free);
	hashtable_free(&resolver->owners, hashlink_free);
	hashtable_free(&resolver->stacks, free_link);
	places_free(resolver->places);
	usyms_free(resolver->usyms);
	meanings_free(resolver->meanings);
	free(resolver->found.items);
	free(resolver->frames);
	free(resolver);
}

/* ---- the table ---- */

static struct interned_stack *find_id(const struct resolver *resolver, uint64_t id)
{
	return HASHTABLE_FIRST(struct interned_stack, link, &resolver->stacks,
			       id); /* ids are unique */
}

static const uint64_t *waker_of(const struct interned_stack *stack)
{
	return stack->kind == STACK_WAKER ? (const void *)stack->places : NULL;
}

static size_t words_bytes(const struct interned_stack *stack)
{
	return stack->kind == STACK_WAKER ? WAKER_WORDS * sizeof(uint64_t)
					  : stack->n * sizeof(stack->places[0]);
}

static const struct runtime *runtime_of(const struct interned_stack *stack)
{
	return stack->flaw ? stack->flaw->runtime : NULL;
}

static bool is_same(const struct interned_stack *a, const struct interned_stack *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->n == b->n &&
	       runtime_of(a) == runtime_of(b) && !memcmp(a->places, b->places, words_bytes(a));
}

static uint64_t hash_stack(const struct interned_stack *t)
{
	uint64_t hash = hash_add(0, (uint64_t)t->kind << 32 | t->reason);

	if (t->kind == STACK_WAKER)
		return hash_add(hash, hash_words(waker_of(t), WAKER_WORDS));
	for (uint32_t i = 0; i < t->n; i++)
		hash = hash_add(hash, t->places[i]);
	return hash;
}

static struct known_place *place_of(const struct resolver *resolver,
				    const struct interned_stack *stack, uint32_t i)
{
	return places_at(resolver->places, stack->places[i]);
}

static void release_places(struct resolver *resolver, const struct interned_stack *stack)
{
	for (uint32_t i = 0; i < stack->n; i++)
		places_release(resolver->places, place_of(resolver, stack, i));
}

static struct stack_flaw *copy_flaw(const struct stack_flaw *flaw)
{
	struct stack_flaw *copy = mem_zalloc(1, sizeof(*copy));

	*copy = *flaw;
	copy->file = flaw->file ? mem_strdup(flaw->file) : NULL;
	return copy;
}

/* Returns a stack without words, with space for words of `bytes` bytes in total. */
static struct interned_stack *new_stack(uint32_t kind, uint32_t reason, size_t bytes)
{
	struct interned_stack *stack = mem_zalloc(1, sizeof(*stack) + bytes);

	stack->kind = (uint8_t)kind;
	stack->reason = (uint8_t)reason;
	return stack;
}

static struct interned_stack *add_stack(struct resolver *resolver, struct interned_stack *draft,
					uint64_t id)
{
	if (draft->flaw)
		draft->flaw = copy_flaw(draft->flaw);
	hashtable_add(&resolver->stacks, &draft->link, id);
	return draft;
}

/* Returns the interned stack equal to the draft, which is freed, or adds the draft. */
static struct interned_stack *intern_stack(struct resolver *resolver, struct interned_stack *draft)
{
	uint64_t id = hash_stack(draft) | STACK_ID_FOLDED;
	struct interned_stack *stack;

	while ((stack = find_id(resolver, id)) && !is_same(stack, draft))
		id = (id + 1) | STACK_ID_FOLDED;
	if (stack) {
		release_places(resolver, draft);
		free(draft);
	} else {
		stack = add_stack(resolver, draft, id);
	}
	return stack;
}

static bool is_return_address(const struct stack_def *def, uint32_t i)
{
	return i > 0 &&
	       !stack_is_exact(def->words[i]); // cppcheck-suppress arrayIndexOutOfBoundsCond
}

static void locate(struct resolver *resolver, const struct stack_def *def, uint32_t n,
		   struct place *places)
{
	struct location locations[STACK_DEPTH];
	uint64_t addrs[STACK_DEPTH] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		addrs[i] = stack_address(def->words[i]);
	usyms_locate(resolver->usyms, (pid_t)def->tgid, def->generation, def->time_ns, addrs, n,
		     locations);
	for (uint32_t i = 0; i < n; i++) {
		places[i] = (struct place){ .location = locations[i],
					    .is_return = is_return_address(def, i) };
		usyms_settle(&places[i].location, places[i].is_return, def->map_size);
	}
}

/* Finds the stack's flaw, and marks code made by a known runtime. */
static void find_flaw(struct resolver *resolver, const struct stack_def *def, uint32_t n,
		      struct place *places, struct stack_flaw *flaw)
{
	bool is_named[STACK_DEPTH] = { false };

	mark_replaced(def, n, is_named);
	*flaw = stack_flaw_find(resolver->processes, def, places, is_named, n);
	for (uint32_t i = 0; flaw->runtime && i < n; i++)
		places[i].is_made = usyms_is_made(&places[i].location);
}

/*
 * Limit of the CPU time in which functions of one process are resolved: its memory may be forged so
 * that each takes long.
 */
#define EFFORT_NS	 (2 * NS_PER_S)
#define EFFORT_PERIOD_NS (8 * NS_PER_S)

/*
 * Returns the runtime of a stack's process; NULL: none, or its CPU time for this period is used up.
 */
static struct runtime_instance *find_resolved(struct resolver *resolver,
					      const struct stack_def *def)
{
	struct runtime_instance *instance =
		resolver->runtimes ? resolver->find_runtime((pid_t)def->tgid, resolver->runtimes)
				   : NULL;
	struct rate_limit *effort = instance ? &instance->effort : NULL;

	if (!instance)
		return NULL;
	if (!effort->amount)
		*effort = (struct rate_limit){ EFFORT_NS, EFFORT_PERIOD_NS, 0, 0 };
	return rate_limit_take(effort, 1, clock_now_ns()) ? instance : NULL;
}

static void charge(struct runtime_instance *instance, uint64_t spent_ns)
{
	if (rate_limit_take(&instance->effort, spent_ns, clock_now_ns()))
		return;
	instance->effort.left = 0;
	if (!instance->is_slow)
		msg_info("%s (PID %d): resolving its functions takes too long (some inlined "
			 "functions and lines are omitted)",
			 instance->file->title, instance->pid);
	instance->is_slow = true;
}

static void find_functions(struct resolver *resolver, const struct stack_def *def,
			   const struct place *native, uint32_t n, struct place_list *list)
{
	struct rest r = { .meanings = resolver->meanings,
			  .def = def,
			  .native = native,
			  .n_native = n,
			  .out = list };
	uint64_t begin_ns = clock_thread_ns();

	r.instance = find_resolved(resolver, def);
	list_segments(&r);
	merge_functions(&r);
	if (r.instance)
		charge(r.instance, clock_thread_ns() - begin_ns);
}

static void find_user(struct resolver *resolver, const struct stack_def *def,
		      struct place_list *list, struct stack_flaw *flaw)
{
	struct place native[STACK_DEPTH];
	uint32_t n = stack_count_native(def);

	locate(resolver, def, n, native);
	find_flaw(resolver, def, n, native, flaw);
	if (n < def->n_words)
		find_functions(resolver, def, native, n, list);
	for (uint32_t i = 0; n == def->n_words && i < n; i++)
		append_place(list, native[i]);
}

/* Locates kernel addresses. All but the leaf are return addresses. */
static void find_kernel(const struct stack_def *def, struct place_list *list)
{
	for (uint32_t i = 0; i < def->n_words; i++)
		append_place(list, (struct place){ .location.offset = def->words[i],
						   .is_kernel = true,
						   .is_return = i > 0 });
}

static void take_places(struct resolver *resolver, const struct place_list *list,
			struct interned_stack *draft)
{
	for (; draft->n < list->n; draft->n++) {
		const struct place *place = &list->items[draft->n];
		struct known_place *known = places_get(resolver->places, place);

		draft->places[draft->n] = known->number;
		if (place->function)
			runtime_function_release(place->function);
		if (place->location.made) /* the name is valid for this perf map's size */
			place_look_up(resolver->places, known);
	}
}

static struct interned_stack *intern_waker(struct resolver *resolver, const void *words)
{
	size_t bytes = WAKER_WORDS * sizeof(uint64_t);
	struct interned_stack *draft = new_stack(STACK_WAKER, 0, bytes);

	memcpy(draft->places, words, bytes);
	return intern_stack(resolver, draft);
}

/* Interns a definition's stack; locates user addresses at once, while their process is alive. */
static struct interned_stack *intern_definition(struct resolver *resolver,
						const struct stack_def *def)
{
	struct place_list *list = &resolver->found;
	struct stack_flaw flaw = {};
	struct interned_stack *draft;

	if (def->kind == STACK_WAKER)
		return intern_waker(resolver, def->words);
	list->n = 0;
	if (def->kind == STACK_USER)
		find_user(resolver, def, list, &flaw);
	else if (def->kind == STACK_KERNEL)
		find_kernel(def, list);
	draft = new_stack(def->kind, def->reason, list->n * sizeof(draft->places[0]));
	if (flaw.kind || flaw.runtime)
		draft->flaw = &flaw;
	take_places(resolver, list, draft);
	return intern_stack(resolver, draft);
}

static void release(struct resolver *resolver, struct interned_stack *stack)
{
	hashtable_remove(&resolver->stacks, &stack->link);
	release_places(resolver, stack);
	free_stack(stack);
}

static void look_up_leaving(void *arg)
{
	places_look_up_leaving(((struct resolver *)arg)->places);
}

/* Ages caches. Before a file is closed, the names of its locations are looked up. */
void resolver_tick(struct resolver *resolver, uint64_t now_ns)
{
	if (now_ns - resolver->epoch_ns >= EPOCH_NS) {
		resolver->epoch++;
		resolver->epoch_ns = now_ns;
	}
	usyms_age(resolver->usyms, resolver->epoch, look_up_leaving, resolver);
}

void resolver_release_stacks(struct resolver *resolver)
{
	for_each_element(struct interned_stack, stack, next, link, &resolver->stacks) {
		if (!stack->n_users && !stack->is_retained)
			release(resolver, stack);
		else
			stack->is_retained = false;
	}
	frame_table_release(places_frame_table(resolver->places));
}

void resolver_end_report(struct resolver *resolver, uint64_t now_ns)
{
	resolver_release_stacks(resolver);
	places_end_report(resolver->places); /* frames are freed before their images */
	usyms_end_report(resolver->usyms);
	resolver_tick(resolver, now_ns);
}

/* ---- frames ---- */

static const char *name_of(const struct resolver *resolver, const struct interned_stack *stack,
			   uint32_t i)
{
	return place_of(resolver, stack, i)->frames[0]->name;
}

/*
 * Returns the number of frames that are searched for the tracer's own: those of an interrupt in
 * which the tracer ran, since the interrupt may have come while another of its programs ran; else
 * all.
 */
static uint16_t count_searched(const struct resolver *resolver, const struct interned_stack *stack)
{
	bool has_own = false;

	for (uint16_t i = 0; i < stack->n; i++) {
		has_own |= place_of(resolver, stack, i)->is_own;
		if (has_own && interrupt_is_entry(name_of(resolver, stack, i)))
			return i;
	}
	return stack->n;
}

/*
 * Returns the number of the tracer's own frames at the leaf of a kernel stack: its programs with
 * all their callees, and the kernel functions that run the programs. Stacks without the tracer's
 * programs are not trimmed.
 */
static uint16_t count_tracer_frames(const struct resolver *resolver,
				    const struct interned_stack *stack)
{
	uint16_t first = count_searched(resolver, stack);

	while (first > 0 && !place_of(resolver, stack, first - 1U)->is_own)
		first--;
	while (first < stack->n && ksym_is_tracer(name_of(resolver, stack, first)))
		first++;
	return first;
}

static void look_up(struct resolver *resolver, struct interned_stack *stack)
{
	bool is_answered = true;

	for (uint32_t i = 0; i < stack->n; i++) {
		struct known_place *known = place_of(resolver, stack, i);

		place_look_up(resolver->places, known);
		is_answered &= !known->is_unanswered;
	}
	if (stack->kind == STACK_KERNEL && !stack->is_trimmed)
		stack->n_trimmed = count_tracer_frames(resolver, stack);
	stack->is_trimmed |= is_answered;
}

static void list_frame(struct resolver *resolver, size_t n, const struct frame *frame)
{
	resolver->frames =
		mem_grow(resolver->frames, n, &resolver->frames_cap, sizeof(*resolver->frames));
	resolver->frames[n] = frame;
}

/*
 * Returns the frames of a stack, root first, owned by resolver_frame_table(); the list is valid
 * until the next call. Locations, and functions inlined at one location, are stored leaf first.
 */
static const struct frame *const *stack_frames(struct resolver *resolver,
					       struct interned_stack *stack, size_t *n)
{
	look_up(resolver, stack);
	*n = 0;
	list_frame(resolver, *n, NULL); /* so that even an empty list is not NULL */
	for (uint32_t i = stack->n; i-- > stack->n_trimmed;) {
		const struct known_place *place = place_of(resolver, stack, i);

		for (size_t k = place->n_frames; k-- > 0;)
			list_frame(resolver, (*n)++, place->frames[k]);
	}
	return resolver->frames;
}

/* ---- parts below ---- */

void resolver_preload(struct resolver *resolver, pid_t pid, uint32_t generation)
{
	usyms_preload(resolver->usyms, pid, generation);
}

void resolver_add_function(struct resolver *resolver, const struct runtime_def *def, size_t size)
{
	meanings_add(resolver->meanings, def, size);
}

void resolver_look_up(struct resolver *resolver, void (*meanwhile)(void *arg), void *arg)
{
	places_look_up(resolver->places, meanwhile, arg);
}

struct dso_stats resolver_stats(const struct resolver *resolver)
{
	return usyms_stats(resolver->usyms);
}

/* ---- processes ---- */

/*
 * Number of drains after a process's exit for which its definitions are retained: threads that it
 * woke up before the exit count their waits, with its stack as the waker's, only when they run.
 */
#define TURNS_KEPT 2

/*
 * For live processes: number of drains without a count until a definition is passed to forgotten(),
 * and then until it is released. With windows, BPF may retain the id into the next window.
 */
#define TURNS_UNUSED   4
#define WINDOWS_UNUSED 2

static struct owner *find_owner(const struct resolver *resolver, pid_t pid)
{
	/* Distinct pids have distinct hashes. */
	return HASHTABLE_FIRST(struct owner, link, &resolver->owners, hash_pid(pid));
}

static struct owner *get_owner(struct resolver *resolver, pid_t pid)
{
	struct owner *owner = find_owner(resolver, pid);

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	owner->pid = pid;
	hashtable_add(&resolver->owners, &owner->link, hash_pid(pid));
	return owner;
}

/*
 * Lists the process for release, since its pid may be reused. A process without definitions may
 * still have words of functions.
 */
void resolver_process_ended(struct resolver *resolver, pid_t pid)
{
	struct owner *owner = find_owner(resolver, pid);

	if (!owner && meanings_knows(resolver->meanings, pid))
		owner = get_owner(resolver, pid);
	if (!owner)
		return;
	hashtable_remove(&resolver->owners, &owner->link);
	owner->ended_turn = resolver->n_turns;
	owner->next = NULL;
	*resolver->ended_tail = owner;
	resolver->ended_tail = &owner->next;
}

/* ---- definitions ---- */

static struct definition *find_definition(const struct resolver *resolver, uint64_t id)
{
	/* Ids are unique. */
	return HASHTABLE_FIRST(struct definition, link, &resolver->definitions, id);
}

static struct definition *use_definition(const struct resolver *resolver, uint64_t id)
{
	struct definition *definition = id ? find_definition(resolver, id) : NULL;

	if (definition)
		definition->used_age = resolver->age;
	return definition;
}

void resolver_use(struct resolver *resolver, uint64_t id)
{
	const struct definition *definition = use_definition(resolver, id);

	if (!definition || definition->stack->kind != STACK_WAKER)
		return;
	for (int i = 0; i < WAKER_STACKS; i++)
		use_definition(resolver, waker_of(definition->stack)[i]);
}

static bool is_sound(const struct stack_def *def, size_t size)
{
	return size >= offsetof(struct stack_def, words) && def->n_words <= STACK_WORDS &&
	       def->kind <= STACK_WAKER &&
	       size >= offsetof(struct stack_def, words) + def->n_words * sizeof(def->words[0]) &&
	       (def->kind != STACK_WAKER || def->n_words == WAKER_WORDS);
}

void resolver_add(struct resolver *resolver, const struct stack_def *def, size_t size)
{
	struct definition *definition;
	struct owner *owner;

	if (!is_sound(def, size))
		return;
	definition = use_definition(resolver, def->id);
	if (definition) {
		definition->is_leaving = false;
		return;
	}
	definition = mem_zalloc(1, sizeof(*definition));
	definition->used_age = resolver->age;
	definition->stack = intern_definition(resolver, def);
	definition->stack->n_users++;
	hashtable_add(&resolver->definitions, &definition->link, def->id);
	owner = get_owner(resolver, (pid_t)def->tgid); /* tgid 0: the kernel, which never exits */
	definition->next = owner->first;
	owner->first = definition;
}

static struct interned_stack *find_stack(const struct resolver *resolver, uint64_t id)
{
	struct definition *definition;

	if ((id & STACK_ID_FOLDED) == STACK_ID_FOLDED)
		return find_id(resolver, id);
	definition = use_definition(resolver, id);
	return definition ? definition->stack : NULL;
}

/* Also folds a waker's stacks. A record may claim that one of them is a waker: no recursion. */
uint64_t resolver_fold(struct resolver *resolver, uint64_t id)
{
	struct interned_stack *stack = find_stack(resolver, id), *part;
	uint64_t words[WAKER_WORDS];

	if (!stack)
		return id;
	if (stack->kind != STACK_WAKER)
		return stack->link.hash;
	memcpy(words, waker_of(stack), sizeof(words));
	for (int i = 0; i < WAKER_STACKS; i++) {
		part = find_stack(resolver, words[i]);
		if (part && part->kind != STACK_WAKER)
			words[i] = part->link.hash;
	}
	return intern_waker(resolver, words)->link.hash;
}

static struct interned_stack *retain(const struct resolver *resolver, uint64_t id)
{
	struct interned_stack *stack = find_id(resolver, id);

	if (stack)
		stack->is_retained = true;
	return stack;
}

void resolver_retain(const struct resolver *resolver, uint64_t id)
{
	const struct interned_stack *stack = retain(resolver, id);

	for (int i = 0; stack && stack->kind == STACK_WAKER && i < WAKER_STACKS; i++)
		retain(resolver, waker_of(stack)[i]);
}

static void free_known(struct resolver *resolver, struct definition *d)
{
	hashtable_remove(&resolver->definitions, &d->link);
	d->stack->n_users--;
	free(d);
}

static void release_owner(struct resolver *resolver, struct owner *owner,
			  void (*forgotten)(uint64_t id, void *arg), void *arg)
{
	for (struct definition *d = owner->first, *next; d; d = next) {
		next = d->next;
		forgotten(d->link.hash, arg);
		free_known(resolver, d);
	}
	if (!find_owner(resolver, owner->pid)) /* otherwise the pid has been reused already */
		meanings_forget(resolver->meanings, owner->pid);
	free(owner);
}

struct forgetting {
	struct resolver *resolver;
	void (*forgotten)(uint64_t id, void *arg);
	void *arg;
};

/*
 * Releases definitions of a process in two steps: forgotten() makes BPF send an unused one again if
 * its stack recurs. If it is not sent again for some drains, BPF can no longer count under its id.
 */
static void forget_unused(const struct forgetting *f, struct owner *owner)
{
	uint32_t unused = f->resolver->by_window ? WINDOWS_UNUSED : TURNS_UNUSED;

	for (struct definition **at = &owner->first, *d; (d = *at);) {
		bool is_unused = d->used_age + unused <= f->resolver->age;

		if (is_unused && d->is_leaving) {
			*at = d->next;
			free_known(f->resolver, d);
			continue;
		}
		if (is_unused) {
			f->forgotten(d->link.hash, f->arg);
			d->is_leaving = true;
			d->used_age = f->resolver->age;
		}
		at = &d->next;
	}
	if (owner->first)
		return;
	hashtable_remove(&f->resolver->owners, &owner->link);
	free(owner);
}

static void grow_older(struct resolver *resolver, const struct forgetting *forgetting)
{
	resolver->age++;
	for_each_element(struct owner, owner, next, link, &resolver->owners)
		forget_unused(forgetting, owner);
}

void resolver_drained(struct resolver *resolver, bool is_report,
		      void (*forgotten)(uint64_t id, void *arg), void *arg)
{
	struct forgetting forgetting = { resolver, forgotten, arg };
	struct owner *owner;

	resolver->n_turns++;
	if (!resolver->by_window || is_report)
		grow_older(resolver, &forgetting);
	while ((owner = resolver->ended) && owner->ended_turn + TURNS_KEPT <= resolver->n_turns) {
		resolver->ended = owner->next;
		if (!resolver->ended)
			resolver->ended_tail = &resolver->ended;
		release_owner(resolver, owner, forgotten, arg);
	}
}

/* ---- frames and wakers ---- */

struct frame_table *resolver_frame_table(struct resolver *resolver)
{
	return places_frame_table(resolver->places);
}

const struct frame *const *resolver_frames(struct resolver *resolver, uint64_t id, size_t *n)
{
	struct interned_stack *stack = find_stack(resolver, id);

	*n = 0;
	if (!stack || stack->kind == STACK_WAKER)
		return NULL;
	return stack_frames(resolver, stack, n);
}

struct resolved resolver_about(const struct resolver *resolver, uint64_t id)
{
	const struct interned_stack *stack = find_stack(resolver, id);
	struct resolved about = { .reason = UNWIND_GOES_ON };
	static const struct stack_flaw none;

	about.waker = stack ? waker_of(stack) : NULL;
	if (!stack || stack->kind != STACK_USER)
		return about;
	about.reason = (int)stack->reason;
	about.flaw = stack->flaw ? stack->flaw : &none;
	return about;
}
