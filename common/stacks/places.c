// SPDX-License-Identifier: GPL-2.0-only
/* Locations in code, and their frames; see places.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/kernelnames.h"
#include "runtimes/meanings.h"
#include "stacks/places.h"
#include "symbols/ksyms.h"

/* ---- places ---- */

#define MAX_INLINED 64 /* maximum functions at one address */

struct places {
	struct hashtable table;
	struct known_place **numbered; /* locations by number */
	uint32_t *unused;	       /* numbers to be used again */
	size_t n_numbers, n_unused, numbers_cap, unused_cap;
	struct frame_table *frames;
	struct usyms *usyms;
	struct kernelnames *kernelnames; /* NULL: none; the caller has warned */
	bool with_addresses;		 /* frames carry their address */
	bool is_kernel_reported;	 /* a failed query was reported */
	uint64_t *own_programs;		 /* start addresses; NULL: unknown */
	size_t n_own_programs;
};

struct places *places_new(struct usyms *usyms, bool with_addresses)
{
	struct places *places = mem_zalloc(1, sizeof(*places));

	places->usyms = usyms;
	places->with_addresses = with_addresses;
	places->frames = frame_table_new();
	return places;
}

static void free_frames(struct known_place *known)
{
	if (known->frames != &known->only_frame)
		free((void *)known->frames);
}

static void free_place(struct hashlink *link)
{
	struct known_place *known = container_of(link, struct known_place, link);

	free_frames(known);
	free(known);
}

void places_free(struct places *places)
{
	if (!places)
		return;
	hashtable_free(&places->table, free_place);
	free(places->numbered);
	free(places->unused);
	frame_table_free(places->frames);
	free(places->own_programs);
	free(places);
}

void places_set_kernelnames(struct places *places, struct kernelnames *names)
{
	places->kernelnames = names;
}

void places_set_own(struct places *places, uint64_t *programs, size_t n)
{
	free(places->own_programs);
	places->own_programs = programs;
	places->n_own_programs = n;
}

struct frame_table *places_frame_table(struct places *places)
{
	return places->frames;
}

/* ---- the table ---- */

static uint64_t hash_place(const struct place *place)
{
	uint64_t hash = hash_add(0, (uintptr_t)place->location.dso);

	hash = hash_add(hash, place->location.offset * 16 + place->is_inlined * 8 +
				      place->is_made * 4 + place->is_return * 2 + place->is_kernel);
	hash = hash_add(hash, place->location.made);
	return hash_add(hash, (uintptr_t)place->function + place->line);
}

static bool is_equal(const struct place *a, const struct place *b)
{
	return a->location.dso == b->location.dso && a->location.offset == b->location.offset &&
	       a->location.made == b->location.made && a->is_return == b->is_return &&
	       a->is_kernel == b->is_kernel && a->is_made == b->is_made &&
	       a->is_inlined == b->is_inlined && a->function == b->function && a->line == b->line;
}

static struct known_place *find_place(const struct places *places, const struct place *place,
				      uint64_t hash)
{
	for_each_linked(struct known_place, known, link, &places->table, hash)
		if (is_equal(&known->place, place))
			return known;
	return NULL;
}

static void number_place(struct places *places, struct known_place *known)
{
	if (places->n_unused) {
		known->number = places->unused[--places->n_unused];
	} else {
		places->numbered = mem_grow(places->numbered, places->n_numbers,
					    &places->numbers_cap, sizeof(*places->numbered));
		known->number = (uint32_t)places->n_numbers++;
	}
	places->numbered[known->number] = known;
}

struct known_place *places_at(const struct places *places, uint32_t number)
{
	return places->numbered[number];
}

struct known_place *places_get(struct places *places, const struct place *place)
{
	uint64_t hash = hash_place(place);
	struct known_place *known = find_place(places, place, hash);

	if (!known) {
		known = mem_zalloc(1, sizeof(*known));
		known->place = *place;
		dso_hold(place->location.dso);
		if (place->function)
			runtime_function_hold(place->function);
		hashtable_add(&places->table, &known->link, hash);
		number_place(places, known);
	}
	known->n_users++;
	return known;
}

static void drop_frames(struct known_place *known)
{
	for (size_t i = 0; i < known->n_frames; i++)
		frame_release(known->frames[i]);
	free_frames(known);
	known->frames = NULL;
	known->n_frames = 0;
}

void places_release(struct places *places, struct known_place *known)
{
	if (--known->n_users)
		return;
	drop_frames(known);
	hashtable_remove(&places->table, &known->link);
	*MEM_APPEND(places->unused, places->n_unused, places->unused_cap) = known->number;
	dso_release(known->place.location.dso);
	if (known->place.function)
		runtime_function_release(known->place.function);
	free(known);
}

