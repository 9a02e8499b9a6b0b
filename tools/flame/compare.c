// SPDX-License-Identifier: GPL-2.0-only
/* Functions of two sides of runs, compared; see compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "base/strpool.h"
#include "flame/compare.h"
#include "output/folded_tree.h"
#include "output/functions.h"
#include "output/quantity.h"

#define ONE_FALSE_IN   1000.0 /* comparisons of equal sides: in one, a difference counts */
#define MAX_DEVIATIONS 12     /* deviations that one of 10^30 functions exceeds */
#define MAX_DIGITS     1e18   /* fits into 64 bits */

enum side { BEFORE, AFTER, N_SIDES };

/* A function's values in the runs of a side; runs without the function have the value 0. */
struct values {
	double sum, squares; /* totals of the values, and of their squares */
	double mean, variance;
};

struct entry {
	const char *name;
	enum frame_kind kind;
	struct values sides[N_SIDES];
	double growth, noise; /* difference of the means; what the growth has to exceed */
};

struct comparison {
	struct options *how;
	char **paths;
	struct strpool *strings;
	struct idmap by_name; /* struct entry, by name and kind */
	struct entry **list;
	size_t n;
	unsigned int decimals;
	double runs[N_SIDES], scales[N_SIDES];
	double first_total; /* with --shares, all runs are scaled to the first one's total */
	double dispersion;  /* variance of a value of 1; 0: unknown */
	double deviations;  /* noise, in standard deviations */
	struct entry all;
};

/* ---- reading ---- */

/* Returns the function's entry; makes it if needed. User addresses have at most 56 bits. */
static struct entry *find_entry(struct comparison *c, const struct function *function)
{
	const char *name = strpool_intern(c->strings, function->name);
	uint64_t id = (uint64_t)function->kind << 56 | (uintptr_t)name;
	struct entry *entry = idmap_find(&c->by_name, id);

	if (!entry) {
		entry = mem_zalloc(1, sizeof(*entry));
		entry->name = name;
		entry->kind = function->kind;
		idmap_add(&c->by_name, id, entry);
	}
	return entry;
}

static void add_value(struct values *values, double value)
{
	values->sum += value;
	values->squares += value * value;
}

/* Returns the factor for the values of a run with this total. */
static double scale_of_run(struct comparison *c, double total)
{
	if (!c->how->shares || !(total > 0))
		return 1;
	if (!(c->first_total > 0))
		c->first_total = total;
	return c->first_total / total;
}

static void add_run(struct comparison *c, const struct calltree *tree, enum side side, bool is_now)
{
	struct functions *functions = functions_new(tree, false);
	unsigned int decimals = calltree_decimals(tree);
	struct calltree_value all = calltree_node(tree, CALLTREE_ROOT)->total;
	double total = quantity_double(is_now ? all.now : all.before, decimals);
	double scale = scale_of_run(c, total);

	for (size_t i = 0; i < functions->n; i++) {
		struct calltree_value self = functions->list[i].self;

		add_value(&find_entry(c, &functions->list[i])->sides[side],
			  scale * quantity_double(is_now ? self.now : self.before, decimals));
	}
	add_value(&c->all.sides[side], scale * total);
	c->decimals = decimals > c->decimals ? decimals : c->decimals;
	functions_free(functions);
	c->runs[side]++;
}

/* Reads file i. A single file has the values of both sides. */
static int read_run(struct comparison *c, size_t i)
{
	struct options *how = c->how;
	struct folded_set set = { .compares = how->n == 1, .names = &how->names };
	struct calltree *tree = calltree_new(CALLTREE_MAX_NODES);
	int err = folded_tree_read_files(tree, 1, &c->paths[i], &set);

	if (!err && (how->n == 1 || i < how->n_before))
		add_run(c, tree, BEFORE, how->n > 1);
	if (!err && (how->n == 1 || i >= how->n_before))
		add_run(c, tree, AFTER, true);
	calltree_free(tree);
	return err;
}

/* ---- noise ---- */

static double larger_of(double a, double b)
{
	return a > b ? a : b;
}

