// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks merged into a tree; see calltree.h. Nodes are in one array, and found by a hash table of
 * (parent, name, kind), because a node may have thousands of children. A node comes after its
 * parent in the array, so one pass from the end computes all totals.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/strpool.h"
#include "output/calltree.h"
#include "output/quantity.h"

#define NAME_BYTES 32 /* average bytes per node: many nodes share one name */

struct calltree {
	struct calltree_node *nodes;
	size_t count, capacity, max_nodes;
	uint32_t *slots; /* hash table of node numbers, at most half full; CALLTREE_NONE: free */
	size_t n_slots;	 /* number of slots, a power of two */
	struct strpool *names;
	uint64_t merged;
	/* total of all values, now and before: if it doesn't overflow, no other total does */
	uint64_t sum;
	unsigned int decimals;
};

static void clear_slots(struct calltree *tree, size_t n_slots)
{
	free(tree->slots);
	tree->n_slots = n_slots;
	tree->slots = mem_zalloc(n_slots, sizeof(*tree->slots));
	memset(tree->slots, 0xff, n_slots * sizeof(*tree->slots));
}

static uint32_t append_node(struct calltree *tree, uint32_t parent, const char *name,
			    enum frame_kind kind)
{
	struct calltree_node node = {
		.name = name,
		.kind = kind,
		.parent = parent,
		.first_child = CALLTREE_NONE,
		.next_sibling = CALLTREE_NONE,
	};

	tree->nodes = mem_grow(tree->nodes, tree->count, &tree->capacity, sizeof(*tree->nodes));
	if (parent != CALLTREE_NONE) {
		node.next_sibling = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = (uint32_t)tree->count;
	}
	tree->nodes[tree->count] = node;
	return (uint32_t)tree->count++;
}

struct calltree *calltree_new(size_t max_nodes)
{
	struct calltree *tree = mem_zalloc(1, sizeof(*tree));

	tree->max_nodes = max_nodes;
	tree->names = strpool_new();
	clear_slots(tree, 4096);
	append_node(tree, CALLTREE_NONE, strpool_intern(tree->names, "all"), FRAME_MARK);
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->slots);
	strpool_free(tree->names);
	free(tree);
}

static uint64_t hash_node(uint32_t parent, const char *name, enum frame_kind kind)
{
	uint64_t hash = ((uintptr_t)name ^ (uint64_t)parent << 32 ^ kind) * 0x9e3779b97f4a7c15ULL;

	return hash ^ hash >> 32;
}

/* Returns the slot of the node, or the free slot for it. name: interned. */
static uint32_t *find_slot(const struct calltree *tree, uint32_t parent, const char *name,
			   enum frame_kind kind)
{
	size_t i = hash_node(parent, name, kind) & (tree->n_slots - 1);

	for (; tree->slots[i] != CALLTREE_NONE; i = (i + 1) & (tree->n_slots - 1)) {
		const struct calltree_node *node = &tree->nodes[tree->slots[i]];

		if (node->parent == parent && node->name == name && node->kind == kind)
			break;
	}
	return &tree->slots[i];
}

static void index_nodes(struct calltree *tree)
{
	for (size_t i = 1; i < tree->count; i++) {
		const struct calltree_node *node = &tree->nodes[i];

		*find_slot(tree, node->parent, node->name, node->kind) = (uint32_t)i;
	}
}

static uint32_t child_of(struct calltree *tree, uint32_t parent, const char *name,
			 enum frame_kind kind)
{
	uint32_t *slot = find_slot(tree, parent, name, kind), node;

	if (*slot != CALLTREE_NONE)
		return *slot;
	node = append_node(tree, parent, name, kind);
	*slot = node;
	if (tree->count * 2 > tree->n_slots) {
		clear_slots(tree, tree->n_slots * 2);
		index_nodes(tree);
	}
	return node;
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, const char *name,
			enum frame_kind kind)
{
	return child_of(tree, parent, strpool_intern(tree->names, name), kind);
}

/* Adds both values to *sum. False: overflow, and *sum is invalid. */
static bool add_to_sum(uint64_t *sum, struct calltree_value value)
{
	uint64_t both;

	return !__builtin_add_overflow(value.now, value.before, &both) &&
	       !__builtin_add_overflow(*sum, both, sum);
}

bool calltree_set_decimals(struct calltree *tree, unsigned int decimals, struct calltree_value more)
{
	int places = (int)decimals - (int)tree->decimals;
	uint64_t sum = tree->sum;

	if (!quantity_shift(&sum, places) || !add_to_sum(&sum, more))
		return false;
	tree->decimals = decimals;
	if (places)
		tree->sum = 0;
	for (size_t i = 0; places && i < tree->count; i++) {
		struct calltree_value *self = &tree->nodes[i].self;

		quantity_shift(&self->now, places);
		quantity_shift(&self->before, places);
		add_to_sum(&tree->sum, *self);
	}
	return true;
}

unsigned int calltree_decimals(const struct calltree *tree)
{
	return tree->decimals;
}

bool calltree_add(struct calltree *tree, uint32_t node, struct calltree_value value)
{
	uint64_t sum = tree->sum;

	if (!add_to_sum(&sum, value))
		return false;
	tree->sum = sum;
	calltree_value_add(&tree->nodes[node].self, value);
	return true;
}

static void compute_totals(struct calltree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct calltree_node *node = &tree->nodes[i];

		node->total = node->self;
		node->vanished = node->self.now ? 0 : node->self.before;
	}
	for (size_t i = tree->count; i-- > 1;) {
		struct calltree_node *parent = &tree->nodes[tree->nodes[i].parent];

		calltree_value_add(&parent->total, tree->nodes[i].total);
		parent->vanished += tree->nodes[i].vanished;
	}
}

