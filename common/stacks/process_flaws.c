// SPDX-License-Identifier: GPL-2.0-only
/* Values of stacks that lack something, by process; see process_flaws.h. */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/process_flaws.h"
#include "stacks/stackdefs.h"

#define MAX_PROCESSES 1024
#define MAX_LINES     3
#define MANY	      10  /* worth a line: more than a tenth of a process's stacks, ... */
#define ENOUGH	      100 /* ... and a hundredth of all */

struct process_flaw {
	pid_t pid;
	char comm[TASK_COMM_LEN + 1]; /* of the thread that lacked something first */
	const struct runtime *runtime;
	char *file; /* the flaw's own may be gone before this is printed */
	bool has_names;
	uint64_t total, cut, unnamed;
	bool is_told;
};

struct process_flaws {
	struct process_flaw items[MAX_PROCESSES];
	size_t n;
	struct idmap by_pid; /* pid + 1: never 0 */
	uint64_t total;
};

struct process_flaws *process_flaws_new(void)
{
	return mem_zalloc(1, sizeof(struct process_flaws));
}

void process_flaws_free(struct process_flaws *flaws)
{
	if (!flaws)
		return;
	for (size_t i = 0; i < flaws->n; i++)
		free(flaws->items[i].file);
	idmap_free(&flaws->by_pid, NULL);
	free(flaws);
}

/* ---- the table ---- */

static uint64_t lacking(const struct process_flaw *p)
{
	return p->cut + p->unnamed;
}

