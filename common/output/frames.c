// SPDX-License-Identifier: GPL-2.0-only
/* A table of frames; see frames.h. Texts are interned, so that frames are compared by addresses. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/strpool.h"
#include "output/frames.h"

#define FEW 4096

struct known_frame {
	struct hashlink link;
	struct frame frame;
	uint32_t n_users;
};

struct frame_table {
	struct hashtable frames;
	struct strpool *texts;
	size_t n_kept; /* number of strings after the last renew_texts() */
};

struct frame_table *frame_table_new(void)
{
	struct frame_table *table = mem_zalloc(1, sizeof(*table));

	table->texts = strpool_new();
	return table;
}

void frame_table_free(struct frame_table *table)
{
	if (!table)
		return;
	hashtable_free(&table->frames, hashlink_free);
	strpool_free(table->texts);
	free(table);
}

static const char *intern(struct frame_table *table, const char *text)
{
	return text ? strpool_intern(table->texts, text) : NULL;
}

static void intern_texts(struct frame_table *table, struct frame *frame)
{
	frame->name = intern(table, frame->name);
	frame->file = intern(table, frame->file);
	frame->symbol = intern(table, frame->symbol);
}

static uint64_t hash_frame(const struct frame *frame)
{
	uint64_t hash = hash_add((uintptr_t)frame->name, (uint64_t)frame->kind << 32 | frame->line);

	hash = hash_add(hash, (uintptr_t)frame->file ^ (uintptr_t)frame->symbol);
	return hash_add(hash, (uintptr_t)frame->image ^ frame->address);
}

static bool is_equal(const struct frame *a, const struct frame *b)
{
	return a->name == b->name && a->kind == b->kind && a->file == b->file &&
	       a->line == b->line && a->symbol == b->symbol && a->image == b->image &&
	       a->address == b->address;
}

static struct known_frame *find_frame(const struct frame_table *table, const struct frame *frame,
				      uint64_t hash)
{
	for_each_linked(struct known_frame, known, link, &table->frames, hash)
		if (is_equal(&known->frame, frame))
			return known;
	return NULL;
}

const struct frame *frame_table_get(struct frame_table *table, const struct frame *frame)
{
	struct frame own = *frame;
	struct known_frame *known;
	uint64_t hash;

	intern_texts(table, &own);
	hash = hash_frame(&own);
	known = find_frame(table, &own, hash);
	if (!known) {
		known = mem_zalloc(1, sizeof(*known));
		known->frame = own;
		hashtable_add(&table->frames, &known->link, hash);
	}
	known->n_users++;
	return &known->frame;
}

void frame_release(const struct frame *frame)
{
	container_of((struct frame *)frame, struct known_frame, frame)->n_users--;
}

/* ---- release ---- */

/* Moves the strings in use to a new pool and frees the old one. */
static void renew_texts(struct frame_table *table)
{
	struct hashtable frames = table->frames;
	struct strpool *texts = table->texts;

	table->frames = (struct hashtable){};
	table->texts = strpool_new();
	for_each_element(struct known_frame, known, next, link, &frames) {
		intern_texts(table, &known->frame);
		hashtable_add(&table->frames, &known->link, hash_frame(&known->frame));
	}
	hashtable_free(&frames, NULL);
	strpool_free(texts);
	table->n_kept = strpool_count(table->texts);
}

void frame_table_release(struct frame_table *table)
{
	for_each_element(struct known_frame, known, next, link, &table->frames) {
		if (known->n_users)
			continue;
		hashtable_remove(&table->frames, &known->link);
		free(known);
	}
	if (strpool_count(table->texts) > 2 * table->n_kept + FEW)
		renew_texts(table);
}

size_t frame_table_count(const struct frame_table *table)
{
	return table->frames.count;
}
