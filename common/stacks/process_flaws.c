// SPDX-License-Identifier: GPL-2.0-only
/* Values of stacks that lack something, per process; see process_flaws.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/process_flaws.h"
#include "stacks/stackdefs.h"

#define MAX_PROCESSES 1024
#define MAX_FILES     16 /* of a process */
#define MAX_LINES     3
#define MANY	      10  /* threshold for a line: more than a tenth of a process's stacks, ... */
#define ENOUGH	      100 /* ... and a hundredth of all */

/* A process's stacks that were truncated in one file. */
struct cut {
	char *file; /* a copy, since the flaw's name may be freed earlier; NULL: in JIT code */
	int err;    /* see struct stack_flaw */
	uint64_t value;
};

struct process_flaw {
	pid_t pid;
	char comm[TASK_COMM_LEN + 1]; /* name of the first thread with such a stack */
	const struct runtime *runtime;
	bool has_names;
	uint64_t total, lacking, unnamed;
	struct cut *cuts; /* at most MAX_FILES, in no order */
	size_t n_cuts, cuts_capacity;
	bool is_reported;
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

static void free_cuts(struct process_flaw *p)
{
	for (size_t i = 0; i < p->n_cuts; i++)
		free(p->cuts[i].file);
	free(p->cuts);
}

void process_flaws_free(struct process_flaws *flaws)
{
	if (!flaws)
		return;
	for (size_t i = 0; i < flaws->n; i++)
		free_cuts(&flaws->items[i]);
	idmap_free(&flaws->by_pid, NULL);
	free(flaws);
}

/* ---- the table ---- */

static int compare_lacking(const void *a, const void *b)
{
	const struct process_flaw *x = a, *y = b;

	if (x->lacking != y->lacking)
		return x->lacking < y->lacking ? 1 : -1;
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
		free_cuts(&flaws->items[i]);
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

static bool is_of_file(const struct cut *cut, const char *file)
{
	return cut->file && file ? !strcmp(cut->file, file) : cut->file == file;
}

/* Returns an entry for one more file; if all are used, replaces the smallest. */
static struct cut *new_cut(struct process_flaw *p)
{
	struct cut *least = p->cuts;

	if (p->n_cuts < MAX_FILES) {
		p->cuts = mem_grow(p->cuts, p->n_cuts, &p->cuts_capacity, sizeof(*p->cuts));
		return &p->cuts[p->n_cuts++];
	}
	for (size_t i = 1; i < p->n_cuts; i++)
		if (p->cuts[i].value < least->value)
			least = &p->cuts[i];
	free(least->file);
	return least;
}

static struct cut *get_cut(struct process_flaw *p, const struct stack_flaw *flaw)
{
	struct cut *cut;

	for (size_t i = 0; i < p->n_cuts; i++)
		if (is_of_file(&p->cuts[i], flaw->file))
			return &p->cuts[i];
	cut = new_cut(p);
	*cut = (struct cut){ .file = flaw->file ? mem_strdup(flaw->file) : NULL, .err = flaw->err };
	return cut;
}

void process_flaws_add(struct process_flaws *flaws, pid_t pid, const char *comm,
		       const struct stack_flaw *flaw, uint64_t value)
{
	struct process_flaw *p = get_process(flaws, pid);

	flaws->total += value;
	p->total += value;
	if (flaw->kind == FLAW_NONE)
		return;
	if (!p->lacking)
		memcpy(p->comm, comm, TASK_COMM_LEN);
	p->runtime = flaw->runtime ? flaw->runtime : p->runtime;
	p->has_names |= flaw->has_names;
	p->lacking += value;
	*(flaw->kind == FLAW_CUT ? &get_cut(p, flaw)->value : &p->unnamed) += value;
}

void process_flaws_count(struct process_flaws *flaws, const struct stackdefs *defs,
			 const struct stack_key *key, uint64_t value)
{
	const struct stack_flaw *flaw = key->tgid ? stackdefs_flaw(defs, key->user_id) : NULL;

	if (flaw)
		process_flaws_add(flaws, (pid_t)key->tgid, key->comm, flaw, value);
}

/* ---- lines ---- */

/* Processes that need the same remedy. */
struct group {
	const struct process_flaw *worst;
	uint64_t total, cut, unnamed;
	size_t n;
};

static bool is_many(uint64_t part, uint64_t total)
{
	return part > total / MANY;
}

/* Returns the cause that has truncated most of its stacks. */
static const struct cut *worst_cut(const struct process_flaw *p)
{
	static const struct cut none;
	const struct cut *worst = &none;

	for (size_t i = 0; i < p->n_cuts; i++)
		if (p->cuts[i].value > worst->value)
			worst = &p->cuts[i];
	return worst;
}

static bool is_cut(const struct process_flaw *p)
{
	return is_many(worst_cut(p)->value, p->total);
}

static bool is_flawed(const struct process_flaw *p)
{
	return is_cut(p) || is_many(p->unnamed, p->total);
}

/* NULL: the remedy concerns JIT code. */
static const struct cut *flawed_file(const struct process_flaw *p)
{
	const struct cut *cut = worst_cut(p);

	return is_cut(p) && cut->file ? cut : NULL;
}

static bool is_mended_likewise(const struct process_flaw *a, const struct process_flaw *b)
{
	const struct cut *x = flawed_file(a), *y = flawed_file(b);

	if (x || y)
		return x && y && x->err == y->err && is_of_file(x, y->file);
	return a->runtime == b->runtime && is_cut(a) == is_cut(b) && a->has_names == b->has_names;
}

/* Groups the processes not reported yet that need the same remedy as the first one, the worst. */
static struct group take_group(struct process_flaws *flaws, size_t first)
{
	struct group g = { .worst = &flaws->items[first] };

	for (size_t i = first; i < flaws->n; i++) {
		struct process_flaw *p = &flaws->items[i];

		if (p->is_reported || !is_flawed(p) || !is_mended_likewise(p, g.worst))
			continue;
		p->is_reported = true;
		g.total += p->total;
		g.cut += worst_cut(p)->value;
		g.unnamed += p->unnamed;
		g.n++;
	}
	return g;
}

/* "java (PID 812)", "java (PID 812 and 3 others)" */
static void describe_subject(const struct group *g, const struct runtime *runtime, char *text,
			     size_t size)
{
	char name[4 * TASK_COMM_LEN + 1], others[48] = "";

	escape_string(name, sizeof(name), runtime ? runtime->name : escape_no_name(g->worst->comm),
		      "");
	if (g->n > 1)
		snprintf(others, sizeof(others), " and %zu other%s", g->n - 1, g->n > 2 ? "s" : "");
	snprintf(text, size, "%s (PID %d%s)", name, g->worst->pid, others);
}

/* Returns true if the setting that already gives it names is the one for complete stacks, too. */
static bool has_followed(const struct process_flaw *p)
{
	const struct runtime *runtime = p->runtime;

	return p->has_names && runtime->to_complete && runtime->to_name &&
	       !strcmp(runtime->to_complete, runtime->to_name);
}

/* Finds the remedy for JIT code; false: none. */
static bool find_advice(const struct group *g, char *text, size_t size)
{
	const struct runtime *runtime = g->worst->runtime;
	const char *advice;

	if (!runtime)
		advice = "unknown JIT: enable frame pointers and /tmp/perf-PID.map";
	else if (is_cut(g->worst) && !has_followed(g->worst))
		advice = runtime->to_complete;
	else
		advice = g->worst->has_names ? NULL : runtime->to_name;
	if (advice)
		runtime_advice(text, size, advice, g->n > 1 ? 0 : g->worst->pid);
	return advice;
}

static void print_file(const struct group *g, const struct cut *cut)
{
	double share = 100.0 * (double)g->cut / (double)g->total;
	char subject[128], file[128];

	describe_subject(g, NULL, subject, sizeof(subject));
	escape_string(file, sizeof(file), cut->file, "");
	if (cut->err)
		msg_info("%s: %.0f %% of stacks truncated in %s: can't read it: %s", subject, share,
			 file,
			 cut->err == -ESTALE ? "changed since it was mapped" : strerror(-cut->err));
	else
		msg_info("%s: %.0f %% of stacks truncated in %s: no unwind information (build it "
			 "with -fasynchronous-unwind-tables or -fno-omit-frame-pointer)",
			 subject, share, file);
}

static void print_made(const struct group *g)
{
	bool are_cut = is_cut(g->worst);
	char subject[128], advice[192];

	if (!find_advice(g, advice, sizeof(advice)))
		return;
	describe_subject(g, g->worst->runtime, subject, sizeof(subject));
	msg_info("%s: %.0f %% of stacks %s (%s)", subject,
		 100.0 * (double)(are_cut ? g->cut : g->unnamed) / (double)g->total,
		 are_cut ? "truncated in JIT code" : "with unnamed JIT code", advice);
}

void process_flaws_print(struct process_flaws *flaws, bool lacks_tables)
{
	size_t n_lines = 0;

	sort(flaws);
	for (size_t i = 0; i < flaws->n && n_lines < MAX_LINES; i++) {
		const struct process_flaw *p = &flaws->items[i];
		const struct cut *file = flawed_file(p);
		struct group g;

		if (p->is_reported || !is_flawed(p))
			continue;
		g = take_group(flaws, i);
		if ((g.cut + g.unnamed) * ENOUGH <= flaws->total ||
		    (file && !file->err && lacks_tables))
			continue;
		if (file)
			print_file(&g, file);
		else
			print_made(&g);
		n_lines++;
	}
}