static void average(struct values *values, double runs)
{
	double spread;

	values->mean = values->sum / runs;
	spread = values->squares - values->sum * values->mean;
	values->variance = runs > 1 && spread > 0 ? spread / (runs - 1) : 0;
}

static void list_entry(struct comparison *c, struct entry *entry)
{
	for (enum side side = 0; side < N_SIDES; side++)
		average(&entry->sides[side], c->runs[side]);
	if (entry->sides[BEFORE].mean > 0 || entry->sides[AFTER].mean > 0)
		c->list[c->n++] = entry;
}

/*
 * Returns the variance to expect of a value of 1, from all functions: few runs of one function may
 * agree by chance.
 */
static double find_dispersion(const struct comparison *c)
{
	double variance = 0, mean = 0, found;

	for (size_t i = 0; i < c->n; i++)
		for (enum side side = 0; side < N_SIDES; side++) {
			if (c->runs[side] < 2)
				continue;
			variance += c->list[i]->sides[side].variance;
			mean += c->list[i]->sides[side].mean;
		}
	found = mean > 0 ? variance / mean : 0;
	return strcmp(c->how->picture.unit, "samples") ? found : larger_of(found, 1);
}

/*
 * Returns how much more the runs of a side vary for this function than for all, at least 1. Both
 * sides are taken together: the variance of three runs alone says little.
 */
static double find_excess(const struct comparison *c, const struct entry *entry)
{
	double variance = 0, runs = 0;

	for (enum side side = 0; side < N_SIDES; side++) {
		double expected = c->dispersion * entry->sides[side].mean;

		if (c->runs[side] < 2 || !(expected > 0))
			continue;
		variance += (c->runs[side] - 1) * entry->sides[side].variance / expected;
		runs += c->runs[side] - 1;
	}
	return runs > 0 ? larger_of(variance / runs, 1) : 1;
}

/* Scales a side's mean. Returns the variance of the scaled mean, estimated from all functions. */
static double scale_side(const struct comparison *c, struct entry *entry, enum side side)
{
	struct values *values = &entry->sides[side];
	double variance = c->dispersion * values->mean;

	values->mean *= c->scales[side];
	return c->scales[side] * c->scales[side] * variance / c->runs[side];
}

/* Sets growth and noise: of ONE_FALSE_IN pairs of equal sides, one has a growth above the noise. */
static void measure(const struct comparison *c, struct entry *entry)
{
	double variance = find_excess(c, entry);

	variance *= scale_side(c, entry, BEFORE) + scale_side(c, entry, AFTER);
	entry->growth = entry->sides[AFTER].mean - entry->sides[BEFORE].mean;
	entry->noise = c->deviations * sqrt(variance);
}

