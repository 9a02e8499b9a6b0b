// SPDX-License-Identifier: GPL-2.0-only
/* A hash table of sums, filled at most by half; see stacksums.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/mem.h"
#include "stacks/stacksums.h"

#define FIRST_SLOTS 4096

struct stack_sums_item {
	struct stack_key key;
	struct stack_sum sum;
};

/* The ids are hashes; what else is in a key keeps apart those with the same ones. */
static uint64_t hash_key(const struct stack_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)];

	_Static_assert(sizeof(words) == sizeof(*key), "a key is whole words");
	memcpy(words, key, sizeof(words));
	return hash_words(words, ARRAY_SIZE(words));
}

/* Returns the slot that has the key, or the free one where it belongs. */
static uint32_t *find_slot(const struct stack_sums *sums, const struct stack_key *key)
{
	size_t i = hash_key(key) & (sums->n_slots - 1);

	while (sums->slots[i] && memcmp(&sums->items[sums->slots[i] - 1].key, key, sizeof(*key)))
		i = (i + 1) & (sums->n_slots - 1);
	return &sums->slots[i];
}

static void double_slots(struct stack_sums *sums)
{
	free(sums->slots);
	sums->n_slots = sums->n_slots ? sums->n_slots * 2 : FIRST_SLOTS;
	sums->slots = mem_zalloc(sums->n_slots, sizeof(*sums->slots));
	sums->items = mem_realloc(sums->items, sums->n_slots / 2, sizeof(*sums->items));
	for (size_t i = 0; i < sums->n; i++)
		*find_slot(sums, &sums->items[i].key) = (uint32_t)i + 1;
}

void stack_sums_add(struct stack_sums *sums, const struct stack_key *key,
		    const struct stack_sum *sum)
{
	struct stack_sum *known;
	uint32_t *slot;

	if (sums->n == sums->n_slots / 2)
		double_slots(sums);
	slot = find_slot(sums, key);
	if (!*slot) {
		sums->items[sums->n++] = (struct stack_sums_item){ .key = *key };
		*slot = (uint32_t)sums->n;
	}
	known = &sums->items[*slot - 1].sum;
	known->value += sum->value;
	known->part += sum->part;
}

const struct stack_sum *stack_sums_find(const struct stack_sums *sums, const struct stack_key *key)
{
	uint32_t slot = sums->n ? *find_slot(sums, key) : 0;

	return slot ? &sums->items[slot - 1].sum : NULL;
}

void stack_sums_fold(struct stack_sums *sums, bool (*is_gone)(uint32_t id))
{
	struct stack_sums folded = {};

	for (size_t i = 0; i < sums->n; i++) {
		struct stack_key key = sums->items[i].key;

		if (is_gone(key.tgid))
			key.tgid = 0;
		if (is_gone(key.tid))
			key.tid = 0;
		stack_sums_add(&folded, &key, &sums->items[i].sum);
	}
	stack_sums_clear(sums);
	*sums = folded;
}

void stack_sums_visit(const struct stack_sums *sums,
		      void (*visit)(const void *key, const void *sum, void *arg), void *arg)
{
	for (size_t i = 0; i < sums->n; i++)
		visit(&sums->items[i].key, &sums->items[i].sum, arg);
}

void stack_sums_clear(struct stack_sums *sums)
{
	free(sums->items);
	free(sums->slots);
	*sums = (struct stack_sums){};
}
