// SPDX-License-Identifier: GPL-2.0-only
/* The table of locks; see lock_table.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/waits.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/escape.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/order.h"
#include "modules/lock_names.h"
#include "locks/lock_table.h"
#include "output/json.h"
#include "output/quantity.h"
#include "output/writer.h"

#define MAX_STACKS 5 /* maximum printed wakers per lock */
#define MAX_FRAMES 256
#define WHO_BYTES  64

struct sums {
	uint64_t count, total_ns, longest_ns;
};

/* A waker: thread name, process and stack. */
struct waker {
	char comm[TASK_COMM_LEN + 1];
	uint32_t tgid;
	uint64_t stack_id; /* stack id; 0: not requested */
	struct sums sums;
	uint64_t count; /* waits over all stacks; set by sort_wakers() */
};

struct row {
	struct hashlink link;
	const struct lock_name *lock;
	const char *kind;
	char comm[TASK_COMM_LEN + 1]; /* name of the first waiter */
	struct sums sums;
	uint64_t waiting, given_up; /* waits that continue, that were given up */
	struct waker *wakers;	    /* without duplicates after sort_wakers() */
	size_t n_wakers, cap;
};

struct lock_table {
	struct hashtable by_lock;
};

struct lock_table *lock_table_new(void)
{
	return mem_zalloc(1, sizeof(struct lock_table));
}

static void free_row(struct hashlink *link)
{
	struct row *row = container_of(link, struct row, link);

	free(row->wakers);
	free(row);
}

void lock_table_free(struct lock_table *table)
{
	if (!table)
		return;
	hashtable_free(&table->by_lock, free_row);
	free(table);
}

/* ---- adding ---- */

static void add_sums(struct sums *sums, const struct sums *more)
{
	sums->count += more->count;
	sums->total_ns += more->total_ns;
	if (sums->longest_ns < more->longest_ns)
		sums->longest_ns = more->longest_ns;
}

/* Returns a lock's row, added if missing. Ignores the kind: it is from maybe truncated stacks. */
static struct row *find_row(struct lock_table *table, const struct lock_name *lock)
{
	uint64_t hash = lock_name_hash(lock);
	struct row *row;

	for_each_linked(struct row, known, link, &table->by_lock, hash)
		if (lock_name_is_same(known->lock, lock))
			return known;
	row = mem_zalloc(1, sizeof(*row));
	row->lock = lock;
	hashtable_add(&table->by_lock, &row->link, hash);
	return row;
}

static void add_waker(struct row *row, const struct lock_key *key, const struct sums *sums)
{
	struct waker *waker;

	waker = MEM_APPEND(row->wakers, row->n_wakers, row->cap);
	*waker = (struct waker){ .tgid = key->lock.waker_tgid,
				 .stack_id = key->stack.waker_id,
				 .sums = *sums };
	memcpy(waker->comm, key->lock.waker_comm, TASK_COMM_LEN);
}

static bool is_vague(const char *kind)
{
	return !kind || !strcmp(kind, "futex");
}

void lock_table_add(struct lock_table *table, const struct lock_name *lock, const char *kind,
		    const struct lock_key *key, const struct lock_sum *sum)
{
	const struct sums sums = { sum->count, sum->total_ns, sum->longest_ns };
	struct row *row = find_row(table, lock);

	if (is_vague(row->kind))
		row->kind = kind;
	if (!row->sums.count)
		memcpy(row->comm, key->stack.comm, TASK_COMM_LEN);
	add_sums(&row->sums, &sums);
	row->waiting += key->stack.remark & WAIT_AT_END ? sum->count : 0;
	row->given_up += key->lock.end == LOCK_END_GIVEN_UP ? sum->count : 0;
	if (key->lock.end == LOCK_END_RELEASED)
		add_waker(row, key, &sums);
}

/* ---- the order ---- */

static int compare_sums(const struct sums *a, const struct sums *b)
{
	return order_u64(b->total_ns, a->total_ns) ?: order_u64(b->count, a->count);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	return compare_sums(&x->sums, &y->sums) ?: order_u64(x->lock->addr, y->lock->addr);
}

