// SPDX-License-Identifier: GPL-2.0-only
/* On-CPU and off-CPU time of threads; see wall.h. */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/waits.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "modules/histograms.h"
#include "modules/lock_owners.h"
#include "modules/sampler.h"
#include "output/histogram.h"
#include "output/quantity.h"
#include "output/remarks.h"
#include "output/writer.h"
#include "process/procstate.h"
#include "process/thread_stalls.h"
#include "profile/wall.h"
#include "run/run.h"
#include "stacks/goroutine_waits.h"
#include "stacks/stack_counts.h"
#include "stacks/stacks.h"
#include "stacks/waits.h"

/* ---- held locks ---- */

/*
 * Finds the threads that have the mutexes for which the target's threads wait, as far as their C
 * library notes it: by samples of /proc, several times a second, with at most 3 % of a CPU.
 */

#define PERIOD_NS	(100 * NS_PER_MS)
#define REST_PER_SAMPLE 32
#define OWNERS_MAX	64 /* further ones are not listed */
#define LINES_MAX	3
#define LINE_WIDTH	78

/* A lock and the thread that had it. */
struct owner {
	char *text;
	unsigned int n_samples;
};

struct held_locks {
	struct run *run;
	struct lock_names *names;
	struct lock_waiter *waiters; /* waiters of one sample */
	size_t n_waiters, waiters_cap;
	struct owner owners[OWNERS_MAX];
	size_t n_owners;
	unsigned int n_samples;
	uint64_t random;
	int timer_fd;
};

static void add_waiter(struct held_locks *held, pid_t pid, pid_t tid)
{
	struct lock_waiter waiter = { .pid = pid, .tid = tid, .kind = "mutex" };
	struct thread_call call;

	if (!thread_call_read(&call, pid, tid) || !(waiter.addr = thread_mutex(&call)))
		return;
	waiter.lock = lock_names_find(held->names, pid, 0, waiter.addr,
				      call.args[1] & FUTEX_PRIVATE_FLAG);
	*MEM_APPEND(held->waiters, held->n_waiters, held->waiters_cap) = waiter;
}

/* Counts an owner, whose text it frees. */
static void add_owner(struct held_locks *held, char *text)
{
	size_t i = 0;

	while (i < held->n_owners && strcmp(held->owners[i].text, text))
		i++;
	if (i == held->n_owners && i < OWNERS_MAX)
		held->owners[held->n_owners++] = (struct owner){ .text = mem_strdup(text) };
	if (i < held->n_owners)
		held->owners[i].n_samples++;
	free(text);
}

static void take_sample(struct held_locks *held)
{
	size_t n, n_threads;
	pid_t *pids = condition_target_list(&held->run->capture.target, &n), *tids;

	held->n_waiters = 0;
	held->n_samples++;
	for (size_t i = 0; i < n; i++) {
		tids = thread_list(pids[i], &n_threads);
		for (size_t k = 0; k < n_threads; k++)
			add_waiter(held, pids[i], tids[k]);
		free(tids);
	}
	free(pids);
	lock_owners_find(held->waiters, held->n_waiters);
	for (size_t i = 0; i < held->n_waiters; i++)
		if (held->waiters[i].is_news)
			add_owner(held, lock_owner_text(&held->waiters[i]));
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct held_locks *held = arg;
	uint64_t expirations, used_ns = clock_thread_ns(), rest_ns;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	take_sample(held);
	rest_ns = (clock_thread_ns() - used_ns) * REST_PER_SAMPLE;
	loop_arm_at_random(fd, rest_ns > PERIOD_NS ? rest_ns : PERIOD_NS, &held->random);
	return LOOP_GO;
}

static void clear_owners(struct held_locks *held)
{
	for (size_t i = 0; i < held->n_owners; i++)
		free(held->owners[i].text);
	held->n_owners = held->n_samples = 0;
}

static void held_locks_free(struct held_locks *held)
{
	if (!held)
		return;
	if (held->timer_fd >= 0)
		close(held->timer_fd);
	clear_owners(held);
	lock_names_free(held->names);
	free(held->waiters);
	free(held);
}

