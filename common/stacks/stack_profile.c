// SPDX-License-Identifier: GPL-2.0-only
/* Profiles from values by stack; see stack_profile.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/msg.h"
#include "modules/cgroup_filter.h"
#include "output/quantity.h"
#include "runtimes/runtimes.h"
#include "stacks/idle_waits.h"
#include "stacks/places.h"
#include "stacks/stack_profile.h"
#include "symbols/interrupts.h"

/* ---- left out ---- */

void left_out_add(struct left_out *sum, const struct left_out *more)
{
	sum->all += more->all;
	sum->by_remark += more->by_remark;
	sum->by_name += more->by_name;
	sum->idle += more->idle;
}

static double percent(uint64_t value, uint64_t whole)
{
	return 100.0 * (double)value / (double)whole;
}

static uint64_t shown_of(const struct left_out *sums)
{
	return sums->all - sums->by_remark - sums->by_name;
}

void left_out_print(const struct left_out *sums, uint64_t divisor, const char *unit,
		    const char *remark)
{
	char sum[QUANTITY_MAX];

	if (sums->by_remark)
		msg_info("skipped: %s [%s]", quantity_format(sum, sums->by_remark / divisor, unit),
			 remark);
	if (sums->by_name)
		msg_info("filtered out by --only or --without: %s, %.2f %%",
			 quantity_format(sum, sums->by_name / divisor, unit),
			 percent(sums->by_name, sums->all));
	if (sums->idle)
		msg_info("idle: %s, %.2f %%, in worker pools and event loops, shown as [idle]",
			 quantity_format(sum, sums->idle / divisor, unit),
			 percent(sums->idle, shown_of(sums)));
}

/* ---- comm sums ---- */

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

/* ---- stack profile ---- */

#define MAX_WORST  2
#define MAX_FRAMES (4 * STACK_WORDS + 4) /* two stacks, two of a waker, and markers */

/* A stack under construction, root first. */
struct assembly {
	struct resolver *resolver;
	bool without_kernel, are_waits, folds_idle;
	const struct frame *frames[MAX_FRAMES]; /* owned by resolver_frame_table() */
	size_t n;
	char waker[32];	     /* the waker's comm, or the interrupt */
	uint64_t waker_user; /* id of the waker's user stack; 0: not shown */
	bool incomplete;     /* a definition is missing */
	bool is_go, is_idle, is_managed, is_bare;
	bool is_at_rest; /* the thread is idle in a pool or an event loop */
};

static void append_frame(struct assembly *a, const struct frame *frame)
{
	if (a->n < MAX_FRAMES)
		a->frames[a->n++] = frame;
}

/* Appends a frame without an address. */
static void append_made(struct assembly *a, const char *name, enum frame_kind kind)
{
	const struct frame made = { .name = name, .kind = kind };
	const struct frame *frame = frame_table_get(resolver_frame_table(a->resolver), &made);

	append_frame(a, frame);
	frame_release(frame); /* the frame stays valid until the report ends */
}

static const struct frame *const *find_frames(struct assembly *a, uint64_t id, size_t *n)
{
	const struct frame *const *frames = resolver_frames(a->resolver, id, n);

	if (id && !frames)
		a->incomplete = true;
	return frames;
}

static void append_reversed(struct assembly *a, const struct frame *const *frames, size_t n)
{
	while (n > 0)
		append_frame(a, frames[--n]);
}

static void append_stack(struct assembly *a, uint64_t id)
{
	size_t n;
	const struct frame *const *frames = find_frames(a, id, &n);

	for (size_t i = 0; i < n; i++)
		append_frame(a, frames[i]);
}

/* Returns the number of frames from the innermost interrupt's entry to the leaf; 0: none. */
static size_t count_interrupts(const struct frame *const *frames, size_t n)
{
	for (size_t i = n; i > 0; i--)
		if (interrupt_is_entry(frames[i - 1]->name))
			return n - i + 1;
	return 0;
}

/* Writes "[interrupt] timer"; the frame nearest to the leaf has the most exact cause. */
static void name_interrupt(struct assembly *a, const struct frame *const *entry, size_t n)
{
	const char *cause = NULL;

	while (n > 0 && !cause)
		cause = interrupt_cause(entry[--n]->name);
	snprintf(a->waker, sizeof(a->waker), "[interrupt]%s%s", cause ? " " : "",
		 cause ? cause : "");
}

static void name_task(struct assembly *a, const uint64_t *waker)
{
	snprintf(a->waker, sizeof(a->waker), "%.*s", TASK_COMM_LEN,
		 escape_no_name((const char *)&waker[2]));
}

