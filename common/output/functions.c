// SPDX-License-Identifier: GPL-2.0-only
/* Call trees by function; see functions.h. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/order.h"
#include "output/functions.h"
#include "output/quantity.h"

/* A function during the walk of the tree. depth: number of its frames among the current callers. */
struct entry {
	struct function function;
	uint32_t depth;
};

struct walk {
	const struct calltree *tree;
	struct idmap entries; /* struct entry by name and kind */
};

/*
 * Returns the kind of the node's row. Inlined, compiled and interpreted code of a function share
 * one; merged frames are a function, too.
 */
static enum frame_kind kind_of_row(const struct calltree_node *node)
{
	bool is_marker = node->kind == FRAME_MARK && strcmp(node->name, CALLTREE_MERGED);

	return is_marker || node->kind == FRAME_KERNEL ? node->kind : FRAME_USER;
}

/* Returns the function's entry; makes it if needed. User addresses have at most 56 bits. */
static struct entry *find_entry(struct walk *walk, const struct calltree_node *node)
{
	enum frame_kind kind = kind_of_row(node);
	uint64_t id = (uint64_t)kind << 56 | (uintptr_t)node->name;
	struct entry *entry = idmap_find(&walk->entries, id);

	if (!entry) {
		entry = mem_zalloc(1, sizeof(*entry));
		entry->function.name = node->name;
		entry->function.kind = kind;
		idmap_add(&walk->entries, id, entry);
	}
	return entry;
}

/* State of a walk. */
struct place {
	/* its function gets the own values of visited nodes; NULL: none yet */
	const struct calltree_node *owner;
	bool is_wakers; /* node and descendants are in a waker's stack */
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
	entry->depth--;
}

/* Visits a node. A marker is not a function: its value goes to its caller function. */
static void visit(struct walk *walk, const struct calltree_node *node, struct place place)
{
	bool stands_alone = !place.owner && (node->self.now || node->first_child == CALLTREE_NONE);

	if (kind_of_row(node) != FRAME_MARK || stands_alone) {
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
	int order = order_u64(y->self.now, x->self.now) ?: order_u64(y->total.now, x->total.now);

	return order ?: strcmp(x->name, y->name);
}

static int compare_by_total(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return order_u64(y->total.now, x->total.now) ?: compare_by_self(a, b);
}

struct functions *functions_new(const struct calltree *tree, bool by_total)
{
	struct functions *functions = mem_zalloc(1, sizeof(*functions));
	struct walk walk = { .tree = tree };
	const struct entry *entry;

	visit_children(&walk, calltree_node(tree, CALLTREE_ROOT), (struct place){});
	functions->list = mem_zalloc(walk.entries.count, sizeof(*functions->list));
	for (size_t at = 0; (entry = idmap_next(&walk.entries, &at));)
		functions->list[functions->n++] = entry->function;
	idmap_free(&walk.entries, free);
	SORT(functions->list, functions->n, by_total ? compare_by_total : compare_by_self);
	return functions;
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	free(functions->list);
	free(functions);
}

static void print_function(FILE *f, const struct function *function, const struct calltree *tree,
			   const char *unit)
{
	unsigned int decimals = calltree_decimals(tree);
	uint64_t all = calltree_node(tree, CALLTREE_ROOT)->total.now;
	double whole = all ? (double)all : 1;
	char self[QUANTITY_MAX], total[QUANTITY_MAX];

	fprintf(f, "%14s %6.2f %14s %6.2f  ",
		quantity_format_short(self, function->self.now, decimals, unit),
		100 * (double)function->self.now / whole,
		quantity_format_short(total, function->total.now, decimals, unit),
		100 * (double)function->total.now / whole);
	escape_print(f, function->name, NULL);
	fputc('\n', f);
}

void functions_print(FILE *f, const struct functions *functions, const struct calltree *tree,
		     size_t n, const char *unit)
{
	fprintf(f, "%14s %6s %14s %6s  %s\n", "SELF", "%", "TOTAL", "%", "FUNCTION");
	for (size_t i = 0; i < functions->n && i < n; i++)
		print_function(f, &functions->list[i], tree, unit);
}
