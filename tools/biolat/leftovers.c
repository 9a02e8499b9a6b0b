// SPDX-License-Identifier: GPL-2.0-only
/* Requests that failed, were requeued, or are in flight; see leftovers.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "abi/biolat.h"
#include "abi/stack.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/msg.h"
#include "biolat/groups.h"
#include "biolat/leftovers.h"
#include "modules/numbers.h"
#include "output/json.h"
#include "output/quantity.h"
#include "run/bpfmap.h"
#include "stacks/stacks.h"

#define TEXT_MAX 32

struct flight {
	uint64_t now_ns;
	uint64_t count, oldest_ns; /* number of requests, and age of the oldest */
};

struct leftovers {
	const struct biolat_request *requests; /* BPF's table, mapped */
	size_t n_requests;
	struct biolat_counts before; /* counts at the last report */
	struct biolat_counts since;  /* counts since the last report */
	struct flight flight;
	bool has_stopped; /* programs are being detached: flight is final */
};

DEFINE_STATE(struct leftovers, leftovers_of, leftovers_module)

/* Names of blk_status_t (include/linux/blk_types.h) and, before 5.16, of the errno in its place. */
static const struct status {
	uint32_t status;
	int error;
	const char *name;
} statuses[] = {
	{ 1, EOPNOTSUPP, "not supported" }, { 2, ETIMEDOUT, "timeout" },
	{ 3, ENOSPC, "no space" },	    { 4, ENOLINK, "transport" },
	{ 5, EREMOTEIO, "target" },	    { 6, EBADE, "reservation" },
	{ 7, ENODATA, "medium" },	    { 8, EILSEQ, "protection" },
	{ 9, ENOMEM, "resource" },	    { 10, EIO, "I/O error" },
};

static const char *name_status(uint32_t i, char buf[TEXT_MAX])
{
	for (const struct status *s = statuses; s < statuses + ARRAY_SIZE(statuses); s++)
		if (i == s->status || i == BIOLAT_ERRNOS + (uint32_t)s->error)
			return s->name;
	snprintf(buf, TEXT_MAX, i < BIOLAT_ERRNOS ? "status %u" : "errno %u", i % BIOLAT_ERRNOS);
	return buf;
}

/* Returns when a request in flight was issued; 0: none. Released elements keep their times. */
static uint64_t issue_of(const struct biolat_request *request)
{
	return __atomic_load_n(&request->io, __ATOMIC_RELAXED)
		       ? __atomic_load_n(&request->issued_ns, __ATOMIC_RELAXED)
		       : 0;
}

static void count_in_flight(struct flight *flight, uint64_t issued_ns)
{
	if (!issued_ns || issued_ns > flight->now_ns)
		return;
	flight->count++;
	if (flight->now_ns - issued_ns > flight->oldest_ns)
		flight->oldest_ns = flight->now_ns - issued_ns;
}

static void read_flight(struct leftovers *left)
{
	left->flight = (struct flight){ .now_ns = clock_now_ns() };
	for (size_t i = 0; i < left->n_requests; i++)
		count_in_flight(&left->flight, issue_of(&left->requests[i]));
}

/* A request may be in flight for longer than the resolver retains definitions without counts. */
static void retain_stacks(struct run *run, const struct leftovers *left)
{
	const struct stack_sum none = {};

	for (size_t i = 0; i < left->n_requests; i++) {
		const struct stack_key key = { .user_id = left->requests[i].user_id,
					       .kernel_id = left->requests[i].kernel_id };

		if (issue_of(&left->requests[i]))
			stacks_count(run, &key, &none);
	}
}

static int start_leftovers(struct run *run)
{
	struct leftovers *left = leftovers_of(run);

	left->requests = map_memory(run, "requests");
	left->n_requests = bpf_map__max_entries(map_find(run, "requests"));
	return left->requests ? 0 : -EIO;
}

/* Reads requests in flight before programs are detached: afterwards, completions are missed. */
static void stop_leftovers(struct run *run)
{
	struct leftovers *left = leftovers_of(run);

	if (left->requests)
		read_flight(left);
	left->has_stopped = true;
}