/* Appends a waker's kernel stack, reversed. False: an interrupt woke the thread. */
static bool append_wakers_kernel(struct assembly *a, uint64_t id)
{
	size_t n, n_interrupts;
	const struct frame *const *frames = find_frames(a, id, &n);

	n_interrupts = count_interrupts(frames, n);
	if (n_interrupts)
		name_interrupt(a, frames + n - n_interrupts, n_interrupts);
	if (!a->without_kernel)
		append_reversed(a, n_interrupts ? frames + n - n_interrupts : frames,
				n_interrupts ? n_interrupts : n);
	return !n_interrupts;
}

/*
 * Appends the waker's stack reversed, so that the wake-up joins it to the wakee's. If an interrupt
 * woke the thread, the interrupted task is omitted.
 */
static void append_waker(struct assembly *a, const uint64_t *waker)
{
	const struct frame *const *user;
	bool is_task;
	size_t n;

	append_made(a, "--", FRAME_MARK);
	is_task = append_wakers_kernel(a, waker[1]);
	user = find_frames(a, waker[0], &n);
	if (is_task) {
		append_reversed(a, user, n);
		name_task(a, waker);
		a->waker_user = waker[0];
	}
	append_made(a, a->waker, FRAME_MARK);
}

static bool has_name(const struct frame *frame, const char *const *names)
{
	while (frame->name && *names && strcmp(frame->name, *names))
		names++;
	return frame->name && *names;
}

/*
 * Finds out if the thread is a Go program's, and idle. Go's threads belong to its scheduler; a
 * thread without a goroutine to run waits in one of these functions.
 */
static void look_for_go(struct assembly *a)
{
	static const char *const roots[] = { "runtime.goexit", "runtime.mcall", "runtime.mstart",
					     "runtime.rt0_go", NULL };
	static const char *const idle[] = { "runtime.stopm",	      "runtime.findRunnable",
					    "runtime.findrunnable",   "runtime.sysmon",
					    "runtime.templateThread", NULL };

	a->is_idle = false;
	a->is_go = a->n && has_name(a->frames[0], roots);
	for (size_t i = 1; a->is_go && !a->is_idle && i < a->n; i++)
		a->is_idle = has_name(a->frames[i], idle);
}

static bool is_in_place_of_functions(const struct frame *frame)
{
	if (frame->kind == FRAME_RUNTIME || frame->kind == FRAME_INLINED)
		return !strcmp(frame->name, RUNTIME_UNKNOWN);
	if (frame->kind == FRAME_JIT)
		return !strcmp(frame->name, UNNAMED_CODE);
	return frame->kind == FRAME_USER && runtime_is_interpreter(frame->name);
}

/*
 * Finds out if the stack has functions of a runtime, or lacks some: then the interpreter's native
 * function is still in it, or code without a name among functions.
 */
static void look_for_functions(struct assembly *a)
{
	a->is_managed = a->is_bare = false;
	for (size_t i = 0; i < a->n; i++) {
		a->is_managed |= a->frames[i]->kind == FRAME_RUNTIME;
		a->is_bare |= is_in_place_of_functions(a->frames[i]);
	}
	for (size_t i = 0; a->is_managed && i < a->n; i++)
		a->is_bare |= a->frames[i]->kind == FRAME_JIT;
	a->is_managed |= a->is_bare;
}

static void fold_idle(struct assembly *a)
{
	a->n = 0;
	append_made(a, "[idle]", FRAME_USER);
}

/* Appends a user stack. False: the thread is idle, so its stack is not shown. */
static bool append_user(struct assembly *a, uint64_t id)
{
	append_stack(a, id);
	look_for_functions(a);
	if (!a->are_waits)
		return true;
	look_for_go(a);
	if (!a->is_idle)
		return true;
	fold_idle(a);
	return false;
}

static void assemble(struct assembly *a, const struct stack_key *key, const char *group)
{
	const uint64_t *waker = resolver_about(a->resolver, key->waker_id).waker;

	a->n = 0;
	a->waker_user = 0;
	a->incomplete = key->waker_id && !waker;
	a->is_at_rest = false;
	if (group)
		append_made(a, group, FRAME_MARK);
	if (!append_user(a, key->user_id))
		return;
	if (!a->without_kernel)
		append_stack(a, key->kernel_id);
	a->is_at_rest = a->folds_idle && idle_wait_find(a->frames, a->n);
	if (a->is_at_rest)
		fold_idle(a);
	else if (waker)
		append_waker(a, waker);
}

static struct sample_group find_group(const struct stack_profile *p, uint64_t id)
{
	const struct cgroup *cgroup = p->cgroups && id ? cgroups_find(p->cgroups, id) : NULL;

	if (!cgroup)
		return (struct sample_group){};
	return (struct sample_group){ cgroup->path, cgroup_text(cgroup->container.id),
				      cgroup_text(cgroup->container.unit) };
}

