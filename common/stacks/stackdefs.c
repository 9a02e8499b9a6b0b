// SPDX-License-Identifier: GPL-2.0-only
/* Stack definitions and their symbols; see stackdefs.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/background.h"
#include "base/idmap.h"
#include "modules/kernelnames.h"
#include "symbols/ksyms.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/stackdefs.h"
#include "base/strpool.h"
#include "abi/unwind_layout.h"

struct entry {
	struct stack_def *def;	    /* cut to its length */
	struct location *locations; /* of a user stack's words */
	struct frame *frames;	    /* root first; NULL until asked for */
	size_t n_frames, frames_capacity;
};

struct stackdefs {
	struct idmap entries;
	struct strpool *names; /* of frames */
	struct usyms *usyms;
	struct background *background;
	struct kernelnames *kernelnames; /* NULL: nobody can be asked, as the caller knows */
	bool places;			 /* frames tell them */
	struct ksyms *ksyms;		 /* of the kernel stacks that were looked up last */
	bool is_kernel_told;		 /* that it has no symbols */
	uint64_t *own_programs;		 /* first addresses; NULL: not known */
	size_t n_own_programs;
};

static struct usyms *new_usyms(const struct dso_options *options, struct background *background)
{
	struct dso_options with = {};

	if (options)
		with = *options;
	with.background = background;
	return usyms_new(&with);
}

struct stackdefs *stackdefs_new(const struct dso_options *options)
{
	struct stackdefs *defs = mem_zalloc(1, sizeof(*defs));

	defs->names = strpool_new();
	defs->background = background_new();
	defs->usyms = new_usyms(options, defs->background);
	defs->places = options && options->places;
	return defs;
}

static void entry_free(void *value)
{
	struct entry *entry = value;

	free(entry->frames);
	free(entry->locations);
	free(entry->def);
	free(entry);
}

void stackdefs_free(struct stackdefs *defs)
{
	if (!defs)
		return;
	background_free(defs->background);
	idmap_free(&defs->entries, entry_free);
	ksyms_free(defs->ksyms);
	usyms_free(defs->usyms);
	strpool_free(defs->names);
	free(defs->own_programs);
	free(defs);
}

void stackdefs_set_kernelnames(struct stackdefs *defs, struct kernelnames *names)
{
	defs->kernelnames = names;
}

void stackdefs_set_own(struct stackdefs *defs, uint64_t *programs, size_t n)
{
	defs->own_programs = programs;
	defs->n_own_programs = n;
}

void stackdefs_set_log(struct stackdefs *defs, struct mapslog *log)
{
	usyms_set_log(defs->usyms, log);
}

static void locate(struct stackdefs *defs, struct entry *entry)
{
	struct stack_def *def = entry->def;
	uint64_t addrs[STACK_DEPTH];

	for (uint32_t i = 0; i < def->n_words; i++)
		addrs[i] = stack_address(def->words[i]);
	entry->locations = mem_zalloc(def->n_words, sizeof(*entry->locations));
	usyms_locate(defs->usyms, (pid_t)def->tgid, def->generation, def->time_ns, addrs,
		     def->n_words, entry->locations);
}

void stackdefs_add(struct stackdefs *defs, const struct stack_def *def, size_t size)
{
	struct entry *entry;

	if (size < offsetof(struct stack_def, words) || def->n_words > STACK_DEPTH ||
	    size < offsetof(struct stack_def, words) + def->n_words * sizeof(def->words[0]) ||
	    idmap_find(&defs->entries, def->id))
		return;
	size = offsetof(struct stack_def, words) + def->n_words * sizeof(def->words[0]);
	entry = mem_zalloc(1, sizeof(*entry));
	entry->def = mem_zalloc(1, size);
	memcpy(entry->def, def, size);
	if (def->kind == STACK_USER)
		locate(defs, entry);
	idmap_add(&defs->entries, def->id, entry);
}

void stackdefs_meet(struct stackdefs *defs, pid_t pid, uint32_t generation)
{
	usyms_meet(defs->usyms, pid, generation);
}

void stackdefs_forget(struct stackdefs *defs, pid_t pid)
{
	usyms_forget(defs->usyms, pid);
}

/* ---- names ---- */

/* A kernel address; a return address is looked up inside the call. */
static uint64_t lookup_addr(const struct stack_def *def, uint32_t i)
{
	return def->words[i] - (i > 0);
}

/* Said once. */
static void tell_no_kernel(struct stackdefs *defs)
{
	if (!defs->is_kernel_told)
		msg_warn("no kernel symbols: asking the kernel: %s", strerror(errno));
	defs->is_kernel_told = true;
}

struct addr_list {
	uint64_t *addrs;
	size_t count, cap;
};