static int compare_wakers(const void *a, const void *b)
{
	const struct waker *x = a, *y = b;

	return compare_sums(&x->sums, &y->sums) ?: order_u64(x->stack_id, y->stack_id);
}

static int compare_threads(const struct waker *a, const struct waker *b)
{
	return order_u64(a->tgid, b->tgid) ?: strcmp(a->comm, b->comm);
}

static int compare_identities(const void *a, const void *b)
{
	const struct waker *x = a, *y = b;

	return compare_threads(x, y) ?: order_u64(x->stack_id, y->stack_id);
}

static void merge_wakers(struct row *row)
{
	size_t n = 0;

	SORT(row->wakers, row->n_wakers, compare_identities);
	for (size_t i = 0; i < row->n_wakers; i++)
		if (n && !compare_identities(&row->wakers[n - 1], &row->wakers[i]))
			add_sums(&row->wakers[n - 1].sums, &row->wakers[i].sums);
		else
			row->wakers[n++] = row->wakers[i];
	row->n_wakers = n;
}

/* Sets the wakers' count; those of one thread are adjacent. */
static void count_by_thread(struct row *row)
{
	uint64_t count;
	size_t end;

	for (size_t i = 0; i < row->n_wakers; i = end) {
		count = 0;
		for (end = i; end < row->n_wakers; end++) {
			if (compare_threads(&row->wakers[i], &row->wakers[end]))
				break;
			count += row->wakers[end].sums.count;
		}
		for (size_t k = i; k < end; k++)
			row->wakers[k].count = count;
	}
}

static void sort_wakers(struct row *row)
{
	if (!row->n_wakers)
		return;
	merge_wakers(row);
	count_by_thread(row);
	SORT(row->wakers, row->n_wakers, compare_wakers);
}

struct list {
	struct row **rows;
	size_t n;
};

static struct list sort_rows(struct lock_table *table)
{
	struct list list = { .rows = mem_zalloc(table->by_lock.count + 1, sizeof(*list.rows)) };

	for_each_element(struct row, row, next, link, &table->by_lock) {
		sort_wakers(row);
		list.rows[list.n++] = row;
	}
	SORT(list.rows, list.n, compare_rows);
	return list;
}

/* ---- text ---- */

static uint64_t us_of(uint64_t ns)
{
	return ns / NS_PER_US;
}

/* Describes the thread that released most often, over all its stacks: "worker 57%"; "-": none. */
static void describe_waker(const struct row *row, char *text, size_t size)
{
	char name[4 * TASK_COMM_LEN + 1];
	const struct waker *best = NULL;

	for (size_t i = 0; i < row->n_wakers; i++)
		if (!best || row->wakers[i].count > best->count)
			best = &row->wakers[i];
	snprintf(text, size, "-");
	if (best)
		snprintf(text, size, "%s %.0f%%",
			 escape_string(name, sizeof(name), escape_no_name(best->comm), ""),
			 100.0 * (double)best->count / (double)row->sums.count);
}

static void print_notes(FILE *f, const struct row *row)
{
	if (row->lock->pid)
		fprintf(f, " (%d)", row->lock->pid);
	if (row->waiting)
		fprintf(f, " [%" PRIu64 " waiting]", row->waiting);
	if (row->given_up)
		fprintf(f, " [%" PRIu64 " given up]", row->given_up);
}

static void print_row(FILE *f, const struct row *row)
{
	char *name = lock_name_text(row->lock, row->kind);
	char who[WHO_BYTES];

	describe_waker(row, who, sizeof(who));
	fprintf(f, "%8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %s%-*s %-20s ", row->sums.count,
		us_of(row->sums.total_ns), us_of(row->sums.longest_ns),
		row->lock->is_kernels ? "k:" : "", row->lock->is_kernels ? 8 : 10, row->kind, who);
	escape_print(f, name, "");
	print_notes(f, row);
	fputc('\n', f);
	free(name);
}

static void print_stack(FILE *f, const struct row *row, const struct waker *waker,
			const struct lock_style *style)
{
	const struct frame *frames[MAX_FRAMES];
	static const struct writer_style plain;
	size_t n = style->stack(row->lock, waker->stack_id, frames, MAX_FRAMES, style->arg);

	while (n-- > 0) {
		fputs("            ", f);
		writer_print_frame(f, frames[n], &plain, NULL);
		fputc('\n', f);
	}
}