static const char *remark_of(const struct stack_profile *p, const struct stack_key *key)
{
	return key->remark < p->spec->n_remarks ? p->spec->remarks[key->remark] : NULL;
}

static const struct sample *add_sample(struct stack_profile *p, const struct stack_key *key,
				       const struct stacks_value *value, const struct assembly *a)
{
	char comm[TASK_COMM_LEN + 1] = {};
	struct sample sample = {
		.comm = comm,
		.pid = p->by_process ? key->tgid : SAMPLE_ANY_PID,
		.tid = key->tid,
		.cpu = (int)key->cpu - 1,
		.state = (char)key->state,
		.remark = remark_of(p, key),
		.known = a->frames,
		.n_frames = a->n,
		.value = value->value,
		.group = find_group(p, key->cgroup_id),
	};

	memcpy(comm, key->comm, TASK_COMM_LEN);
	memcpy(sample.columns, value->columns, sizeof(sample.columns));
	return profile_add(p->profile, &sample);
}

/* Returns true if functions of a runtime are missing, or the outer ones did not fit. */
static bool lacks_functions(const struct stack_profile *p, const struct stack_key *key,
			    const struct assembly *a)
{
	return a->is_bare ||
	       (a->is_managed && resolver_about(p->resolver, key->user_id).reason == UNWIND_DEPTH);
}

static void count_reason(struct stack_profile *p, uint64_t id, const char *comm, uint64_t value)
{
	int reason = resolver_about(p->resolver, id).reason;

	if (reason <= UNWIND_GOES_ON || reason >= UNWIND_REASONS)
		return;
	p->reasons.values[reason] += value;
	if (reason != UNWIND_COMPLETE && reason != UNWIND_BY_FP && reason != UNWIND_NULL)
		comm_sums_add(&p->reasons.incomplete, comm, value);
}

/*
 * Returns true if --only and --without select the stack; they also match the thread's name and the
 * remark or state (NULL: none).
 */
static bool is_wanted(const struct stack_profile *p, const struct stack_key *key,
		      const struct assembly *a, const char *remark)
{
	char text[64];
	unsigned int verdict;

	if (!name_filter_is_set(p->names))
		return true;
	snprintf(text, sizeof(text), "%.*s", TASK_COMM_LEN, key->comm);
	verdict = name_filter_judge(p->names, text);
	if (remark) {
		snprintf(text, sizeof(text), "[%s]", remark);
		verdict |= name_filter_judge(p->names, text);
	}
	verdict |= name_filter_judge_frames(p->names, a->frames, a->n);
	return name_filter_keeps(p->names, verdict);
}

static const struct sample *show_sample(struct stack_profile *p, const struct stack_key *key,
					const struct stacks_value *value, const struct assembly *a,
					struct event_state *state)
{
	if (!is_wanted(p, key, a, state ? state->name : remark_of(p, key))) {
		p->left_out.by_name += value->value;
		if (!state || !state->is_run)
			return NULL;
		state->is_hidden = true;
		return add_sample(p, key, &(struct stacks_value){}, a);
	}
	p->left_out.idle += a->is_at_rest ? value->value : 0;
	return add_sample(p, key, value, a);
}

const struct sample *stack_profile_add(struct stack_profile *p, const struct stack_key *key,
				       const struct stacks_value *value)
{
	return stack_profile_add_events(p, key, value, NULL);
}

/*
 * Reads definitions again if one is missing: it is sent before its stack is counted, but maybe
 * after the last read.
 */
const struct sample *stack_profile_add_events(struct stack_profile *p, const struct stack_key *key,
					      const struct stacks_value *value,
					      struct event_state *state)
{
	const struct sample *sample;
	struct assembly a;
	bool can_rest;

	p->left_out.all += value->value;
	if (p->hidden_remark && key->remark == p->hidden_remark) {
		p->left_out.by_remark += value->value;
		return NULL;
	}
	a.resolver = p->resolver;
	a.without_kernel = p->without_kernel;
	can_rest = !key->group && !(state && state->is_awake) &&
		   (p->spec->rest_remark ? key->remark == p->spec->rest_remark
					 : key->remark < p->spec->n_remarks);
	a.are_waits = p->spec->are_waits && can_rest;
	a.folds_idle = p->folds_idle && can_rest;
	a.is_go = a.is_idle = false;
	assemble(&a, key, value->group);
	if (a.incomplete) {
		p->read_definitions(p->arg);
		assemble(&a, key, value->group);
	}
	sample = show_sample(p, key, value, &a, state);
	if (a.incomplete)
		p->undefined += value->value;
	if (key->group)
		p->reasons.goroutines += value->value;
	else
		count_reason(p, key->user_id, key->comm, value->value);
	count_reason(p, a.waker_user, a.waker, value->value);
	if (p->flaws)
		stack_flaws_count(p->flaws, p->resolver, key, value->value);
	p->reasons.managed += a.is_managed ? value->value : 0;
	p->reasons.bare += lacks_functions(p, key, &a) ? value->value : 0;
	p->reasons.go += a.is_go ? value->value : 0;
	p->reasons.go_idle += a.is_idle ? value->value : 0;
	return sample;
}