static bool is_new_kernel_stack(const struct entry *entry)
{
	return entry->def->kind == STACK_KERNEL && !entry->frames;
}

static void list_kernel_addrs(void *value, void *arg)
{
	const struct entry *entry = value;
	struct addr_list *list = arg;

	for (uint32_t i = 0; is_new_kernel_stack(entry) && i < entry->def->n_words; i++) {
		list->addrs = mem_grow(list->addrs, list->count, &list->cap, sizeof(*list->addrs));
		list->addrs[list->count++] = lookup_addr(entry->def, i);
	}
}

struct place {
	struct location location;
	bool is_return;
};

struct place_list {
	struct place *places;
	size_t count, cap;
};

static bool is_return_address(const struct stack_def *def, uint32_t i)
{
	return i > 0 &&
	       !stack_is_exact(def->words[i]); // cppcheck-suppress arrayIndexOutOfBoundsCond
}

static void list_new_places(void *value, void *arg)
{
	const struct entry *entry = value;
	struct place_list *list = arg;

	if (!entry->locations || entry->frames)
		return;
	for (uint32_t i = 0; i < entry->def->n_words; i++) {
		list->places =
			mem_grow(list->places, list->count, &list->cap, sizeof(*list->places));
		list->places[list->count++] = (struct place){
			.location = entry->locations[i],
			.is_return = is_return_address(entry->def, i),
		};
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

static void look_up_user(struct stackdefs *defs)
{
	struct place_list list = {};

	idmap_visit(&defs->entries, list_new_places, &list);
	if (list.count)
		qsort(list.places, list.count, sizeof(*list.places), compare_places);
	for (size_t i = 0; i < list.count; i++)
		usyms_name(&list.places[i].location, list.places[i].is_return);
	free(list.places);
}

struct dso_stats stackdefs_stats(const struct stackdefs *defs)
{
	return usyms_stats(defs->usyms);
}

/* Takes a text over. */
static const char *intern(struct stackdefs *defs, char *text)
{
	const char *name = strpool_intern(defs->names, text);

	free(text);
	return name;
}

static void append_frame(struct entry *entry, const struct frame *frame)
{
	entry->frames = mem_grow(entry->frames, entry->n_frames, &entry->frames_capacity,
				 sizeof(*entry->frames));
	entry->frames[entry->n_frames++] = *frame;
}

static const char *kernel_frame_name(struct stackdefs *defs, const struct stack_def *def,
				     uint32_t i)
{
	struct ksym sym;

	if (!defs->ksyms || !ksyms_find(defs->ksyms, lookup_addr(def, i), &sym))
		return intern(defs, mem_printf("0x%llx", (unsigned long long)def->words[i]));
	if (!sym.module)
		return strpool_intern(defs->names, sym.name);
	return intern(defs, mem_printf("%s [%s]", sym.name, sym.module));
}

static const char *user_frame_name(struct stackdefs *defs, const struct location *location,
				   bool is_return)
{
	const char *name = usyms_name(location, is_return), *dso;

	if (name)
		return strpool_intern(defs->names, name);
	dso = usyms_dso_name(location);
	if (!dso)
		return "[unknown]";
	if (dso[0] == '[')
		return strpool_intern(defs->names, dso);
	return intern(defs, mem_printf("[%s+0x%llx]", dso, (unsigned long long)location->offset));
}

/* Where a user frame is, if that is asked for. */
static void add_place(struct stackdefs *defs, struct frame *frame, const struct location *location,
		      bool is_return)
{
	const char *symbol = NULL;

	if (!defs->places)
		return;
	frame->image = usyms_place(location, is_return, &frame->address, &symbol);
	if (symbol && strcmp(symbol, frame->name))
		frame->symbol = strpool_intern(defs->names, symbol);
}

/*
 * An address may be in several functions: those inlined there, innermost first, and their caller.
 */
static void append_user_frames(struct stackdefs *defs, struct entry *entry, uint32_t i)
{
	const struct location *location = &entry->locations[i];
	const struct srcframe *lines;
	bool is_return = is_return_address(entry->def, i);
	size_t n = usyms_lines(location, is_return, &lines);
	struct frame frame = { .name = user_frame_name(defs, location, is_return) };

	add_place(defs, &frame, location, i > 0);
	for (size_t k = 0; k < n && lines[k].function; k++)
		append_frame(entry, &(struct frame){ .name = lines[k].function,
						     .file = lines[k].file,
						     .line = lines[k].line,
						     .kind = FRAME_INLINED,
						     .image = frame.image,
						     .address = frame.address });
	frame.kind = usyms_is_jit(location) ? FRAME_JIT : FRAME_USER;
	if (n && !lines[n - 1].function) {
		frame.file = lines[n - 1].file;
		frame.line = lines[n - 1].line;
	}
	append_frame(entry, &frame);
}

/* Where the kernel lies in memory is a secret that does not belong into files. */
static void append_kernel_frame(struct stackdefs *defs, struct entry *entry, uint32_t i)
{
	static const struct image kernel = { .name = "[kernel]" };

	append_frame(entry, &(struct frame){ .name = kernel_frame_name(defs, entry->def, i),
					     .kind = FRAME_KERNEL,
					     .image = defs->places ? &kernel : NULL });
}

/* BPF programs of others are a part of the system that is looked at. */
static bool is_own_program(const struct stackdefs *defs, uint64_t addr)
{
	struct ksym sym;

	if (!defs->ksyms || !ksyms_find(defs->ksyms, addr, &sym) || !ksym_is_program(sym.name))
		return false;
	for (size_t i = 0; i < defs->n_own_programs; i++)
		if (defs->own_programs[i] == sym.start)
			return true;
	return !defs->n_own_programs;
}

/*
 * The one place where the tracer's own frames, which lie on top of a kernel stack, are trimmed: its
 * programs with all they call, and below them what the kernel runs them with.
 */
static void trim_tracer_frames(const struct stackdefs *defs, struct entry *entry)
{
	uint32_t n = entry->def->n_words;
	size_t keep = 0;

	while (keep < n && !is_own_program(defs, lookup_addr(entry->def, n - 1 - (uint32_t)keep)))
		keep++;
	while (keep > 0 && ksym_is_tracer(entry->frames[keep - 1].name))
		keep--;
	entry->n_frames = keep;
}

static void reverse_frames(struct entry *entry)
{
	for (size_t i = 0, n = entry->n_frames; entry->frames && i < n / 2; i++) {
		struct frame frame = entry->frames[i];

		entry->frames[i] = entry->frames[n - 1 - i];
		entry->frames[n - 1 - i] = frame;
	}
}

static void make_user_frames(struct stackdefs *defs, struct entry *entry)
{
	for (uint32_t i = 0; i < entry->def->n_words; i++)
		append_user_frames(defs, entry, i);
	reverse_frames(entry);
}

static void make_kernel_frames(void *value, void *arg)
{
	struct stackdefs *defs = arg;
	struct entry *entry = value;

	if (!is_new_kernel_stack(entry))
		return;
	for (uint32_t i = 0; i < entry->def->n_words; i++)
		append_kernel_frame(defs, entry, i);
	reverse_frames(entry);
	trim_tracer_frames(defs, entry);
}

/* NULL: there is nobody to ask, or the answer failed, which is said. */
static struct ksyms *ask_kernel(struct stackdefs *defs, const struct addr_list *list)
{
	struct ksyms *ksyms;

	if (!defs->kernelnames)
		return NULL;
	ksyms = kernelnames_for(defs->kernelnames, list->addrs, list->count);
	if (!ksyms)
		tell_no_kernel(defs);
	return ksyms;
}

/* All new kernel stacks at once. */
static void look_up_kernel(struct stackdefs *defs)
{
	struct addr_list list = {};

	idmap_visit(&defs->entries, list_kernel_addrs, &list);
	if (!list.count)
		return;
	ksyms_free(defs->ksyms);
	defs->ksyms = ask_kernel(defs, &list);
	idmap_visit(&defs->entries, make_kernel_frames, defs);
	free(list.addrs);
}

void stackdefs_look_up(struct stackdefs *defs)
{
	look_up_user(defs);
	look_up_kernel(defs);
}

static void make_frames(struct stackdefs *defs, struct entry *entry)
{
	if (entry->def->kind == STACK_USER)
		make_user_frames(defs, entry);
	else
		look_up_kernel(defs);
}

const struct frame *stackdefs_frames(struct stackdefs *defs, uint64_t id, size_t *n)
{
	struct entry *entry = id ? idmap_find(&defs->entries, id) : NULL;

	*n = 0;
	if (!entry || entry->def->kind == STACK_WAKER)
		return NULL;
	if (!entry->frames)
		make_frames(defs, entry);
	*n = entry->n_frames;
	return entry->frames;
}

const struct stack_def *stackdefs_waker(const struct stackdefs *defs, uint64_t id)
{
	struct entry *entry = id ? idmap_find(&defs->entries, id) : NULL;

	return entry && entry->def->kind == STACK_WAKER ? entry->def : NULL;
}

int stackdefs_reason(const struct stackdefs *defs, uint64_t id)
{
	struct entry *entry = id ? idmap_find(&defs->entries, id) : NULL;

	return entry && entry->def->kind == STACK_USER ? entry->def->reason : UNWIND_GOES_ON;
}