/* Begins to look, freed with held_locks_free(). NULL: failed, printed. */
static struct held_locks *held_locks_start(struct run *run)
{
	struct held_locks *held = mem_zalloc(1, sizeof(*held));

	held->run = run;
	held->names = lock_names_new(stacks_processes(run), false);
	held->timer_fd = loop_every(run->loop, PERIOD_NS, on_timer, held);
	if (held->timer_fd >= 0)
		return held;
	msg_errno(held->timer_fd, "event loop: watch failed");
	held_locks_free(held);
	return NULL;
}

static int compare_owners(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return order_u64(y->n_samples, x->n_samples) ?: strcmp(x->text, y->text);
}

/*
 * Appends to a text lines about the threads found since the last call. Frees the text; returns the
 * longer one.
 */
static char *held_locks_append(struct held_locks *held, char *text)
{
	char line[LINE_WIDTH + 1], *whole, *longer;

	SORT(held->owners, held->n_owners, compare_owners);
	for (size_t i = 0; i < held->n_owners && i < LINES_MAX; i++) {
		whole = mem_printf("held in %u of %u samples: %s", held->owners[i].n_samples,
				   held->n_samples, held->owners[i].text);
		longer =
			mem_printf("%s  \n%s", text, escape_string(line, sizeof(line), whole, "`"));
		free(whole);
		free(text);
		text = longer;
	}
	clear_owners(held);
	lock_names_begin_report(held->names);
	return text;
}

/* ---- wall ---- */

const char *const wall_remarks[WALL_KINDS] = {
	[WALL_ON_CPU] = REMARK_ON_CPU,
	[WALL_BLOCKED] = REMARK_BLOCKED,
	[WALL_RUNNABLE] = REMARK_RUNNABLE,
	[WALL_THROTTLED] = REMARK_THROTTLED,
	[WALL_THROUGHOUT] = REMARK_BLOCKED_THROUGHOUT,
};

struct wall {
	bool is_asked_for, waker, throttled, no_idle, page;

	/* Totals over all reports. */
	uint64_t kinds_ns[WALL_KINDS];
	uint64_t n_samples, sampled; /* sampled: total period of samples, ns or cycles */

	struct hist *delays;	 /* waits for a CPU up to the last report; NULL: none yet */
	struct held_locks *held; /* NULL: no page */
};

static const struct opt wall_opts[] = {
	{ 0, "wall", NULL, OPT_FLAG(struct wall, is_asked_for),
	  "show on-CPU, blocked and runnable time of threads" },
	{ 0, "waker", NULL, OPT_FLAG(struct wall, waker),
	  "with --wall: show the waker's stack, too" },
	{ 0, "throttled", NULL, OPT_FLAG(struct wall, throttled),
	  "with --wall: show time lost to CPU quotas as [throttled]" },
	{ 0, "no-idle", NULL, OPT_FLAG(struct wall, no_idle),
	  "with --wall: fold idle waits into [idle]", "kernel-stacks-only" },
	{ 0, "page", NULL, OPT_FLAG(struct wall, page), NULL }, /* set by "tracelets report" */
	{},
};

DEFINE_STATE(struct wall, wall_of, wall_module)

bool wall_is_asked_for(const struct run *run)
{
	return wall_of(run)->is_asked_for;
}

const struct writer *wall_usual_writer(const struct run *run)
{
	return wall_of(run)->page ? &md_writer : NULL;
}

/* ---- options ---- */

