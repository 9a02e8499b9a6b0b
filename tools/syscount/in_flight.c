// SPDX-License-Identifier: GPL-2.0-only
/* Calls in flight; see in_flight.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/kernelnames.h"
#include "output/json.h"
#include "symbols/ksyms.h"
#include "syscount/in_flight.h"
#include "syscount/syscalls.h"

struct item {
	struct call_flight flight;
	uint64_t age_ns;
	char mark; /* in front of the age: it is not exact */
};

struct in_flight {
	struct item *items;
	size_t count, cap;
};

struct in_flight *in_flight_new(void)
{
	return mem_zalloc(1, sizeof(struct in_flight));
}

void in_flight_free(struct in_flight *flights)
{
	free(flights->items);
	free(flights);
}

void in_flight_add(struct in_flight *flights, const struct call_flight *flight)
{
	flights->items =
		mem_grow(flights->items, flights->count, &flights->cap, sizeof(*flights->items));
	flights->items[flights->count++] = (struct item){ .flight = *flight };
}

size_t in_flight_count(const struct in_flight *flights)
{
	return flights->count;
}

static void find_age(struct item *item, uint64_t start_ns, uint64_t now_ns)
{
	const struct call_flight *flight = &item->flight;

	item->mark = ' ';
	if (flight->began_ns) {
		item->age_ns = now_ns > flight->began_ns ? now_ns - flight->began_ns : 0;
		return;
	}
	item->age_ns = now_ns - start_ns;
	item->mark = '>';
	if (flight->off_cpu_ns <= item->age_ns)
		return;
	item->age_ns = flight->off_cpu_ns;
	item->mark = '~';
}

static int by_age(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->age_ns != y->age_ns)
		return x->age_ns < y->age_ns ? 1 : -1;
	return (x->flight.tid > y->flight.tid) - (x->flight.tid < y->flight.tid);
}

static void copy_comm(char comm[TASK_COMM_LEN + 1], const struct call_flight *flight)
{
	for (size_t i = 0; i < TASK_COMM_LEN; i++)
		comm[i] = flight->comm[i];
	comm[TASK_COMM_LEN] = '\0';
}

static void print_item(FILE *f, const struct item *item, bool in_ms)
{
	char comm[TASK_COMM_LEN + 1], text[4 * TASK_COMM_LEN], name[64], age[32];

	copy_comm(comm, &item->flight);
	snprintf(age, sizeof(age), "%c%.3f", item->mark,
		 (double)item->age_ns / (in_ms ? NS_PER_MS : NS_PER_US));
	fprintf(f, "%-7u %-7u %-15s %-22s %16s\n", item->flight.tgid, item->flight.tid,
		escape_string(text, sizeof(text), escape_no_name(comm), ""),
		syscall_label(name, sizeof(name), item->flight.abi, item->flight.number), age);
}

/* Root first, as in all of our stacks. */
static void print_stack(FILE *f, const struct ksyms *ksyms, const struct call_flight *flight)
{
	struct ksym sym;

	for (size_t i = flight->n_words; ksyms && i-- > 0;)
		if (ksyms_find(ksyms, flight->words[i] - 1, &sym))
			fprintf(f, "        %s\n", sym.name);
}

/* Returns NULL if there are no stacks, or no symbols. */
static struct ksyms *find_names(const struct in_flight *flights, struct kernelnames *names)
{
	struct ksyms *ksyms;
	uint64_t *addrs = NULL;
	size_t n = 0, cap = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < flights->count; i++) {
		const struct call_flight *flight = &flights->items[i].flight;

		for (size_t k = 0; k < flight->n_words; k++) {
			addrs = mem_grow(addrs, n, &cap, sizeof(*addrs));
			addrs[n++] = flight->words[k] - 1;
		}
	}
	ksyms = kernelnames_for(names, addrs, n);
	if (!ksyms)
		msg_warn("kernel symbols: not available: %s (calls are listed without stacks)",
			 strerror(errno));
	free(addrs);
	return ksyms;
}

static void sort_by_age(struct in_flight *flights, uint64_t start_ns, uint64_t now_ns)
{
	for (size_t i = 0; i < flights->count; i++)
		find_age(&flights->items[i], start_ns, now_ns);
	if (flights->count)
		qsort(flights->items, flights->count, sizeof(*flights->items), by_age);
}

void in_flight_print(struct in_flight *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
		     uint32_t top, bool in_ms, struct kernelnames *names)
{
	struct ksyms *ksyms = find_names(flights, names);

	sort_by_age(flights, start_ns, now_ns);
	fprintf(f, "\n%-7s %-7s %-15s %-22s %16s\n", "PID", "TID", "COMM", "IN FLIGHT",
		in_ms ? "AGE (ms)" : "AGE (us)");
	for (size_t i = 0; i < flights->count && i < top; i++) {
		print_item(f, &flights->items[i], in_ms);
		print_stack(f, ksyms, &flights->items[i].flight);
	}
	if (flights->count > top)
		fprintf(f, "%u of %zu calls in flight, the oldest (-T shows more)\n", top,
			flights->count);
	ksyms_free(ksyms);
}

static void print_json_frames(struct json *json, const struct ksyms *ksyms,
			      const struct call_flight *flight)
{
	struct ksym sym;

	json_open(json, "frames", '[');
	for (size_t i = flight->n_words; ksyms && i-- > 0;) {
		if (!ksyms_find(ksyms, flight->words[i] - 1, &sym))
			continue;
		json_open(json, NULL, '{');
		json_text(json, "name", sym.name);
		json_text(json, "kind", "kernel");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static const char *age_kind(const struct item *item)
{
	return item->mark == '>' ? "at least" : item->mark == '~' ? "about" : "exact";
}

static void print_json_item(FILE *f, const struct ksyms *ksyms, const struct item *item)
{
	struct json json = json_begin_line(f, "in_flight");
	char comm[TASK_COMM_LEN + 1], name[64];

	copy_comm(comm, &item->flight);
	json_uint(&json, "pid", item->flight.tgid);
	json_uint(&json, "tid", item->flight.tid);
	json_text(&json, "comm", comm);
	json_text(&json, "syscall",
		  syscall_label(name, sizeof(name), item->flight.abi, item->flight.number));
	json_uint(&json, "age_ns", item->age_ns);
	json_text(&json, "age_is", age_kind(item));
	if (item->flight.n_words)
		print_json_frames(&json, ksyms, &item->flight);
	json_end_line(&json);
}

void in_flight_print_json(struct in_flight *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
			  uint32_t top, struct kernelnames *names)
{
	struct ksyms *ksyms = find_names(flights, names);

	sort_by_age(flights, start_ns, now_ns);
	for (size_t i = 0; i < flights->count && i < top; i++)
		print_json_item(f, ksyms, &flights->items[i]);
	ksyms_free(ksyms);
}