/* Returns how many standard deviations a normal value exceeds with this chance. */
static double find_deviations(double chance)
{
	double low = 0, high = MAX_DEVIATIONS, middle;

	while (high - low > 1e-6) {
		middle = (low + high) / 2;
		if (erfc(middle / M_SQRT2) / 2 > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	double larger = fabs(y->growth) - fabs(x->growth);

	return larger > 0 ? 1 : larger < 0 ? -1 : strcmp(x->name, y->name);
}

static void measure_all(struct comparison *c)
{
	struct entry *entry;

	c->list = mem_zalloc(c->by_name.count + 1, sizeof(struct entry *));
	for (size_t at = 0; (entry = idmap_next(&c->by_name, &at));)
		list_entry(c, entry);
	c->dispersion = find_dispersion(c);
	c->deviations = find_deviations(1 / (ONE_FALSE_IN * (double)(c->n + 1)));
	for (size_t i = 0; i < c->n; i++)
		measure(c, c->list[i]);
	SORT(c->list, c->n, compare_entries);
	for (enum side side = 0; side < N_SIDES; side++)
		average(&c->all.sides[side], c->runs[side]);
	measure(c, &c->all);
}

/* ---- the table ---- */

static void print_value(const struct comparison *c, FILE *f, const char *plus, double value)
{
	unsigned int decimals = c->decimals + (c->runs[BEFORE] > 1 || c->runs[AFTER] > 1);
	double digits = fabs(value);
	char text[QUANTITY_MAX], sign[QUANTITY_MAX + 1];

	for (unsigned int i = 0; i < decimals; i++)
		digits *= 10;
	for (; digits > MAX_DIGITS && decimals; decimals--)
		digits /= 10;
	quantity_format_short(text, digits < MAX_DIGITS ? (uint64_t)(digits + 0.5) : UINT64_MAX,
			      decimals, c->how->picture.unit);
	snprintf(sign, sizeof(sign), "%s%s", value < 0 ? "-" : plus, text);
	fprintf(f, "%12s ", sign);
}

static void print_growth(FILE *f, const struct entry *entry)
{
	double before = entry->sides[BEFORE].mean;

	if (!(before > 0))
		fprintf(f, "%9s", entry->growth > 0 ? "new" : "-");
	else if (!(entry->sides[AFTER].mean > 0))
		fprintf(f, "%9s", "vanished");
	else
		fprintf(f, "%+9.1f", 100 * entry->growth / before);
}

static void print_entry(const struct comparison *c, FILE *f, const struct entry *entry)
{
	double all = c->all.sides[BEFORE].mean;

	print_value(c, f, "", entry->sides[BEFORE].mean);
	print_value(c, f, "", entry->sides[AFTER].mean);
	print_value(c, f, "+", entry->growth);
	if (c->dispersion > 0)
		print_value(c, f, "", entry->noise);
	else
		fprintf(f, "%12s ", "?");
	fprintf(f, "%+7.2f ", all > 0 ? 100 * entry->growth / all : 0);
	print_growth(f, entry);
	fputs("  ", f);
	escape_print(f, entry->name, NULL);
	fputc('\n', f);
}

static void print_table(const struct comparison *c, FILE *f)
{
	fprintf(f, "%12s %12s %12s %12s %7s %9s  FUNCTION\n", "BEFORE", "AFTER", "DIFFERENCE",
		"NOISE", "OF ALL%", "GROWTH%");
	print_entry(c, f, &c->all);
	for (size_t i = 0; i < c->n && i < c->how->top; i++)
		print_entry(c, f, c->list[i]);
}

/* ---- the limit ---- */

static bool is_too_large(const struct comparison *c, const struct entry *entry)
{
	return entry->growth > entry->noise &&
	       entry->growth > c->how->limit * entry->sides[BEFORE].mean;
}

static int count_grown(const struct comparison *c)
{
	const struct entry *first = NULL;
	char *name;
	int n = 0;

	for (size_t i = 0; c->how->limit >= 0 && i < c->n; i++) {
		if (!is_too_large(c, c->list[i]))
			continue;
		n++;
		first = first ? first : c->list[i];
	}
	if (!n)
		return 0;
	name = mem_escape(first->name);
	msg_error("%s: grew by more than %g %% and the noise (functions over the limit: %d)", name,
		  100 * c->how->limit, n);
	free(name);
	return n;
}

int compare_print(FILE *f, struct options *how, char **paths)
{
	double scale = how->picture.before_scale;
	struct comparison c = {
		.how = how,
		.paths = paths,
		.strings = strpool_new(),
		.scales = { scale > 0 ? scale : 1, 1 },
		.all.name = "all",
	};
	int err = 0;

	for (size_t i = 0; !err && i < how->n; i++)
		err = read_run(&c, i);
	if (!err) {
		measure_all(&c);
		if (!(c.dispersion > 0))
			msg_warn("noise unknown: every difference counts (record each side "
				 "several times: A1 A2 A3 -- B1 B2 B3)");
		else if (c.runs[BEFORE] < 2 && c.runs[AFTER] < 2)
			msg_warn("noise of sampling only: runs differ more (record each side "
				 "several times: A1 A2 A3 -- B1 B2 B3)");
		print_table(&c, f);
		err = count_grown(&c);
	}
	free(c.list);
	idmap_free(&c.by_name, free);
	strpool_free(c.strings);
	return err;
}
