// SPDX-License-Identifier: GPL-2.0-only
/* Call trees by function; see functions.h. */
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/functions.h"
#include "base/mem.h"
#include "base/order.h"
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

static void visit(struct walk *walk, uint32_t index)
{
	const struct calltree_node *node = calltree_node(walk->tree, index);
	struct entry *entry = find_entry(walk, node);

	calltree_value_add(&entry->function.self, node->self);
	if (!entry->depth++)
		calltree_value_add(&entry->function.total, node->total);
	for (uint32_t i = node->first_child; i != CALLTREE_NONE;
	     i = calltree_node(walk->tree, i)->next_sibling)
		visit(walk, i);
	find_entry(walk, node)->depth--; /* the table may have moved */
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int order = order_u64(y->self.now, x->self.now);

	if (!order)
		order = order_u64(y->total.now, x->total.now);
	return order ? order : strcmp(x->name, y->name);
}

struct functions *functions_new(const struct calltree *tree)
{
	const struct calltree_node *root = calltree_node(tree, CALLTREE_ROOT);
	struct functions *functions = mem_zalloc(1, sizeof(*functions));
	struct walk walk = { .tree = tree };

	for (uint32_t i = root->first_child; i != CALLTREE_NONE;
	     i = calltree_node(tree, i)->next_sibling)
		visit(&walk, i);
	functions->list = mem_zalloc(walk.n, sizeof(*functions->list));
	for (size_t i = 0; i < walk.n_slots; i++)
		if (walk.slots[i].function.name)
			functions->list[functions->n++] = walk.slots[i].function;
	free(walk.slots);
	if (functions->n)
		qsort(functions->list, functions->n, sizeof(*functions->list), compare_functions);
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
