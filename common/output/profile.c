// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data model of the stack tools: samples merged through a hash table as they are added. All
 * names are interned, so that two stacks are compared by addresses, without looking at the text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/strpool.h"
#include "output/profile.h"

struct entry {
	struct hashlink link; /* hashed by all fields but the values */
	struct sample sample;
	const struct frame *frames[];
};

/*
 * Memory of entries, which are freed together. malloc(3) gives a chunk of CHUNK_MAX its own
 * mapping.
 */
#define CHUNK_MIN 4096
#define CHUNK_MAX (256 << 10)

struct chunk {
	struct chunk *next;
	size_t size, used; /* bytes, this head included */
};

struct profile {
	const char *unit;
	const struct column *columns; /* array of n_columns */
	size_t n_columns;
	struct strpool *names;	       /* all texts except for frames' */
	struct frame_table *own_table; /* NULL: samples refer to the caller's frames */
	struct chunk *chunks;	       /* memory of the entries, latest first */
	struct entry **entries;	       /* sorted by profile_sort() */
	size_t count, capacity;
	struct hashtable table;
	const struct frame **scratch;
	size_t n_scratch;
	uint64_t total;
	struct event *events; /* borrowed */
	size_t n_events;
};

struct profile *profile_new(const char *unit, const struct column *columns,
			    struct frame_table *table)
{
	struct profile *p = mem_zalloc(1, sizeof(*p));

	p->unit = unit;
	p->columns = columns;
	while (columns && p->n_columns < PROFILE_COLUMNS && columns[p->n_columns].name)
		p->n_columns++;
	p->names = strpool_new();
	p->own_table = table ? NULL : frame_table_new();
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (struct chunk *chunk = p->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(p->entries);
	hashtable_free(&p->table, NULL);
	free(p->scratch);
	strpool_free(p->names);
	frame_table_free(p->own_table);
	free(p);
}

static uint64_t hash_sample(const struct sample *s)
{
	uint64_t hash = hash_add((uintptr_t)s->comm, (uintptr_t)s->remark);

	hash = hash_add(hash, (uint64_t)s->pid << 32 | (uint32_t)s->cpu);
	hash = hash_add(hash, s->tid);
	hash = hash_add(hash, (uintptr_t)s->group.cgroup ^ (unsigned char)s->state);
	for (size_t i = 0; i < s->n_frames; i++)
		hash = hash_add(hash, (uintptr_t)s->known[i]);
	return hash;
}

static bool frames_equal(const struct sample *a, const struct sample *b)
{
	if (a->n_frames != b->n_frames)
		return false;
	return !a->n_frames || !memcmp(a->known, b->known, a->n_frames * sizeof(*a->known));
}

static bool sample_equal(const struct sample *a, const struct sample *b)
{
	return a->comm == b->comm && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->state == b->state && a->remark == b->remark &&
	       a->group.cgroup == b->group.cgroup && frames_equal(a, b);
}

static struct entry *find_entry(const struct profile *p, const struct sample *s, uint64_t hash)
{
	for_each_linked(struct entry, entry, link, &p->table, hash)
		if (sample_equal(&entry->sample, s))
			return entry;
	return NULL;
}

static const char *intern_optional(struct profile *p, const char *text)
{
	return text ? strpool_intern(p->names, text) : NULL;
}

/* Interns frames into the scratch array, which is valid until the next call. */
static const struct frame *const *intern_frames(struct profile *p, const struct sample *s)
{
	if (s->n_frames > p->n_scratch) {
		p->scratch = mem_realloc(p->scratch, s->n_frames, sizeof(struct frame *));
		p->n_scratch = s->n_frames;
	}
	for (size_t i = 0; i < s->n_frames; i++)
		p->scratch[i] = frame_table_get(p->own_table, sample_frame(s, i));
	return p->scratch;
}

/* Returns the sample with interned names. */
static struct sample intern_sample(struct profile *p, const struct sample *s)
{
	struct sample own = *s;