void places_end_report(struct places *places)
{
	for_each_element(struct known_place, known, next, link, &places->table)
		if (known->may_change ||
		    ((known->place.is_made || usyms_is_jit(&known->place.location)) &&
		     !known->place.location.made))
			drop_frames(known);
	frame_table_release(places->frames);
}

/* ---- frames ---- */

struct frame_list {
	struct places *places;
	const struct frame *items[MAX_INLINED];
	size_t n;
};

static void append_frame(struct frame_list *list, const struct frame *frame)
{
	if (list->n < MAX_INLINED)
		list->items[list->n++] = frame_table_get(list->places->frames, frame);
}

static void set_frames(struct known_place *known, const struct frame_list *list)
{
	const struct frame **frames = &known->only_frame;

	if (list->n != 1)
		frames = mem_zalloc(list->n, sizeof(*frames));
	memcpy(frames, list->items, list->n * sizeof(*frames));
	known->frames = frames;
	known->n_frames = (uint16_t)list->n;
}

/* Describes a location in a file by address, or by file offset if the file can't be read. */
static char *describe_place(const char *dso, const struct place *place)
{
	uint64_t address = usyms_address(&place->location, place->is_return);

	if (address)
		return mem_printf("[%s+0x%llx]", dso, (unsigned long long)address);
	return mem_printf("[%s@0x%llx]", dso, (unsigned long long)place->location.offset);
}

/* Makes a name for a frame without one; freed with free(). */
static char *describe_nameless(const struct place *place)
{
	const char *dso = usyms_dso_name(&place->location);

	if (place->is_made)
		return mem_strdup(UNNAMED_CODE);
	if (!dso)
		return mem_strdup("[unknown]");
	return dso[0] == '[' ? mem_strdup(dso) : describe_place(dso, place);
}

/* Adds the address of a user frame, if requested. */
static void add_address(const struct places *places, struct frame *frame, const struct place *place)
{
	const char *symbol = NULL;

	if (!places->with_addresses)
		return;
	frame->image = usyms_place(&place->location, place->is_return, &frame->address, &symbol);
	if (symbol && strcmp(symbol, frame->name))
		frame->symbol = symbol;
}

/*
 * Appends all functions that contain an address: inlined ones, innermost first, and their caller.
 */
static void append_functions(struct frame_list *list, const struct place *place,
			     struct frame *frame)
{
	const struct srcframe *lines;
	size_t n = usyms_lines(&place->location, place->is_return, &lines);

	for (size_t k = 0; k < n && lines[k].function; k++)
		append_frame(list, &(struct frame){ .name = lines[k].function,
						    .file = lines[k].file,
						    .line = lines[k].line,
						    .kind = FRAME_INLINED,
						    .image = frame->image,
						    .address = frame->address });
	if (n && !lines[n - 1].function) {
		frame->file = lines[n - 1].file;
		frame->line = lines[n - 1].line;
	}
	append_frame(list, frame);
}

static void look_up_user(struct places *places, struct known_place *known)
{
	const struct place *place = &known->place;
	const char *name = usyms_name(&place->location, place->is_return);
	char *description = name ? NULL : describe_nameless(place);
	struct frame frame = { .name = name ? name : description };
	struct frame_list list = { .places = places };

	if (place->is_made || usyms_is_jit(&place->location))
		frame.kind = FRAME_JIT;
	add_address(places, &frame, place);
	append_functions(&list, place, &frame);
	set_frames(known, &list);
	free(description);
}

static void look_up_function(struct places *places, struct known_place *known)
{
	const struct runtime_function *function = known->place.function;
	struct frame_list list = { .places = places };

	append_frame(&list, &(struct frame){ .name = function->name,
					     .kind = known->place.is_inlined ? FRAME_INLINED
									     : FRAME_RUNTIME,
					     .file = function->file,
					     .line = known->place.line });
	set_frames(known, &list);
}

/* ---- the kernel's ---- */

/* Returns the address to look up: of a return address, one byte lower, inside the call. */
static uint64_t kernel_address(const struct known_place *known)
{
	return known->place.location.offset - known->place.is_return;
}

/* Returns true for the tracer's own BPF programs. Others are part of the traced system. */
static bool is_own_program(const struct places *places, const struct ksym *sym)
{
	if (!ksym_is_program(sym->name))
		return false;
	for (size_t i = 0; i < places->n_own_programs; i++)
		if (places->own_programs[i] == sym->start)
			return true;
	return !places->n_own_programs;
}