static void print_wakers(FILE *f, const struct row *row, const struct lock_style *style)
{
	for (size_t i = 0; i < row->n_wakers && i < MAX_STACKS; i++) {
		const struct waker *waker = &row->wakers[i];
		char text[QUANTITY_MAX];

		fprintf(f, "        released %" PRIu64 " %s, after %" PRIu64 " us, by ",
			waker->sums.count, quantity_unit(text, waker->sums.count, "times"),
			us_of(waker->sums.total_ns));
		escape_print(f, escape_no_name(waker->comm), "");
		fprintf(f, " (%u)\n", waker->tgid);
		print_stack(f, row, waker, style);
	}
	if (row->n_wakers > MAX_STACKS)
		fprintf(f, "        ... and from %zu more stacks\n", row->n_wakers - MAX_STACKS);
}

void lock_table_print(FILE *f, struct lock_table *table, const struct lock_style *style)
{
	struct list list = sort_rows(table);

	fprintf(f, "%8s %10s %10s %-10s %-20s %s\n", "WAITS", "TOTAL_US", "LONGEST_US", "KIND",
		"RELEASED_BY", "LOCK");
	for (size_t i = 0; i < list.n; i++) {
		print_row(f, list.rows[i]);
		if (style->stack)
			print_wakers(f, list.rows[i], style);
	}
	free(list.rows);
}

/* ---- JSON ---- */

static void print_json_lock(struct json *json, const struct row *row)
{
	const struct lock_name *lock = row->lock;
	char *name = lock_name_text(lock, row->kind);

	json_text(json, "space", lock->is_kernels ? "kernel" : "user");
	json_text(json, "kind", row->kind);
	json_text(json, "name", name);
	json_uint(json, "address", lock->addr);
	json_text(json, "module", lock->module);
	json_text(json, "symbol", lock->symbol);
	json_text(json, "mapping", lock->mapping);
	if (lock->module && !lock->is_kernels)
		json_uint(json, "offset", lock->vaddr);
	else if (lock->offset)
		json_uint(json, "offset", lock->offset);
	json_text(json, "function", lock->function);
	if (lock->pid)
		json_uint(json, "pid", (uint64_t)lock->pid);
	json_text(json, "comm", row->comm);
	free(name);
}

static void print_json_sums(struct json *json, const struct sums *sums)
{
	json_uint(json, "waits", sums->count);
	json_uint(json, "total_ns", sums->total_ns);
	json_uint(json, "longest_ns", sums->longest_ns);
}

static void print_json_waker(struct json *json, const struct row *row, const struct waker *waker,
			     const struct lock_style *style)
{
	const struct frame *frames[MAX_FRAMES];
	size_t n;

	json_open(json, NULL, '{');
	json_text(json, "comm", waker->comm);
	json_uint(json, "pid", waker->tgid);
	print_json_sums(json, &waker->sums);
	if (style->stack) {
		n = style->stack(row->lock, waker->stack_id, frames, MAX_FRAMES, style->arg);
		json_open(json, "frames", '[');
		for (size_t i = 0; i < n; i++)
			json_text(json, NULL, frames[i]->name ? frames[i]->name : "?");
		json_close(json, ']');
	}
	json_close(json, '}');
}

void lock_table_print_json(FILE *f, struct lock_table *table, const struct lock_style *style)
{
	struct list list = sort_rows(table);

	for (size_t i = 0; i < list.n; i++) {
		struct json json = json_begin_line(f, "lock");

		print_json_lock(&json, list.rows[i]);
		print_json_sums(&json, &list.rows[i]->sums);
		json_uint(&json, "waiting", list.rows[i]->waiting);
		json_uint(&json, "given_up", list.rows[i]->given_up);
		json_open(&json, "wakers", '[');
		for (size_t k = 0; k < list.rows[i]->n_wakers; k++)
			print_json_waker(&json, list.rows[i], &list.rows[i]->wakers[k], style);
		json_close(&json, ']');
		json_end_line(&json);
	}
	free(list.rows);
}
