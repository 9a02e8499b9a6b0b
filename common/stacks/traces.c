// SPDX-License-Identifier: GPL-2.0-only
/* Stacks by their places in files, and their names; see traces.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/background.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/strpool.h"
#include "modules/kernelnames.h"
#include "runtimes/python_codes.h"
#include "stacks/python_places.h"
#include "stacks/traces.h"
#include "symbols/ksyms.h"

struct traces {
	struct hashtable table; /* by id */
	struct strpool *names;	/* of frames */
	struct processes *processes;
	struct usyms *usyms;
	struct python_codes *codes;
	struct background *background;
	struct kernelnames *kernelnames; /* NULL: nobody can be asked, as the caller knows */
	bool places;			 /* frames tell them */
	struct ksyms *ksyms;		 /* of the kernel stacks that were looked up last */
	bool is_kernel_told;		 /* that it has no symbols */
	uint64_t *own_programs;		 /* first addresses; NULL: not known */
	size_t n_own_programs;
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

	traces->names = strpool_new();
	traces->background = background_new();
	traces->processes = processes;
	traces->usyms = new_usyms(processes, options, traces->background);
	traces->codes = python_codes_new();
	traces->places = options && options->places;
	return traces;
}

static void free_trace(struct trace *trace)
{
	free(trace->frames);
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
	background_free(traces->background);
	hashtable_free(&traces->table, free_link, NULL);
	ksyms_free(traces->ksyms);
	usyms_free(traces->usyms);
	python_codes_free(traces->codes);
	strpool_free(traces->names);
	free(traces->own_programs);
	free(traces);
}

void traces_set_kernelnames(struct traces *traces, struct kernelnames *names)
{
	traces->kernelnames = names;
}

void traces_set_own(struct traces *traces, uint64_t *programs, size_t n)
{
	traces->own_programs = programs;
	traces->n_own_programs = n;
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
	return n * sizeof(struct place);
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
	for (uint32_t i = 0; i < t->n; i++) {
		hash = hash_add(hash, (uintptr_t)t->places[i].location.dso);
		hash = hash_add(hash, t->places[i].location.offset * 2 + t->places[i].is_return);
		hash = hash_add(hash, (uintptr_t)t->places[i].python + t->places[i].line);
	}
	return hash;
}

/* The one that has the same places, or a copy of this one. */
static struct trace *intern_trace(struct traces *traces, const struct trace *draft)
{
	uint64_t id = hash_trace(draft) | STACK_ID_FOLDED;
	struct trace *trace;

	while ((trace = find_id(traces, id)) && !is_same(trace, draft))
		id = (id + 1) | STACK_ID_FOLDED;
	if (!trace) {
		trace = mem_zalloc(1, sizeof(*trace) + places_bytes(draft->n));
		memcpy(trace, draft, sizeof(*draft) + places_bytes(draft->n));
		trace->id = id;
		hashtable_add(&traces->table, &trace->link, id);
	}
	trace->last_used = traces->n_reports;
	return trace;
}

/* Where names don't depend on the address, it is of no account. */
static void settle_location(struct location *location)
{
	if (!location->dso || usyms_is_nameless(location))
		location->offset = 0;
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
		settle_location(&locations[i]);
		places[i].location = locations[i];
		places[i].is_return = is_return_address(def, i);
	}
}

static void take_user(struct traces *traces, const struct stack_def *def, struct trace *draft)
{
	uint32_t n = python_places_native(def);
	struct place native[STACK_DEPTH] = {}, *places = n < def->n_words ? native : draft->places;

	locate(traces, def, n, places);
	draft->flaw = stack_flaw_find(traces->processes, def, places, n);
	if (draft->flaw.file)
		draft->flaw.file = strpool_intern(traces->names, draft->flaw.file);
	draft->n = n;
	if (n < def->n_words)
		draft->n = python_places_merge(traces->codes, def, native, draft->places);
}

