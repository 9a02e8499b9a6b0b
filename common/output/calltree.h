/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks merged into a tree: equal frames with equal callers are one node. Flame graphs, diffs and
 * tables of functions are made from it.
 *
 * Memory is bounded: when the tree exceeds max_nodes, or its names become too large, the smallest
 * subtrees of a node are merged into one child, named CALLTREE_MERGED. Names are lost, but no
 * value; see calltree_merged().
 */
#ifndef CALLTREE_H
#define CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/profile.h"

#define CALLTREE_MERGED	   "(merged)"
#define CALLTREE_MAX_NODES (1U << 20) /* the tools' limit: 180 MB */
#define CALLTREE_ROOT	   0U
#define CALLTREE_NONE	   UINT32_MAX

/* A stack's values: now, and in a comparison the earlier one (before), else 0. */
struct calltree_value {
	uint64_t now, before;
};

static inline void calltree_value_add(struct calltree_value *sum, struct calltree_value value)
{
	sum->now += value.now;
	sum->before += value.before;
}

struct calltree_node {
	const char *name; /* interned: equal names have equal addresses */
	enum frame_kind kind;
	uint32_t parent, first_child, next_sibling; /* CALLTREE_NONE: none */
	struct calltree_value self;
	struct calltree_value total; /* self plus all descendants; set by calltree_finish() */
	uint64_t vanished;	     /* `before` of total's stacks that have vanished; likewise */
};

struct calltree;

struct calltree *calltree_new(size_t max_nodes);
void calltree_free(struct calltree *tree);

/*
 * Returns the child with this name (copied) and kind; makes it if missing. Node numbers are valid
 * until calltree_shrink() returns true.
 */
uint32_t calltree_child(struct calltree *tree, uint32_t parent, const char *name,
			enum frame_kind kind);

/*
 * Makes the tree count in units of 10^-decimals (initially 0): multiplies its values, or divides
 * and rounds them. False, and nothing changed, if the total plus `more` would overflow 64 bits.
 */
bool calltree_set_decimals(struct calltree *tree, unsigned int decimals,
			   struct calltree_value more);
unsigned int calltree_decimals(const struct calltree *tree);

/* Adds to the node's self. False, and nothing added: the tree's total would overflow 64 bits. */
bool calltree_add(struct calltree *tree, uint32_t node, struct calltree_value value);

/* Merges small nodes if the tree is too large: true, node numbers change. Called between stacks. */
bool calltree_shrink(struct calltree *tree);

/* Computes the totals and sorts children by name. No value may be added afterwards. */
void calltree_finish(struct calltree *tree);

/* Nodes are numbered from 0, the root. */
size_t calltree_count(const struct calltree *tree);
const struct calltree_node *calltree_node(const struct calltree *tree, uint32_t node);

/* Returns the number of nodes merged because of the memory limit. */
uint64_t calltree_merged(const struct calltree *tree);

#endif