static int check_others(const struct run *run)
{
	static const char *const others[] = { "cpu", "per-cpu", "include-idle" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (run_given(run, others[i]))
			return msg_error("--wall and --%s exclude each other", others[i]);
	return 0;
}

static int check_wall(struct run *run)
{
	const struct wall *wall = wall_of(run);

	if (wall->is_asked_for)
		return check_others(run);
	if (wall->waker || wall->throttled || wall->no_idle)
		return msg_error("--%s needs --wall", wall->waker	? "waker"
						      : wall->throttled ? "throttled"
									: "no-idle");
	return 0;
}

/* Removes the sampling period: values are times, which samples only distribute among stacks. */
static int configure_wall(struct run *run)
{
	struct wait_settings settings = {
		.states = UINT32_MAX,
		.waker = wall_of(run)->waker,
		.throttled = wall_of(run)->throttled,
		.on_cpu = true,
		.delays = wall_of(run)->page,
	};

	run->period = NULL;
	return waits_configure(run, &settings);
}

/* Returns a line about the waits for a CPU that ended since the last report. */
char *wall_page_line(struct run *run)
{
	static const double percents[] = { 50, 99, 100 };
	struct hist *now = hist_new(), *shown = hist_new();
	struct wall *wall = wall_of(run);
	char values[3][QUANTITY_MAX], *line = NULL;

	if (wall->page && !histograms_read_all(run, now)) {
		hist_merge(shown, now);
		if (wall->delays)
			hist_subtract(shown, wall->delays);
		for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
			quantity_format_short(
				values[i],
				hist_to_ns(&hist_usecs,
					   hist_percentile(shown, &hist_usecs, percents[i])),
				0, "nanoseconds");
		line = mem_printf("waits for a CPU: %" PRIu64 ", p50 %s, p99 %s, max %s",
				  hist_count(shown), values[0], values[1], values[2]);
	}
	hist_free(shown);
	if (run->is_peek) {
		hist_free(now);
	} else {
		if (line && wall->held)
			line = held_locks_append(wall->held, line);
		hist_free(wall->delays);
		wall->delays = now;
	}
	return line;
}

static void finish_wall(struct run *run)
{
	hist_free(wall_of(run)->delays);
	held_locks_free(wall_of(run)->held);
}

int wall_start_page(struct run *run)
{
	struct wall *wall = wall_of(run);

	if (wall->page)
		wall->held = held_locks_start(run);
	return wall->page && !wall->held ? -EIO : 0;
}

const struct module wall_module = {
	.title = "wall time",
	.opts = wall_opts,
	.state = ZEROES(struct wall),
	.check = check_wall,
	.configure = configure_wall,
	.finish = finish_wall,
};

/* ---- conversion of samples to time ---- */

/*
 * A report being prepared. An owner is the unit by which samples are scaled: threads with the same
 * process and name, or one thread. Its `value` is its time on CPU, its `part` the total period of
 * its samples.
 */
struct preparation {
	struct stack_sums owners;
	struct stack_sum all; /* total of all owners */
	bool by_process;
	bool separates; /* waits that last for the whole window have a kind of their own */
	struct stack_sums *reported;
	struct wall *totals;
};

static struct stack_key owner_of(const struct preparation *p, const struct stack_key *key)
{
	struct stack_key owner = {
		.cgroup_id = key->cgroup_id,
		.tgid = p->by_process ? key->tgid : 0,
		.tid = key->tid,
	};

	memcpy(owner.comm, key->comm, sizeof(owner.comm));
	return owner;
}

static void add_to_owner(const void *key_data, const void *sum_data, void *arg)
{
	const struct stack_key *key = key_data;
	const struct stack_sum *sum = sum_data;
	struct preparation *p = arg;
	struct stack_key owner = owner_of(p, key);
	struct stack_sum more = {};

	if (key->remark == RUN_TIME)
		more.value = sum->value;
	else if (key->remark == RUN_SAMPLED)
		more.part = sum->value;
	else
		return;
	stack_sums_add(&p->owners, &owner, &more);
	p->all.value += more.value;
	p->all.part += more.part;
	p->totals->n_samples += key->remark == RUN_SAMPLED ? sum->part : 0;
}

static void report(struct preparation *p, const struct stack_key *from, enum wall_kind kind,
		   uint64_t value)
{
	struct stack_sum sum = { .value = value };
	struct stack_key key = *from;

	if (!value)
		return;
	key.remark = (uint8_t)kind;
	if (kind == WALL_RUNNABLE || kind == WALL_THROTTLED)
		key.state = 'R';
	stack_sums_add(p->reported, &key, &sum);
	if (!key.group) /* a goroutine is not a thread */
		p->totals->kinds_ns[kind] += value;
}

static uint64_t scale(uint64_t value, const struct stack_sum *owner)
{
	double factor = owner->part ? (double)owner->value / (double)owner->part : 0;

	return (uint64_t)((double)value * factor + 0.5);
}

static enum wall_kind blocked_kind(const struct preparation *p, const struct stack_key *key)
{
	return p->separates && key->remark == (WAIT_AT_START | WAIT_AT_END) ? WALL_THROUGHOUT
									    : WALL_BLOCKED;
}

/*
 * Adds a count to the report. Samples of an owner whose time is unknown, since it has no state, are
 * scaled by the total of all owners.
 */
static void report_sum(const void *key_data, const void *sum_data, void *arg)
{
	const struct stack_key *key = key_data;
	const struct stack_sum *sum = sum_data, *owner;
	struct preparation *p = arg;
	struct stack_key owner_key = owner_of(p, key);

	if (key->remark != RUN_SAMPLED && key->remark != RUN_TIME) {
		report(p, key, blocked_kind(p, key), sum->value - sum->part);
		report(p, key, key->remark == WAIT_THROTTLED ? WALL_THROTTLED : WALL_RUNNABLE,
		       sum->part);
		return;
	}
	owner = stack_sums_find(&p->owners, &owner_key);
	if (key->remark == RUN_SAMPLED)
		report(p, key, WALL_ON_CPU, scale(sum->value, owner->value ? owner : &p->all));
	else if (!owner->part) /* no samples: its time has no stack */
		report(p, key, WALL_ON_CPU, sum->value);
}

void wall_prepare(struct run *run, const struct stack_sums *counted, bool by_process,
		  struct stack_sums *reported)
{
	struct wall peek = {};
	struct preparation p = {
		.by_process = by_process,
		.separates = run->writer && run->writer->is_page,
		.reported = reported,
		.totals = run->is_peek ? &peek : wall_of(run),
	};

	stack_sums_visit(counted, add_to_owner, &p);
	p.totals->sampled += p.all.part;
	stack_sums_visit(counted, report_sum, &p);
	stack_sums_clear(&p.owners);
}

/* ---- the end ---- */

static void print_totals(const struct wall *wall)
{
	char on_cpu[QUANTITY_MAX], blocked[QUANTITY_MAX], runnable[QUANTITY_MAX];
	char throttled[QUANTITY_MAX];

	quantity_format(throttled, wall->kinds_ns[WALL_THROTTLED], "nanoseconds");
	quantity_format(blocked, wall->kinds_ns[WALL_BLOCKED] + wall->kinds_ns[WALL_THROUGHOUT],
			"nanoseconds");
	msg_info("on cpu: %s, blocked: %s, runnable: %s%s%s",
		 quantity_format(on_cpu, wall->kinds_ns[WALL_ON_CPU], "nanoseconds"), blocked,
		 quantity_format(runnable, wall->kinds_ns[WALL_RUNNABLE], "nanoseconds"),
		 wall->throttled ? ", throttled: " : "", wall->throttled ? throttled : "");
}

static void print_scaling(const struct run *run, const struct wall *wall)
{
	unsigned long long n = wall->n_samples;
	char sampled[QUANTITY_MAX], unit[QUANTITY_MAX];

	if (!n)
		msg_info("no samples: on-CPU time has no stacks");
	else if (sampler_is_by_time(run))
		msg_info("%llu %s for %s: scaled by %.3f to the on-CPU time", n,
			 n == 1 ? "sample stands" : "samples stand",
			 quantity_format(sampled, wall->sampled, "nanoseconds"),
			 (double)wall->kinds_ns[WALL_ON_CPU] / (double)wall->sampled);
	else
		msg_info("%llu %s of cycles, scaled to the on-CPU time", n,
			 quantity_unit(unit, n, "samples"));
}

int wall_report(struct run *run)
{
	int err = waits_end_window(run);

	goroutine_waits_end_window(run);
	sampler_count_missed(run);
	if (!err)
		err = stacks_report(run);
	if (!err && run->is_last) {
		print_totals(wall_of(run));
		print_scaling(run, wall_of(run));
	}
	return err;
}
