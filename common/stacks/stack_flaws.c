// SPDX-License-Identifier: GPL-2.0-only
/* Values of incomplete stacks, per cause; see stack_flaws.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/resolver.h"
#include "stacks/stack_flaws.h"

#define MAX_CAUSES 64
#define ENOUGH	   50 /* threshold for printing: more than 1/50 of all stacks' value */

/* A cause of truncated or unnamed stacks. */
struct cause {
	struct stack_flaw flaw;
	char *file; /* copy of flaw.file, which may be freed earlier; NULL: JIT code */
	uint64_t value;
	pid_t pid; /* first process with this cause */
	char comm[TASK_COMM_LEN + 1];
	bool has_others; /* several processes have this cause */
};

struct stack_flaws {
	struct cause causes[MAX_CAUSES];
	size_t n;
	uint64_t total;
};

struct stack_flaws *stack_flaws_new(void)
{
	return mem_zalloc(1, sizeof(struct stack_flaws));
}

void stack_flaws_free(struct stack_flaws *flaws)
{
	for (size_t i = 0; flaws && i < flaws->n; i++)
		free(flaws->causes[i].file);
	free(flaws);
}

static bool is_same(const struct cause *cause, const struct stack_flaw *flaw)
{
	const struct stack_flaw *own = &cause->flaw;

	if (cause->file || flaw->file)
		return cause->file && flaw->file && own->err == flaw->err &&
		       !strcmp(cause->file, flaw->file);
	return own->kind == flaw->kind && own->runtime == flaw->runtime &&
	       own->has_names == flaw->has_names;
}

/* Returns an entry for a new cause; if all are used, replaces that with the smallest value. */
static struct cause *new_cause(struct stack_flaws *flaws)
{
	struct cause *least = flaws->causes;

	if (flaws->n < MAX_CAUSES)
		return &flaws->causes[flaws->n++];
	for (size_t i = 1; i < MAX_CAUSES; i++)
		if (flaws->causes[i].value < least->value)
			least = &flaws->causes[i];
	free(least->file);
	return least;
}

static struct cause *get_cause(struct stack_flaws *flaws, const struct stack_flaw *flaw, pid_t pid,
			       const char *comm)
{
	struct cause *cause;

	for (size_t i = 0; i < flaws->n; i++)
		if (is_same(&flaws->causes[i], flaw))
			return &flaws->causes[i];
	cause = new_cause(flaws);
	*cause = (struct cause){ .flaw = *flaw, .pid = pid };
	cause->file = flaw->file ? mem_strdup(flaw->file) : NULL;
	memcpy(cause->comm, comm, TASK_COMM_LEN);
	return cause;
}

void stack_flaws_add(struct stack_flaws *flaws, pid_t pid, const char *comm,
		     const struct stack_flaw *flaw, uint64_t value)
{
	struct cause *cause;

	flaws->total += value;
	if (flaw->kind == FLAW_NONE)
		return;
	cause = get_cause(flaws, flaw, pid, comm);
	cause->value += value;
	cause->has_others |= cause->pid != pid;
}

void stack_flaws_count(struct stack_flaws *flaws, const struct resolver *resolver,
		       const struct stack_key *key, uint64_t value)
{
	const struct stack_flaw *flaw =
		key->tgid ? resolver_about(resolver, key->user_id).flaw : NULL;

	if (flaw)
		stack_flaws_add(flaws, (pid_t)key->tgid, key->comm, flaw, value);
}

/* ---- the line ---- */

/*
 * Returns true if the remedy was already applied: the code has names, by the same option that gives
 * complete stacks.
 */
static bool has_followed(const struct stack_flaw *flaw)
{
	const struct runtime *runtime = flaw->runtime;

	return flaw->has_names && runtime->to_complete && runtime->to_name &&
	       !strcmp(runtime->to_complete, runtime->to_name);
}

/* Returns the remedy; NULL: none. */
static const char *find_remedy(const struct cause *cause)
{
	const struct stack_flaw *flaw = &cause->flaw;

	if (cause->file)
		return "build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
	if (!flaw->runtime)
		return "unknown JIT: enable frame pointers and /tmp/perf-PID.map";
	if (flaw->kind == FLAW_UNNAMED)
		return flaw->runtime->to_name;
	return has_followed(flaw) ? NULL : flaw->runtime->to_complete;
}

static const struct cause *find_worst(const struct stack_flaws *flaws, bool lacks_tables)
{
	const struct cause *worst = NULL;

	for (size_t i = 0; i < flaws->n; i++) {
		const struct cause *cause = &flaws->causes[i];
		bool is_blamed = !lacks_tables || !cause->file || cause->flaw.err;

		if (is_blamed && find_remedy(cause) && (!worst || cause->value > worst->value))
			worst = cause;
	}
	return worst;
}

/* Writes the subject: "java (PID 812)", "java (PID 812 and others)". */
static void describe_subject(const struct cause *cause, char *text, size_t size)
{
	const struct runtime *runtime = cause->file ? NULL : cause->flaw.runtime;
	char name[4 * TASK_COMM_LEN + 1];

	escape_string(name, sizeof(name), runtime ? runtime->name : escape_no_name(cause->comm),
		      "");
	snprintf(text, size, "%s (PID %d%s)", name, cause->pid,
		 cause->has_others ? " and others" : "");
}

static void describe_problem(const struct cause *cause, char *text, size_t size)
{
	char file[128];

	if (!cause->file) {
		snprintf(text, size, "%s",
			 cause->flaw.kind == FLAW_CUT ? "truncated in JIT code"
						      : "with unnamed JIT code");
		return;
	}
	escape_string(file, sizeof(file), cause->file, "");
	snprintf(text, size, "truncated in %s: %s", file,
		 cause->flaw.err ? "can't read it" : "no unwind information");
}

static const char *describe_error(int err)
{
	return err == -ESTALE ? "changed since it was mapped" : strerror(-err);
}

void stack_flaws_print(const struct stack_flaws *flaws, bool lacks_tables)
{
	const struct cause *worst = find_worst(flaws, lacks_tables);
	char subject[128], problem[256], remedy[192];
	double share;

	if (!worst || worst->value * ENOUGH <= flaws->total)
		return;
	share = 100.0 * (double)worst->value / (double)flaws->total;
	describe_subject(worst, subject, sizeof(subject));
	describe_problem(worst, problem, sizeof(problem));
	runtime_advice(remedy, sizeof(remedy), find_remedy(worst),
		       worst->has_others ? 0 : worst->pid);
	if (worst->file && worst->flaw.err)
		msg_info("%s: %.0f %% of stacks %s: %s", subject, share, problem,
			 describe_error(worst->flaw.err));
	else
		msg_info("%s: %.0f %% of stacks %s (%s; see tracelets-stacks(7))", subject, share,
			 problem, remedy);
}
