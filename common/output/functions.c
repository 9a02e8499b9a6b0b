// SPDX-License-Identifier: GPL-2.0-only
/* Call trees by function; see functions.h. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/order.h"
#include "output/functions.h"
#include "output/quantity.h"

/* Functions while the tree is walked: `depth` is how often one is among the current callers. */
struct entry {
	struct function function;
	uint32_t depth;
};

struct walk {
	const struct calltree *tree;
	struct entry *slots; /* by name and kind; name NULL: free; at most half full */
	size_t n_slots, n;   /* n_slots: a power of two */
};

static struct entry *find_slot(const struct walk *walk, const char *name, enum frame_kind kind)
{
	uint64_t hash = ((uintptr_t)name ^ kind) * 0x9e3779b97f4a7c15ULL;
	size_t i = (hash ^ hash >> 32) & (walk->n_slots - 1);

	while (walk->slots[i].function.name &&
	       (walk->slots[i].function.name != name || walk->slots[i].function.kind != kind))
		i = (i + 1) & (walk->n_slots - 1);
	return &walk->slots[i];
}

static void double_slots(struct walk *walk)
{
	struct entry *old = walk->slots;
	size_t n_old = walk->n_slots;

	walk->n_slots = n_old ? n_old * 2 : 256;
	walk->slots = mem_zalloc(walk->n_slots, sizeof(*walk->slots));
	for (size_t i = 0; i < n_old; i++)
		if (old[i].function.name)
			*find_slot(walk, old[i].function.name, old[i].function.kind) = old[i];
	free(old);
}

static struct entry *find_entry(struct walk *walk, const struct calltree_node *node)
{
	struct entry *entry;

	if (walk->n * 2 >= walk->n_slots)
		double_slots(walk);
	entry = find_slot(walk, node->name, node->kind);
	if (!entry->function.name) {
		entry->function.name = node->name;
		entry->function.kind = node->kind;
		walk->n++;
	}
	return entry;
}

/* Where a walk is: whose own value that of a node is. */
struct place {
	const struct calltree_node *owner; /* NULL: nobody's yet */
	bool is_wakers;			   /* what follows is no part of the stack that waits */
};

static void visit_children(struct walk *walk, const struct calltree_node *node, struct place place);

static void visit_function(struct walk *walk, const struct calltree_node *node, struct place place)
{
	struct entry *entry = find_entry(walk, node);

	if (!entry->depth++)
		calltree_value_add(&entry->function.total, node->total);
	if (!place.is_wakers)
		place.owner = node;
	calltree_value_add(&find_entry(walk, place.owner)->function.self, node->self);
	visit_children(walk, node, place);
	find_entry(walk, node)->depth--; /* the table may have moved */
}

/* A remark or a separator is no function: what it has is that of the function above it. */
static void visit(struct walk *walk, const struct calltree_node *node, struct place place)
{
	bool stands_alone = !place.owner && (node->self.now || node->first_child == CALLTREE_NONE);

	if (node->kind != FRAME_MARK || stands_alone) {
		visit_function(walk, node, place);
		return;
	}
	if (place.owner)
		calltree_value_add(&find_entry(walk, place.owner)->function.self, node->self);
	place.is_wakers |= place.owner && !strcmp(node->name, "--");
	visit_children(walk, node, place);
}

static void visit_children(struct walk *walk, const struct calltree_node *node, struct place place)
{
	const struct calltree_node *child;

	for (uint32_t i = node->first_child; i != CALLTREE_NONE; i = child->next_sibling) {
		child = calltree_node(walk->tree, i);
		visit(walk, child, place);
	}
}

static int compare_by_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int order = order_u64(y->self.now, x->self.now);

	if (!order)
		order = order_u64(y->total.now, x->total.now);
	return order ? order : strcmp(x->name, y->name);
}

static int compare_by_total(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int order = order_u64(y->total.now, x->total.now);

	return order ? order : compare_by_self(a, b);
}

struct functions *functions_new(const struct calltree *tree, bool by_total)
{
	struct functions *functions = mem_zalloc(1, sizeof(*functions));
	struct walk walk = { .tree = tree };

	visit_children(&walk, calltree_node(tree, CALLTREE_ROOT), (struct place){});
	functions->list = mem_zalloc(walk.n, sizeof(*functions->list));
	for (size_t i = 0; i < walk.n_slots; i++)
		if (walk.slots[i].function.name)
			functions->list[functions->n++] = walk.slots[i].function;
	free(walk.slots);
	if (functions->n)
		qsort(functions->list, functions->n, sizeof(*functions->list),
		      by_total ? compare_by_total : compare_by_self);
	return functions;
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	free(functions->list);
	free(functions);
}

static void print_function(FILE *f, const struct function *function, double whole, const char *unit)
{
	char self[QUANTITY_MAX], total[QUANTITY_MAX];

	fprintf(f, "%14s %6.2f %14s %6.2f  ", quantity_format_short(self, function->self.now, unit),
		100 * (double)function->self.now / whole,
		quantity_format_short(total, function->total.now, unit),
		100 * (double)function->total.now / whole);
	escape_print(f, function->name, NULL);
	fputc('\n', f);
}

void functions_print(FILE *f, const struct functions *functions, const struct calltree *tree,
		     size_t n, const char *unit)
{
	uint64_t total = calltree_node(tree, CALLTREE_ROOT)->total.now;

	fprintf(f, "%14s %6s %14s %6s  %s\n", "SELF", "%", "TOTAL", "%", "FUNCTION");
	for (size_t i = 0; i < functions->n && i < n; i++)
		print_function(f, &functions->list[i], total ? (double)total : 1, unit);
}
