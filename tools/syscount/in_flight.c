// SPDX-License-Identifier: GPL-2.0-only
/* Calls in flight; see in_flight.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "modules/kernelnames.h"
#include "symbols/ksyms.h"
#include "syscount/in_flight.h"
#include "process/syscalls.h"

void in_flight_add(struct in_flight *flights, const struct call_flight *flight)
{
	*MEM_APPEND(flights->items, flights->count, flights->cap) =
		(struct in_flight_item){ .flight = *flight };
}

static void find_age(struct in_flight_item *item, uint64_t start_ns, uint64_t now_ns)
{
	const struct call_flight *flight = &item->flight;

	item->mark = "";
	item->age_is = "exact";
	if (flight->began_ns) {
		item->age_ns = now_ns > flight->began_ns ? now_ns - flight->began_ns : 0;
		return;
	}
	item->age_ns = now_ns - start_ns;
	item->mark = ">";
	item->age_is = "at least";
	if (flight->off_cpu_ns <= item->age_ns)
		return;
	item->age_ns = flight->off_cpu_ns;
	item->mark = "~";
	item->age_is = "about";
}

static int by_age(const void *a, const void *b)
{
	const struct in_flight_item *x = a, *y = b;

	if (x->age_ns != y->age_ns)
		return x->age_ns < y->age_ns ? 1 : -1;
	return (x->flight.tid > y->flight.tid) - (x->flight.tid < y->flight.tid);
}

/* Resolves all stacks' addresses. Returns NULL without stacks, or without kernel symbols. */
static struct ksyms *find_names(const struct in_flight *flights, struct kernelnames *names)
{
	struct ksyms *ksyms;
	uint64_t *addrs = NULL;
	size_t n = 0, cap = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < flights->count; i++) {
		const struct call_flight *flight = &flights->items[i].flight;

		for (size_t k = 0; k < flight->n_words; k++)
			*MEM_APPEND(addrs, n, cap) = flight->words[k] - 1;
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
	SORT(flights->items, flights->count, by_age);
}

/* ---- the table ---- */

/* A call's stack, and kernel symbols; ksyms NULL: don't print. */
struct stack {
	const struct ksyms *ksyms;
	const struct call_flight *flight;
};

/* Prints a stack, root first. */
static void print_stack(FILE *f, const void *data)
{
	const struct stack *stack = data;
	struct ksym sym;

	for (size_t i = stack->flight->n_words; stack->ksyms && i-- > 0;)
		if (ksyms_find(stack->ksyms, stack->flight->words[i] - 1, &sym))
			fprintf(f, "        %s\n", sym.name);
}

static void print_json_frames(struct json *json, const void *data)
{
	const struct stack *stack = data;
	struct ksym sym;

	if (!stack->flight->n_words)
		return;
	json_open(json, "frames", '[');
	for (size_t i = stack->flight->n_words; stack->ksyms && i-- > 0;) {
		if (!ksyms_find(stack->ksyms, stack->flight->words[i] - 1, &sym))
			continue;
		json_open(json, NULL, '{');
		json_text(json, "name", sym.name);
		json_text(json, "kind", "kernel");
		json_close(json, '}');
	}
	json_close(json, ']');
}

enum { PID, TID, COMM, CALL, AGE, AGE_IS, FRAMES };

static const struct table_column columns[] = {
	[PID] = { "pid", "PID", CELL_UINT, -7 },
	[TID] = { "tid", "TID", CELL_UINT, -7 },
	[COMM] = { "comm", "COMM", CELL_COMM, -15 },
	[CALL] = { "syscall", "IN FLIGHT", CELL_TEXT, -22 },
	[AGE] = { "age_ns", "AGE", CELL_TIME, 16 },
	[AGE_IS] = { "age_is" },
	[FRAMES] = { .kind = CELL_NESTED, .print = print_stack, .print_json = print_json_frames },
};

static void write_item(struct table_output *to, const struct table *table,
		       const struct in_flight_item *item, const struct ksyms *ksyms)
{
	const struct call_flight *flight = &item->flight;
	const struct stack stack = { ksyms, flight };
	char comm[TASK_COMM_LEN + 1], name[64];

	snprintf(comm, sizeof(comm), "%.*s", TASK_COMM_LEN, flight->comm);
	table_row(to, table,
		  (const struct cell[]){
			  [PID] = { .n = flight->tgid },
			  [TID] = { .n = flight->tid },
			  [COMM] = { .text = comm },
			  [CALL] = { .text = syscall_label(name, sizeof(name), flight->abi,
							   flight->number) },
			  [AGE] = { .n = item->age_ns, .mark = item->mark },
			  [AGE_IS] = { .text = item->age_is },
			  [FRAMES] = { .data = &stack },
		  });
}

void in_flight_write(struct in_flight *flights, struct table_output *to,
		     const struct in_flight_view *view)
{
	const struct table table = {
		.type = "in_flight",
		.columns = columns,
		.n = ARRAY_SIZE(columns),
		.shown = ~0U,
		.in_ms = view->in_ms,
	};
	bool is_text = to->format == &text_table;
	struct ksyms *ksyms = find_names(flights, view->names);

	sort_by_age(flights, view->start_ns, view->now_ns);
	if (is_text)
		fputc('\n', to->f);
	table_head(to, &table);
	for (size_t i = 0; i < flights->count && i < view->top; i++)
		write_item(to, &table, &flights->items[i], ksyms);
	if (is_text && flights->count > view->top)
		fprintf(to->f, "%u of %zu calls in flight, the oldest (-T shows more)\n", view->top,
			flights->count);
	ksyms_free(ksyms);
}