int leftovers_read(struct run *run)
{
	struct leftovers *left = leftovers_of(run);
	struct biolat_counts now;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(map_find(run, ".data.counts")), &zero, &now))
		return msg_errno(-errno, "counts of requests: map read failed");
	left->since.bytes = now.bytes - left->before.bytes;
	left->since.requeues = now.requeues - left->before.requeues;
	for (size_t i = 0; i < BIOLAT_STATUSES; i++)
		left->since.statuses[i] = now.statuses[i] - left->before.statuses[i];
	if (!run->is_peek)
		left->before = now;
	if (!left->has_stopped)
		read_flight(left);
	if (groups_are_stacks(run))
		retain_stacks(run, left);
	return 0;
}

/* Calls visit for each status of failed requests. */
static void visit_failures(const struct leftovers *left,
			   void (*visit)(const char *name, uint64_t count, void *arg), void *arg)
{
	char buf[TEXT_MAX];

	for (uint32_t i = 0; i < BIOLAT_STATUSES; i++)
		if (left->since.statuses[i])
			visit(name_status(i, buf), left->since.statuses[i], arg);
}

static void print_failure(const char *name, uint64_t count, void *arg)
{
	fprintf(arg, "failed: %" PRIu64 " (%s)\n", count, name);
}

static void print_bytes(FILE *f, uint64_t bytes, uint64_t ns)
{
	char total[QUANTITY_MAX], rate[QUANTITY_MAX];
	double per_second = ns ? (double)bytes * NS_PER_S / (double)ns : 0;

	fprintf(f, "transferred: %s, %s/s\n", quantity_format(total, bytes, "bytes"),
		quantity_format(rate, (uint64_t)per_second, "bytes"));
}

static void print_text(const struct run *run, const struct leftovers *left)
{
	char text[QUANTITY_MAX];
	FILE *f = run->out;

	if (left->since.bytes)
		print_bytes(f, left->since.bytes, run->end_ns - run->report_start_ns);
	visit_failures(left, print_failure, f);
	if (left->since.requeues)
		fprintf(f, "requeued: %llu\n", left->since.requeues);
	if (left->flight.count)
		fprintf(f, "in flight: %" PRIu64 ", oldest %s\n", left->flight.count,
			quantity_format(text, left->flight.oldest_ns, "nanoseconds"));
}

static void print_json_failure(const char *name, uint64_t count, void *arg)
{
	json_open(arg, NULL, '{');
	json_text(arg, "status", name);
	json_uint(arg, "count", count);
	json_close(arg, '}');
}

static void print_json(FILE *f, const struct leftovers *left)
{
	struct json json = json_begin_line(f, "requests");

	json_uint(&json, "in_flight", left->flight.count);
	json_uint(&json, "oldest_ns", left->flight.oldest_ns);
	json_uint(&json, "requeued", left->since.requeues);
	if (left->since.bytes)
		json_uint(&json, "bytes", left->since.bytes);
	json_open(&json, "failed", '[');
	visit_failures(left, print_json_failure, &json);
	json_close(&json, ']');
	json_end_line(&json);
}

static void add_failure(const char *name, uint64_t count, void *arg)
{
	static const struct metric metric = {
		.name = "tracelets_biolat_failed_total",
		.help = "Block requests that failed.",
		.has_few = true,
	};
	const struct metric_labels labels = { { "status" }, { name }, 1 };

	metrics_add(arg, &metric, &labels, count);
}

static void add_metrics(struct metrics *metrics, const struct leftovers *left)
{
	static const struct metric in_flight = {
		.name = "tracelets_biolat_in_flight",
		.help = "Block requests that have been issued and not completed.",
		.kind = METRIC_GAUGE,
	}, oldest = {
		.name = "tracelets_biolat_oldest_in_flight_seconds",
		.help = "Time since the oldest request in flight was issued.",
		.kind = METRIC_GAUGE,
		.divisor = NS_PER_S,
	};

	metrics_set(metrics, &in_flight, NULL, left->flight.count);
	metrics_set(metrics, &oldest, NULL, left->flight.oldest_ns);
	visit_failures(left, add_failure, metrics);
}

/* Returns false for folded stacks, pictures and the live view, which have no place for lines. */
static bool has_text(const struct run *run)
{
	return !groups_are_stacks(run) || (stacks_are_text(run) && !run->view);
}

void leftovers_report(struct run *run)
{
	const struct leftovers *left = leftovers_of(run);

	if (run->is_metrics)
		add_metrics(numbers_metrics(run), left);
	else if (run->table_format == &json_table)
		print_json(run->out, left);
	else if (run->table_format == &text_table && has_text(run))
		print_text(run, left);
}

const struct module leftovers_module = {
	.state = ZEROES(struct leftovers),
	.start = start_leftovers,
	.stop = stop_leftovers,
};