/* ---- merging small nodes ---- */

static uint64_t weight(const struct calltree_node *node)
{
	return node->total.now + node->total.before;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Partitions the list: no value up to the returned index is greater than any after it. */
static size_t split(uint64_t *list, size_t n)
{
	uint64_t pivot = list[(n - 1) / 2];
	size_t low = 0, high = n - 1;

	for (;; low++, high--) {
		while (list[low] < pivot)
			low++;
		while (list[high] > pivot)
			high--;
		if (low >= high)
			return high;
		swap(&list[low], &list[high]);
	}
}

/* Returns the value at the index of the sorted list (Hoare's "Find"); reorders the list. */
static uint64_t select_at(uint64_t *list, size_t n, size_t index)
{
	while (n > 1) {
		size_t lower = split(list, n) + 1;

		if (index < lower) {
			n = lower;
		} else {
			list += lower;
			index -= lower;
			n -= lower;
		}
	}
	return *list;
}

/* Returns the median of the nodes' weights, at least 1. */
static uint64_t median_weight(const struct calltree *tree)
{
	uint64_t *weights = mem_zalloc(tree->count, sizeof(*weights)), median;

	for (size_t i = 0; i < tree->count; i++)
		weights[i] = weight(&tree->nodes[i]);
	median = select_at(weights, tree->count, tree->count / 2);
	free(weights);
	return median ? median : 1;
}

/*
 * Resets the tree to its root, with a new pool of names. The array's other elements stay readable.
 */
static void begin_anew(struct calltree *tree)
{
	const struct calltree_node root = tree->nodes[CALLTREE_ROOT];

	tree->count = 0;
	tree->names = strpool_new();
	clear_slots(tree, tree->n_slots);
	append_node(tree, CALLTREE_NONE, strpool_intern(tree->names, root.name), root.kind);
	tree->nodes[CALLTREE_ROOT].self = root.self;
}

/*
 * Keeps the nodes that weigh more than the limit: moves them to the array's beginning, and their
 * names into a new pool. Values of the rest go to a child CALLTREE_MERGED of the nearest ancestor
 * that stays. A parent comes before its children, and weighs at least as much.
 */
static void keep_heavy(struct calltree *tree, uint64_t limit)
{
	uint32_t *renamed = mem_zalloc(tree->count, sizeof(*renamed));
	struct strpool *old_names = tree->names;
	const char *old_merged = strpool_intern(old_names, CALLTREE_MERGED), *merged;
	size_t n_old = tree->count;

	begin_anew(tree);
	merged = strpool_intern(tree->names, CALLTREE_MERGED);
	for (size_t i = 1; i < n_old; i++) {
		const struct calltree_node old = tree->nodes[i];
		uint32_t parent = renamed[old.parent];
		bool stays = weight(&old) > limit && tree->nodes[parent].name != merged;

		if (!stays && tree->nodes[parent].name == merged)
			renamed[i] = parent;
		else if (stays)
			renamed[i] = calltree_child(tree, parent, old.name, old.kind);
		else
			renamed[i] = child_of(tree, parent, merged, FRAME_MARK);
		tree->merged += !stays && old.name != old_merged;
		calltree_value_add(&tree->nodes[renamed[i]].self, old.self);
	}
	free(renamed);
	strpool_free(old_names);
}

/* Returns true if the tree has grown to 1/part of its maximum. */
static bool has_grown_to(const struct calltree *tree, size_t part)
{
	return tree->count >= tree->max_nodes / part ||
	       strpool_bytes(tree->names) >= tree->max_nodes * NAME_BYTES / part;
}

bool calltree_shrink(struct calltree *tree)
{
	uint64_t limit;

	if (!has_grown_to(tree, 1))
		return false;
	compute_totals(tree);
	limit = median_weight(tree);
	keep_heavy(tree, limit);
	while (has_grown_to(tree, 2) && limit < UINT64_MAX) { /* nodes CALLTREE_MERGED count, too */
		limit = limit > UINT64_MAX / 2 ? UINT64_MAX : limit * 2;
		compute_totals(tree);
		keep_heavy(tree, limit);
	}
	return true;
}

/* ---- finishing ---- */

static int compare_nodes(const void *a, const void *b)
{
	const struct calltree_node *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name)
		       ?: ((*x)->kind > (*y)->kind) - ((*x)->kind < (*y)->kind);
}

/* Sorts a node's children by name. */
static void sort_children(struct calltree *tree, struct calltree_node *parent,
			  const struct calltree_node ***list, size_t *capacity)
{
	size_t n = 0;

	for (uint32_t i = parent->first_child; i != CALLTREE_NONE;
	     i = tree->nodes[i].next_sibling) {
		*MEM_APPEND(*list, n, *capacity) = &tree->nodes[i];
	}
	if (n < 2)
		return;
	SORT(*list, n, compare_nodes);
	parent->first_child = CALLTREE_NONE;
	while (n-- > 0) {
		uint32_t i = (uint32_t)((*list)[n] - tree->nodes);

		tree->nodes[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
}

void calltree_finish(struct calltree *tree)
{
	const struct calltree_node **list = NULL;
	size_t capacity = 0;

	compute_totals(tree);
	for (size_t i = 0; i < tree->count; i++)
		sort_children(tree, &tree->nodes[i], &list, &capacity);
	free(list);
}

size_t calltree_count(const struct calltree *tree)
{
	return tree->count;
}

const struct calltree_node *calltree_node(const struct calltree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

uint64_t calltree_merged(const struct calltree *tree)
{
	return tree->merged;
}