	if (p->own_table)
		own.known = intern_frames(p, s);
	own.frames = NULL;
	own.comm = strpool_intern(p->names, s->comm);
	own.remark = intern_optional(p, s->remark);
	own.group.cgroup = intern_optional(p, s->group.cgroup);
	own.group.container_id = intern_optional(p, s->group.container_id);
	own.group.unit = intern_optional(p, s->group.unit);
	return own;
}

static size_t at_least(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void add_chunk(struct profile *p, size_t bytes)
{
	size_t size = p->chunks ? 2 * p->chunks->size : CHUNK_MIN;
	struct chunk *chunk;

	size = at_least(size < CHUNK_MAX ? size : CHUNK_MAX, sizeof(*chunk) + bytes);
	chunk = mem_zalloc(1, size);
	*chunk = (struct chunk){ p->chunks, size, sizeof(*chunk) };
	p->chunks = chunk;
}

/* Returns zeroed memory that lasts as long as the profile. */
static void *allocate(struct profile *p, size_t bytes)
{
	if (!p->chunks || p->chunks->size - p->chunks->used < bytes)
		add_chunk(p, bytes);
	p->chunks->used += bytes;
	return (char *)p->chunks + p->chunks->used - bytes;
}

static struct entry *new_entry(struct profile *p, const struct sample *s)
{
	struct entry *e = allocate(p, sizeof(*e) + s->n_frames * sizeof(struct frame *));

	e->sample = *s;
	if (s->n_frames)
		memcpy(e->frames, s->known, s->n_frames * sizeof(struct frame *));
	e->sample.known = e->frames;
	return e;
}

static uint64_t merge_column(const struct column *column, uint64_t a, uint64_t b)
{
	if (a == COLUMN_ABSENT || b == COLUMN_ABSENT)
		return a == COLUMN_ABSENT ? b : a;
	if (column->merge == COLUMN_SUM)
		return a + b;
	return (a < b) == (column->merge == COLUMN_LEAST) ? a : b;
}

static void merge_sample(const struct profile *p, struct sample *sum, const struct sample *more)
{
	sum->value += more->value;
	for (size_t i = 0; i < p->n_columns; i++)
		sum->columns[i] = merge_column(&p->columns[i], sum->columns[i], more->columns[i]);
}

const struct sample *profile_add(struct profile *p, const struct sample *s)
{
	struct sample own = intern_sample(p, s);
	uint64_t hash = hash_sample(&own);
	struct entry *entry = find_entry(p, &own, hash);

	p->total += s->value;
	if (entry) {
		merge_sample(p, &entry->sample, s);
		return &entry->sample;
	}
	entry = new_entry(p, &own);
	hashtable_add(&p->table, &entry->link, hash);
	*MEM_APPEND(p->entries, p->count, p->capacity) = entry;
	return &entry->sample;
}

void profile_set_events(struct profile *p, struct event *events, size_t n)
{
	p->events = events;
	p->n_events = n;
}

struct event *profile_events(const struct profile *p, size_t *n)
{
	*n = p->n_events;
	return p->events;
}

/* Compares interned strings: equal ones have equal addresses. NULL comes first. */
static int compare_names(const char *a, const char *b)
{
	if (a == b)
		return 0;
	return !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int compare_images(const struct image *a, const struct image *b)
{
	int order;

	if (a == b || !a || !b)
		return (a > b) - (a < b);
	order = strcmp(a->name, b->name);
	return order ? order
		     : strcmp(a->build_id ? a->build_id : "", b->build_id ? b->build_id : "");
}

static int compare_places(const struct frame *a, const struct frame *b)
{
	int order = compare_names(a->symbol, b->symbol);

	if (!order)
		order = order_u64(a->address, b->address);
	return order ? order : compare_images(a->image, b->image);
}

static int compare_frame(const struct frame *a, const struct frame *b)
{
	int order = compare_names(a->name, b->name);

	if (!order)
		order = order_u64(a->kind, b->kind);
	if (!order)
		order = compare_names(a->file, b->file);
	if (!order)
		order = order_u64(a->line, b->line);
	return order ? order : compare_places(a, b);
}

static int compare_frames(const struct sample *a, const struct sample *b)
{
	int order = 0;

	for (size_t i = 0; !order && i < a->n_frames && i < b->n_frames; i++)
		if (a->known[i] != b->known[i])
			order = compare_frame(a->known[i], b->known[i]);
	return order ? order : order_u64(a->n_frames, b->n_frames);
}

int sample_compare_stacks(const struct sample *a, const struct sample *b)
{
	int order = compare_names(a->comm, b->comm);

	return order ? order : compare_frames(a, b);
}

/* Compares everything that distinguishes samples, so that the order is deterministic. */
static int compare_samples(const struct sample *a, const struct sample *b)
{
	int order = order_u64(b->value, a->value);

	if (!order)
		order = compare_names(a->comm, b->comm);
	if (!order)
		order = order_u64(a->pid, b->pid);
	if (!order)
		order = order_u64(a->tid, b->tid);
	if (!order)
		order = compare_frames(a, b);
	if (!order)
		order = (a->cpu > b->cpu) - (a->cpu < b->cpu);
	if (!order)
		order = a->state - b->state;
	if (!order)
		order = compare_names(a->group.cgroup, b->group.cgroup);
	return order ? order : compare_names(a->remark, b->remark);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return compare_samples(&(*x)->sample, &(*y)->sample);
}

void profile_sort(struct profile *p)
{
	if (p->count)
		qsort(p->entries, p->count, sizeof(*p->entries), compare_entries);
}

size_t profile_count(const struct profile *p)
{
	return p->count;
}

const struct sample *profile_sample(const struct profile *p, size_t i)
{
	return &p->entries[i]->sample;
}

/* rest: what the division of the sample before has left. */
static void scale_sample(const struct profile *p, struct sample *s, uint64_t divisor,
			 uint64_t *rest)
{
	*rest += s->value % divisor;
	s->value = s->value / divisor + *rest / divisor;
	*rest %= divisor;
	for (size_t i = 0; i < p->n_columns; i++)
		if (p->columns[i].rest && s->columns[i] != COLUMN_ABSENT)
			s->columns[i] /= divisor;
}

void profile_scale(struct profile *p, uint64_t divisor)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < p->count; i++)
		scale_sample(p, &p->entries[i]->sample, divisor, &rest);
	p->total /= divisor;
}

uint64_t profile_total(const struct profile *p)
{
	return p->total;
}

const char *profile_unit(const struct profile *p)
{
	return p->unit;
}

const struct column *profile_column(const struct profile *p, size_t i)
{
	return i < p->n_columns ? &p->columns[i] : NULL;
}