void stack_reasons_add(struct stack_reasons *sum, const struct stack_reasons *more)
{
	for (size_t i = 0; i < UNWIND_REASONS; i++)
		sum->values[i] += more->values[i];
	comm_sums_merge(&sum->incomplete, &more->incomplete);
	sum->managed += more->managed;
	sum->bare += more->bare;
	sum->go += more->go;
	sum->goroutines += more->goroutines;
	sum->go_idle += more->go_idle;
}

void stack_reasons_print_go(const struct stack_reasons *reasons)
{
	if (reasons->goroutines)
		return;
	if (reasons->go_idle)
		msg_info("Go: blocked goroutines have no thread and are not shown; %.1f %% of "
			 "thread time is [idle]",
			 100.0 * (double)reasons->go_idle / (double)reasons->go);
	else if (reasons->go)
		msg_info("Go: blocked goroutines have no thread and are not shown");
}

void stack_reasons_print_functions(const struct stack_reasons *reasons)
{
	if (reasons->managed)
		msg_info("managed runtimes: %.2f %% of their user stacks have all functions",
			 100.0 * (double)(reasons->managed - reasons->bare) /
				 (double)reasons->managed);
}

static uint64_t total_of(const struct stack_reasons *reasons)
{
	uint64_t total = 0;

	for (size_t i = 0; i < UNWIND_REASONS; i++)
		total += reasons->values[i];
	return total;
}

/* Writes " (most: 0.40 % java, 0.10 % node)"; nothing if all stacks are complete. */
static void describe_worst(struct stack_reasons *reasons, double total, char *text, size_t size)
{
	struct comm_sums *sums = &reasons->incomplete;
	char name[4 * TASK_COMM_LEN + 1], comm[TASK_COMM_LEN + 1] = "";
	size_t used = 0;

	*text = '\0';
	comm_sums_sort(sums);
	for (size_t i = 0; i < sums->n && i < MAX_WORST && used < size; i++) {
		memcpy(comm, sums->items[i].comm, TASK_COMM_LEN);
		escape_string(name, sizeof(name), escape_no_name(comm), "");
		used += (size_t)snprintf(
			text + used, size - used, "%s %.2f %% %s",
			i ? "," : " (most:", 100.0 * (double)sums->items[i].value / total, name);
	}
	if (used && used < size)
		snprintf(text + used, size - used, ")");
}

bool stack_reasons_complete(const struct stack_reasons *reasons, double *percent)
{
	uint64_t total = total_of(reasons);

	if (total)
		*percent = 100.0 * (double)reasons->values[UNWIND_COMPLETE] / (double)total;
	return total;
}

void stack_reasons_print(struct stack_reasons *reasons)
{
	static const char *const texts[UNWIND_REASONS] = {
		[UNWIND_COMPLETE] = "complete",
		[UNWIND_DEPTH] = "too deep",
		[UNWIND_NO_PROCESS] = "of processes too new",
		[UNWIND_NO_MAPPING] = "through unknown memory",
		[UNWIND_NO_RULE] = "through code without unwind information",
		[UNWIND_BAD_RULE] = "through code with unsupported unwind information",
		[UNWIND_FAULT] = "through memory not resident",
		[UNWIND_NO_PROGRESS] = "broken",
		[UNWIND_32BIT] = "32-bit",
		[UNWIND_BY_FP] = "walked by frame pointers",
		[UNWIND_PROBED] = "inside a return probe",
		[UNWIND_RAN_ON] = "of threads that resumed during the walk",
		[UNWIND_NULL] = "ending in a null return address",
		[UNWIND_DENIED] = "not readable without CAP_SYS_PTRACE",
	};
	uint64_t total = total_of(reasons);
	char line[512] = "", worst[256];
	int used = 0;

	for (size_t i = 0; i < UNWIND_REASONS && used < (int)sizeof(line); i++)
		if (reasons->values[i])
			used += snprintf(line + used, sizeof(line) - (size_t)used, "%s %.2f %% %s",
					 used ? "," : "",
					 100.0 * (double)reasons->values[i] / (double)total,
					 texts[i]);
	describe_worst(reasons, (double)total, worst, sizeof(worst));
	if (total)
		msg_info("user stacks:%s%s", line, worst);
}