static char *kernel_name(const struct known_place *known, const struct ksym *sym)
{
	if (!sym->name)
		return mem_printf("0x%llx", (unsigned long long)known->place.location.offset);
	return sym->module ? mem_printf("%s [%s]", sym->name, sym->module) : mem_strdup(sym->name);
}

/* Sets the frame of a kernel location, without its address, which is secret. */
static void set_kernel_frame(struct places *places, struct known_place *known,
			     const struct ksym *sym)
{
	static const struct image kernel = { .name = "[kernel]" };
	struct frame_list list = { .places = places };
	char *name = kernel_name(known, sym);

	append_frame(&list, &(struct frame){ .name = name,
					     .kind = FRAME_KERNEL,
					     .image = places->with_addresses ? &kernel : NULL });
	set_frames(known, &list);
	known->is_own = sym->name && is_own_program(places, sym);
	known->may_change = !sym->name || (!known->is_own && ksym_may_change(sym->name));
	free(name);
}

static void tell_no_kernel(struct places *places)
{
	if (!places->is_kernel_reported)
		msg_warn("kernel symbols: not available: %s (kernel frames print as addresses)",
			 strerror(errno));
	places->is_kernel_reported = true;
}

/* Queries the kernel. NULL: there is no resolver, or the query failed, which is reported once. */
static struct ksyms *ask_kernel(struct places *places, uint64_t *addrs, size_t n)
{
	struct ksyms *ksyms;

	if (!places->kernelnames)
		return NULL;
	ksyms = kernelnames_for(places->kernelnames, addrs, n);
	if (!ksyms)
		tell_no_kernel(places);
	return ksyms;
}

static void look_up_kernel(struct places *places, struct known_place *const *list, size_t n)
{
	uint64_t *addrs = mem_zalloc(n, sizeof(*addrs));
	struct ksyms *ksyms;

	for (size_t i = 0; i < n; i++)
		addrs[i] = kernel_address(list[i]);
	ksyms = ask_kernel(places, addrs, n);
	for (size_t i = 0; i < n; i++) {
		struct ksym sym = {};

		if (!ksyms || !ksyms_find(ksyms, kernel_address(list[i]), &sym))
			sym = (struct ksym){};
		set_kernel_frame(places, list[i], &sym);
		list[i]->is_unanswered = !ksyms && places->kernelnames;
	}
	ksyms_free(ksyms);
	free(addrs);
}

/* ---- resolving new locations ---- */

struct place_list {
	struct known_place **items;
	size_t n, cap, n_kernel;
};

static void add_to_list(struct place_list *list, struct known_place *known)
{
	*MEM_APPEND(list->items, list->n, list->cap) = known;
	list->n_kernel += known->place.is_kernel;
}

/* Orders kernel locations first, then by file and offset. */
static int compare_places(const void *a, const void *b)
{
	const struct place *x = &(*(struct known_place *const *)a)->place;
	const struct place *y = &(*(struct known_place *const *)b)->place;

	if (x->is_kernel != y->is_kernel)
		return x->is_kernel ? -1 : 1;
	if (x->location.dso != y->location.dso)
		return x->location.dso < y->location.dso ? -1 : 1;
	return (x->location.offset > y->location.offset) -
	       (x->location.offset < y->location.offset);
}

static bool is_of_next_file(const struct place_list *list, size_t i)
{
	return i > list->n_kernel &&
	       list->items[i]->place.location.dso != list->items[i - 1]->place.location.dso;
}

static void look_up_new(struct places *places, bool only_leaving, void (*meanwhile)(void *arg),
			void *arg)
{
	struct place_list list = {};

	for_each_element(struct known_place, known, next, link, &places->table)
		if (!known->frames && (!only_leaving || dso_is_leaving(known->place.location.dso)))
			add_to_list(&list, known);
	if (list.n)
		qsort(list.items, list.n, sizeof(*list.items), compare_places);
	if (list.n_kernel)
		look_up_kernel(places, list.items, list.n_kernel);
	for (size_t i = list.n_kernel; i < list.n; i++) {
		if (meanwhile && is_of_next_file(&list, i))
			meanwhile(arg);
		place_look_up(places, list.items[i]);
	}
	free(list.items);
}

void places_look_up(struct places *places, void (*meanwhile)(void *arg), void *arg)
{
	look_up_new(places, false, meanwhile, arg);
}

void places_look_up_leaving(struct places *places)
{
	look_up_new(places, true, NULL, NULL);
}

/* Looks up the location; for a kernel address, all new locations together. */
void place_look_up(struct places *places, struct known_place *known)
{
	if (known->frames)
		return;
	if (known->place.is_kernel)
		places_look_up(places, NULL, NULL);
	else if (known->place.function)
		look_up_function(places, known);
	else
		look_up_user(places, known);
}
