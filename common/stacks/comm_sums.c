// SPDX-License-Identifier: GPL-2.0-only
/* Sums by comm; see comm_sums.h. */
#include <stdlib.h>
#include <string.h>

#include "stacks/comm_sums.h"

static struct comm_sum *find_sum(struct comm_sums *sums, const char *comm)
{
	for (size_t i = 0; i < sums->n; i++)
		if (!strncmp(sums->items[i].comm, comm, sizeof(sums->items[i].comm)))
			return &sums->items[i];
	return NULL;
}

static struct comm_sum *new_sum(struct comm_sums *sums, const char *comm)
{
	struct comm_sum *sum;

	if (sums->n == COMM_SUMS_MAX) {
		comm_sums_sort(sums);
		sums->n /= 2;
	}
	sum = &sums->items[sums->n++];
	*sum = (struct comm_sum){};
	memcpy(sum->comm, comm, strnlen(comm, sizeof(sum->comm)));
	return sum;
}

void comm_sums_add(struct comm_sums *sums, const char *comm, uint64_t value)
{
	struct comm_sum *sum = find_sum(sums, comm);

	if (!sum)
		sum = new_sum(sums, comm);
	sum->value += value;
}

void comm_sums_merge(struct comm_sums *sums, const struct comm_sums *more)
{
	for (size_t i = 0; i < more->n; i++)
		comm_sums_add(sums, more->items[i].comm, more->items[i].value);
}

static int compare_sums(const void *a, const void *b)
{
	const struct comm_sum *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return strncmp(x->comm, y->comm, sizeof(x->comm));
}

void comm_sums_sort(struct comm_sums *sums)
{
	qsort(sums->items, sums->n, sizeof(sums->items[0]), compare_sums);
}