static void take_kernel(const struct stack_def *def, struct trace *draft)
{
	draft->n = def->n_words;
	for (uint32_t i = 0; i < def->n_words; i++)
		draft->places[i].location.offset = def->words[i];
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
	else if (def->kind == STACK_USER)
		take_user(traces, def, draft);
	else
		take_kernel(def, draft);
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

void traces_meet(struct traces *traces, pid_t pid, uint32_t generation)
{
	usyms_meet(traces->usyms, pid, generation);
}

/* Those that neither a definition nor the last two reports needed. */
static void let_go(struct hashlink *link, void *arg)
{
	struct trace *trace = container_of(link, struct trace, link);
	struct traces *traces = arg;

	if (trace->n_users || trace->last_used + 1 >= traces->n_reports)
		return;
	hashtable_remove(&traces->table, link);
	free_trace(trace);
}

static void keep_places(struct hashlink *link, void *arg)
{
	const struct trace *trace = container_of(link, struct trace, link);

	(void)arg;
	for (uint32_t i = 0; i < trace->n; i++)
		usyms_keep(&trace->places[i].location);
}

static void keep_all_places(void *arg)
{
	hashtable_visit(&((struct traces *)arg)->table, keep_places, NULL);
}

void traces_end_report(struct traces *traces)
{
	traces->n_reports++;
	hashtable_visit(&traces->table, let_go, traces);
	usyms_let_go(traces->usyms, keep_all_places, traces);
}

/* ---- names ---- */

/* A kernel address; a return address is looked up inside the call. */
static uint64_t lookup_addr(const struct trace *trace, uint32_t i)
{
	return trace->places[i].location.offset - (i > 0);
}

/* Said once. */
static void tell_no_kernel(struct traces *traces)
{
	if (!traces->is_kernel_told)
		msg_warn("kernel symbols unavailable: %s (kernel frames are shown as addresses)",
			 strerror(errno));
	traces->is_kernel_told = true;
}

struct addr_list {
	uint64_t *addrs;
	size_t count, cap;
};

static bool is_new_kernel_stack(const struct trace *trace)
{
	return trace->kind == STACK_KERNEL && !trace->frames;
}

static void list_kernel_addrs(struct hashlink *link, void *arg)
{
	const struct trace *trace = container_of(link, struct trace, link);
	struct addr_list *list = arg;

	for (uint32_t i = 0; is_new_kernel_stack(trace) && i < trace->n; i++) {
		list->addrs = mem_grow(list->addrs, list->count, &list->cap, sizeof(*list->addrs));
		list->addrs[list->count++] = lookup_addr(trace, i);
	}
}

struct place_list {
	struct place *places;
	size_t count, cap;
};

static void list_new_places(struct hashlink *link, void *arg)
{
	const struct trace *trace = container_of(link, struct trace, link);
	struct place_list *list = arg;

	for (uint32_t i = 0; trace->kind == STACK_USER && !trace->frames && i < trace->n; i++) {
		list->places =
			mem_grow(list->places, list->count, &list->cap, sizeof(*list->places));
		list->places[list->count++] = trace->places[i];
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct location *x = &((const struct place *)a)->location;
	const struct location *y = &((const struct place *)b)->location;

	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void look_up_user(struct traces *traces)
{
	struct place_list list = {};

	hashtable_visit(&traces->table, list_new_places, &list);
	if (list.count)
		qsort(list.places, list.count, sizeof(*list.places), compare_places);
	for (size_t i = 0; i < list.count; i++)
		usyms_name(&list.places[i].location, list.places[i].is_return);
	free(list.places);
}

struct dso_stats traces_stats(const struct traces *traces)
{
	return usyms_stats(traces->usyms);
}

/* Takes a text over. */
static const char *intern(struct traces *traces, char *text)
{
	const char *name = strpool_intern(traces->names, text);

	free(text);
	return name;
}

static void append_frame(struct trace *trace, const struct frame *frame)
{
	trace->frames = mem_grow(trace->frames, trace->n_frames, &trace->frames_capacity,
				 sizeof(*trace->frames));
	trace->frames[trace->n_frames++] = *frame;
}

static const char *kernel_frame_name(struct traces *traces, const struct trace *trace, uint32_t i)
{
	struct ksym sym;

	if (!traces->ksyms || !ksyms_find(traces->ksyms, lookup_addr(trace, i), &sym))
		return intern(traces,
			      mem_printf("0x%llx",
					 (unsigned long long)trace->places[i].location.offset));
	if (!sym.module)
		return strpool_intern(traces->names, sym.name);
	return intern(traces, mem_printf("%s [%s]", sym.name, sym.module));
}

/* Of a file that can't be read any more, only the place in it is known. */
static char *describe_place(const char *dso, const struct location *location, bool is_return)
{
	uint64_t address = usyms_address(location, is_return);

	if (address)
		return mem_printf("[%s+0x%llx]", dso, (unsigned long long)address);
	return mem_printf("[%s@0x%llx]", dso, (unsigned long long)location->offset);
}

static const char *user_frame_name(struct traces *traces, const struct trace *trace, uint32_t i)
{
	const struct location *location = &trace->places[i].location;
	bool is_return = trace->places[i].is_return;
	const char *name = usyms_name(location, is_return), *dso;

	if (name)
		return strpool_intern(traces->names, name);
	if (trace->flaw.runtime && usyms_is_made(location))
		return "[jit]";
	dso = usyms_dso_name(location);
	if (!dso)
		return "[unknown]";
	if (dso[0] == '[')
		return strpool_intern(traces->names, dso);
	return intern(traces, describe_place(dso, location, is_return));
}

/* Where a user frame is, if that is asked for. */
static void add_place(struct traces *traces, struct frame *frame, const struct location *location,
		      bool is_return)
{
	const char *symbol = NULL;

	if (!traces->places)
		return;
	frame->image = usyms_place(location, is_return, &frame->address, &symbol);
	if (symbol && strcmp(symbol, frame->name))
		frame->symbol = strpool_intern(traces->names, symbol);
}

static bool is_jit(const struct trace *trace, const struct location *location)
{
	return usyms_is_jit(location) || (trace->flaw.runtime && usyms_is_made(location));
}

/*
 * An address may be in several functions: those inlined there, innermost first, and their caller.
 */
static void append_user_frames(struct traces *traces, struct trace *trace, uint32_t i)
{
	const struct location *location = &trace->places[i].location;
	const struct srcframe *lines;
	bool is_return = trace->places[i].is_return;
	size_t n = usyms_lines(location, is_return, &lines);
	struct frame frame = { .name = user_frame_name(traces, trace, i) };

	add_place(traces, &frame, location, is_return);
	for (size_t k = 0; k < n && lines[k].function; k++)
		append_frame(trace, &(struct frame){ .name = lines[k].function,
						     .file = lines[k].file,
						     .line = lines[k].line,
						     .kind = FRAME_INLINED,
						     .image = frame.image,
						     .address = frame.address });
	frame.kind = is_jit(trace, location) ? FRAME_JIT : FRAME_USER;
	if (n && !lines[n - 1].function) {
		frame.file = lines[n - 1].file;
		frame.line = lines[n - 1].line;
	}
	append_frame(trace, &frame);
}

static void append_python_frame(struct trace *trace, uint32_t i)
{
	const struct python_function *function = trace->places[i].python;

	append_frame(trace, &(struct frame){ .name = function->name,
					     .kind = FRAME_PYTHON,
					     .file = function->file,
					     .line = trace->places[i].line });
}

/* Where the kernel lies in memory is a secret that does not belong into files. */
static void append_kernel_frame(struct traces *traces, struct trace *trace, uint32_t i)
{
	static const struct image kernel = { .name = "[kernel]" };

	append_frame(trace, &(struct frame){ .name = kernel_frame_name(traces, trace, i),
					     .kind = FRAME_KERNEL,
					     .image = traces->places ? &kernel : NULL });
}

/* BPF programs of others are a part of the system that is looked at. */
static bool is_own_program(const struct traces *traces, uint64_t addr)
{
	struct ksym sym;

	if (!traces->ksyms || !ksyms_find(traces->ksyms, addr, &sym) || !ksym_is_program(sym.name))
		return false;
	for (size_t i = 0; i < traces->n_own_programs; i++)
		if (traces->own_programs[i] == sym.start)
			return true;
	return !traces->n_own_programs;
}

/*
 * The one place where the tracer's own frames, which lie on top of a kernel stack, are trimmed: its
 * programs with all they call, and below them what the kernel runs them with.
 */
static void trim_tracer_frames(const struct traces *traces, struct trace *trace)
{
	uint32_t n = trace->n;
	size_t keep = 0;

	while (keep < n && !is_own_program(traces, lookup_addr(trace, n - 1 - (uint32_t)keep)))
		keep++;
	while (keep > 0 && ksym_is_tracer(trace->frames[keep - 1].name))
		keep--;
	trace->n_frames = keep;
}

/* Root first, and no more memory than they need. */
static void finish_frames(struct trace *trace)
{
	if (trace->n_frames)
		trace->frames = mem_realloc(trace->frames, trace->n_frames, sizeof(*trace->frames));
	for (size_t i = 0, n = trace->n_frames; trace->frames && i < n / 2; i++) {
		struct frame frame = trace->frames[i];

		trace->frames[i] = trace->frames[n - 1 - i];
		trace->frames[n - 1 - i] = frame;
	}
}

static void make_user_frames(struct traces *traces, struct trace *trace)
{
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->places[i].python)
			append_python_frame(trace, i);
		else
			append_user_frames(traces, trace, i);
	finish_frames(trace);
}

static void make_kernel_frames(struct hashlink *link, void *arg)
{
	struct trace *trace = container_of(link, struct trace, link);
	struct traces *traces = arg;

	if (!is_new_kernel_stack(trace))
		return;
	for (uint32_t i = 0; i < trace->n; i++)
		append_kernel_frame(traces, trace, i);
	finish_frames(trace);
	trim_tracer_frames(traces, trace);
}

/* NULL: there is nobody to ask, or the answer failed, which is said. */
static struct ksyms *ask_kernel(struct traces *traces, const struct addr_list *list)
{
	struct ksyms *ksyms;

	if (!traces->kernelnames)
		return NULL;
	ksyms = kernelnames_for(traces->kernelnames, list->addrs, list->count);
	if (!ksyms)
		tell_no_kernel(traces);
	return ksyms;
}

/* All new kernel stacks at once. */
static void look_up_kernel(struct traces *traces)
{
	struct addr_list list = {};

	hashtable_visit(&traces->table, list_kernel_addrs, &list);
	if (!list.count)
		return;
	ksyms_free(traces->ksyms);
	traces->ksyms = ask_kernel(traces, &list);
	hashtable_visit(&traces->table, make_kernel_frames, traces);
	free(list.addrs);
}

void traces_look_up(struct traces *traces)
{
	look_up_user(traces);
	look_up_kernel(traces);
}

const struct frame *trace_frames(struct traces *traces, struct trace *trace, size_t *n)
{
	if (!trace->frames && trace->kind == STACK_USER)
		make_user_frames(traces, trace);
	else if (!trace->frames)
		look_up_kernel(traces);
	*n = trace->n_frames;
	return trace->frames;
}