static int compare_lacking(const void *a, const void *b)
{
	const struct process_flaw *x = a, *y = b;

	if (lacking(x) != lacking(y))
		return lacking(x) < lacking(y) ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void sort(struct process_flaws *flaws)
{
	qsort(flaws->items, flaws->n, sizeof(flaws->items[0]), compare_lacking);
	idmap_free(&flaws->by_pid, NULL);
	flaws->by_pid = (struct idmap){};
	for (size_t i = 0; i < flaws->n; i++)
		idmap_add(&flaws->by_pid, (uint64_t)flaws->items[i].pid + 1, &flaws->items[i]);
}

static void forget_half(struct process_flaws *flaws)
{
	sort(flaws);
	for (size_t i = flaws->n / 2; i < flaws->n; i++)
		free(flaws->items[i].file);
	flaws->n /= 2;
	sort(flaws);
}

static struct process_flaw *get_process(struct process_flaws *flaws, pid_t pid)
{
	struct process_flaw *p = idmap_find(&flaws->by_pid, (uint64_t)pid + 1);

	if (p)
		return p;
	if (flaws->n == MAX_PROCESSES)
		forget_half(flaws);
	p = &flaws->items[flaws->n++];
	*p = (struct process_flaw){ .pid = pid };
	idmap_add(&flaws->by_pid, (uint64_t)pid + 1, p);
	return p;
}

static void keep_file(struct process_flaw *p, const char *file)
{
	if (!file || (p->file && !strcmp(p->file, file)))
		return;
	free(p->file);
	p->file = mem_strdup(file);
}

void process_flaws_add(struct process_flaws *flaws, pid_t pid, const char *comm,
		       const struct stack_flaw *flaw, uint64_t value)
{
	struct process_flaw *p = get_process(flaws, pid);

	flaws->total += value;
	p->total += value;
	if (flaw->kind == FLAW_NONE)
		return;
	if (!lacking(p))
		memcpy(p->comm, comm, TASK_COMM_LEN);
	p->runtime = flaw->runtime ? flaw->runtime : p->runtime;
	keep_file(p, flaw->file);
	p->has_names |= flaw->has_names;
	*(flaw->kind == FLAW_CUT ? &p->cut : &p->unnamed) += value;
}

void process_flaws_count(struct process_flaws *flaws, const struct stackdefs *defs,
			 const struct stack_key *key, uint64_t value)
{
	const struct stack_flaw *flaw = key->tgid ? stackdefs_flaw(defs, key->user_id) : NULL;

	if (flaw)
		process_flaws_add(flaws, (pid_t)key->tgid, key->comm, flaw, value);
}

/* ---- lines ---- */

/* Processes that can be mended in the same way. */
struct group {
	const struct process_flaw *worst;
	uint64_t total, cut, unnamed;
	size_t n;
};

static bool is_many(uint64_t part, uint64_t total)
{
	return part > total / MANY;
}

static bool is_cut(const struct process_flaw *p)
{
	return is_many(p->cut, p->total);
}

static bool is_flawed(const struct process_flaw *p)
{
	return is_cut(p) || is_many(p->unnamed, p->total);
}

static bool is_of_same_file(const struct process_flaw *a, const struct process_flaw *b)
{
	return a->file && b->file ? !strcmp(a->file, b->file) : a->file == b->file;
}

static bool is_mended_likewise(const struct process_flaw *a, const struct process_flaw *b)
{
	return a->runtime == b->runtime && is_cut(a) == is_cut(b) && a->has_names == b->has_names &&
	       (a->runtime || is_of_same_file(a, b));
}

/* The processes from the first one on, which is the worst, that are not told yet. */
static struct group take_group(struct process_flaws *flaws, size_t first)
{
	struct group g = { .worst = &flaws->items[first] };

	for (size_t i = first; i < flaws->n; i++) {
		struct process_flaw *p = &flaws->items[i];

		if (p->is_told || !is_flawed(p) || !is_mended_likewise(p, g.worst))
			continue;
		p->is_told = true;
		g.total += p->total;
		g.cut += p->cut;
		g.unnamed += p->unnamed;
		g.n++;
	}
	return g;
}

/* "java (PID 812)", "java (PID 812 and 3 others)" */
static void describe_subject(const struct group *g, char *text, size_t size)
{
	const struct runtime *runtime = g->worst->runtime;
	char name[4 * TASK_COMM_LEN + 1], others[48] = "";

	escape_string(name, sizeof(name), runtime ? runtime->name : escape_no_name(g->worst->comm),
		      "");
	if (g->n > 1)
		snprintf(others, sizeof(others), " and %zu other%s", g->n - 1, g->n > 2 ? "s" : "");
	snprintf(text, size, "%s (PID %d%s)", name, g->worst->pid, others);
}

/* It has its names already by what would also have made its stacks complete, if anything could. */
static bool has_followed(const struct process_flaw *p)
{
	const struct runtime *runtime = p->runtime;

	return p->has_names && runtime->to_complete && runtime->to_name &&
	       !strcmp(runtime->to_complete, runtime->to_name);
}

/* What is to be done; false: nothing can be. */
static bool find_advice(const struct group *g, char *text, size_t size)
{
	const struct runtime *runtime = g->worst->runtime;
	const char *advice;

	if (runtime && is_cut(g->worst) && !has_followed(g->worst))
		advice = runtime->to_complete;
	else if (runtime)
		advice = g->worst->has_names ? NULL : runtime->to_name;
	else if (g->worst->file)
		advice = "build it with -fasynchronous-unwind-tables or "
			 "-fno-omit-frame-pointer";
	else
		advice = "its compiler is not known: see to it that it keeps frame pointers and "
			 "writes /tmp/perf-PID.map";
	if (advice)
		runtime_advice(text, size, advice, g->n > 1 ? 0 : g->worst->pid);
	return advice;
}

static void print_group(const struct group *g)
{
	char subject[128], advice[192], file[128] = "";
	double total = (double)g->total;

	if (!find_advice(g, advice, sizeof(advice)))
		return;
	describe_subject(g, subject, sizeof(subject));
	if (!is_cut(g->worst))
		msg_info("%s: %.0f %% of stacks have JIT code without names: %s", subject,
			 100.0 * (double)g->unnamed / total, advice);
	else if (g->worst->runtime || !g->worst->file)
		msg_info("%s: %.0f %% of stacks cut in JIT code: %s", subject,
			 100.0 * (double)g->cut / total, advice);
	else if (escape_string(file, sizeof(file), g->worst->file, ""))
		msg_info("%s: %.0f %% of stacks cut in %s, which has no unwind information: %s",
			 subject, 100.0 * (double)g->cut / total, file, advice);
}

void process_flaws_print(struct process_flaws *flaws, bool lacks_tables)
{
	size_t n_lines = 0;

	sort(flaws);
	for (size_t i = 0; i < flaws->n && n_lines < MAX_LINES; i++) {
		struct process_flaw *p = &flaws->items[i];
		struct group g;

		if (p->is_told || !is_flawed(p))
			continue;
		g = take_group(flaws, i);
		if ((g.cut + g.unnamed) * ENOUGH <= flaws->total || (p->file && lacks_tables))
			continue;
		print_group(&g);
		n_lines++;
	}
}
