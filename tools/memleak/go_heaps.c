// SPDX-License-Identifier: GPL-2.0-only
/* Heaps of traced Go programs; see go_heaps.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/unwind_layout.h"
#include "base/clock.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/go_heaps.h"
#include "output/quantity.h"
#include "process/processes.h"
#include "process/procstate.h"
#include "runtimes/go/heap.h"
#include "stacks/stacks.h"

#define RUNTIME_DEPTH 32	     /* the runtime cuts stacks here, or later (Go 1.23) */
#define READ_MAX_NS   (2 * NS_PER_S) /* CPU time per process and report: memory may be forged */

struct go_process {
	pid_t pid;
	uint64_t serial;	    /* serial of the program's file */
	struct go_program *program; /* NULL: no heap profile */
	bool is_reported;	    /* the reason why there is no profile was printed */
	bool is_read;		    /* the members below are of the last read */
	bool is_same;		    /* no collection has ended since the previous read */
	uint32_t cycle;
	uint64_t rate, bytes, objects, samples;
	double variance; /* variance of bytes */
	size_t n_unread; /* stacks that were not read in time */
};

struct go_heaps {
	const struct run *run;
	struct idmap processes; /* processes by pid */
};

struct go_heaps *go_heaps_new(const struct run *run)
{
	struct go_heaps *heaps = mem_zalloc(1, sizeof(*heaps));

	heaps->run = run;
	return heaps;
}

static void free_process(void *value)
{
	struct go_process *process = value;

	go_program_close(process->program);
	free(process);
}

void go_heaps_free(struct go_heaps *heaps)
{
	if (!heaps)
		return;
	idmap_free(&heaps->processes, free_process);
	free(heaps);
}

/* ---- processes ---- */

/* Prints, once per process, why the process's heap is not in the report. */
static void report_why(struct go_process *process, const char *why)
{
	if (!process->is_reported)
		msg_warn("process %d: Go's heap is not shown: %s", process->pid, why);
	process->is_reported = true;
}

static const char *describe_error(const struct go_process *process, int err)
{
	if (process_has_ended(process->pid))
		return "the process has ended (use an interval)";
	switch (err) {
	case -ENODATA:
		return go_heap_why_none(process->program);
	case -EAGAIN:
		return "its profile changed during each attempt to read it";
	case -ETIMEDOUT:
		return "reading its profile takes too long";
	case -EFAULT:
		return "its memory can't be read";
	default:
		return "its profile has an unexpected layout";
	}
}

static struct go_process *find_or_add(struct go_heaps *heaps, pid_t pid)
{
	struct go_process *process = idmap_find(&heaps->processes, (uint64_t)pid);

	if (process)
		return process;
	process = mem_zalloc(1, sizeof(*process));
	process->pid = pid;
	idmap_add(&heaps->processes, (uint64_t)pid, process);
	return process;
}

/* Opens the process's program. Maps are held by the program. */
static void open_program(struct go_process *process, struct maps *maps)
{
	const char *why;
	int err;

	go_program_close(process->program);
	process->is_reported = process->is_read = false;
	process->program = go_program_open(process->pid, maps, &err);
	if (!process->program && err != -ENODATA)
		report_why(process, "its table of functions can't be read");
	why = process->program ? go_heap_why_none(process->program) : NULL;
	if (!why)
		return;
	report_why(process, why);
	go_program_close(process->program);
	process->program = NULL;
}

void go_heaps_add(struct go_heaps *heaps, pid_t pid)
{
	struct processes *table = stacks_processes(heaps->run);
	struct maps *maps = processes_read_again(table, pid, clock_now_ns());
	const struct file *file = maps ? go_program_file(maps, pid) : NULL;
	struct go_process *process = idmap_find(&heaps->processes, (uint64_t)pid);
	uint64_t serial = file ? file->serial : 0;

	if (serial != (process ? process->serial : 0)) {
		process = find_or_add(heaps, pid);
		process->serial = serial;
		open_program(process, maps);
	}
	maps_release(maps);
}

size_t go_heaps_count(const struct go_heaps *heaps)
{
	const struct go_process *process;
	size_t n = 0;

	for (size_t at = 0; (process = idmap_next(&heaps->processes, &at));)
		n += process->program != NULL;
	return n;
}

/* ---- reading ---- */

struct reading {
	const struct go_heaps *heaps;
	const struct leak_options *options;
	struct block_sums *sums;
};

/* Returns false for stacks that the runtime may have cut. */
static bool is_complete(const struct go_program *p, const uint64_t *words, size_t n)
{
	const struct go_func *root = &p->functions[GO_GOEXIT];

	return n < RUNTIME_DEPTH ||
	       (words[n - 1] - p->bias >= root->start && words[n - 1] - p->bias < root->end);
}

static uint64_t define_stack(const struct reading *reading, const struct go_process *process,
			     const struct go_heap *heap, const struct go_heap_record *record)
{
	uint64_t *words = heap->words + record->at;
	bool is_whole = is_complete(process->program, words, record->n);
	size_t n = go_heap_drop_inlined(process->program, words, record->n);

	return stacks_define(reading->heaps->run, process->pid, words, n,
			     is_whole ? UNWIND_COMPLETE : UNWIND_DEPTH);
}

static void add_record(const struct reading *reading, struct go_process *process,
		       const struct go_heap *heap, const struct go_heap_record *record)
{
	double scale = go_heap_scale(heap, record->object_bytes);
	double live = (double)(record->allocs - record->frees) * scale;
	double all = (double)record->allocs * scale;
	struct block_sum sum = {
		.tgid = process->pid,
		.bytes = (uint64_t)llround(live * (double)record->object_bytes),
		.count = (uint64_t)llround(live),
		.n_samples = record->allocs - record->frees,
		.alloc_bytes = (uint64_t)llround(all * (double)record->object_bytes),
		.alloc_count = (uint64_t)llround(all),
		.is_sampled = true,
	};

	if (record->object_bytes < reading->options->min_bytes ||
	    record->object_bytes > reading->options->max_bytes)
		return;
	sum.stack_id = define_stack(reading, process, heap, record);
	block_sums_add_sampled(reading->sums, &sum);
	process->bytes += sum.bytes;
	process->objects += sum.count;
	process->samples += sum.n_samples;
	process->variance +=
		live * (double)record->object_bytes * (double)record->object_bytes * (scale - 1);
}

static void take_heap(const struct reading *reading, struct go_process *process,
		      const struct go_heap *heap, uint64_t end_ns)
{
	process->is_same = process->is_read && process->cycle == heap->cycle;
	process->is_read = true;
	process->cycle = heap->cycle;
	process->rate = heap->rate;
	process->bytes = process->objects = process->samples = 0;
	process->variance = 0;
	process->n_unread = 0;
	for (size_t i = 0; i < heap->n; i++)
		if (clock_thread_ns() < end_ns)
			add_record(reading, process, heap, &heap->records[i]);
		else
			process->n_unread++;
}

/* Closes the program, and its files, of a process that has ended. Another one may get the pid. */
static void close_program(struct go_process *process)
{
	go_program_close(process->program);
	process->program = NULL;
	process->serial = 0;
}

static void read_process(const struct reading *reading, struct go_process *process)
{
	uint64_t end_ns = clock_thread_ns() + READ_MAX_NS;
	struct go_heap heap;
	int err;

	if (!process->program)
		return;
	err = go_heap_read(process->program, end_ns, &heap);
	if (err)
		report_why(process, describe_error(process, err));
	else
		take_heap(reading, process, &heap, end_ns);
	process->is_read = !err;
	go_heap_free(&heap);
	if (err && process_has_ended(process->pid))
		close_program(process);
}

void go_heaps_read(struct go_heaps *heaps, const struct leak_options *options,
		   struct block_sums *sums)
{
	const struct reading reading = { heaps, options, sums };
	struct go_process *process;

	for (size_t at = 0; (process = idmap_next(&heaps->processes, &at));)
		read_process(&reading, process);
}

/* ---- printing ---- */

/* Prints a line to a file; NULL: to standard error. */
static void print_process(const struct go_process *process, FILE *f)
{
	char unit[QUANTITY_MAX], *line;

	if (!process->is_read)
		return;
	line = mem_printf("Go's heap of process %d: ~%llu bytes (standard error %.0f) in ~%llu %s, "
			  "estimated from %llu %s (one per %llu bytes)%s",
			  process->pid, (unsigned long long)process->bytes, sqrt(process->variance),
			  (unsigned long long)process->objects,
			  quantity_unit(unit, process->objects, "objects"),
			  (unsigned long long)process->samples,
			  process->samples == 1 ? "sample" : "samples",
			  (unsigned long long)process->rate,
			  process->is_same ? "; no garbage collection since the last report" : "");
	if (f)
		fprintf(f, "\t%s\n", line);
	else
		msg_info("%s", line);
	if (process->n_unread)
		msg_warn("process %d: %zu stacks of Go's heap not read: time limit reached",
			 process->pid, process->n_unread);
	free(line);
}

void go_heaps_print(const struct go_heaps *heaps, FILE *f)
{
	const struct go_process *process;

	for (size_t at = 0; (process = idmap_next(&heaps->processes, &at));)
		print_process(process, f);
}

bool go_heaps_own(const struct go_heaps *heaps, pid_t tgid, const struct frame *const *frames,
		  size_t n)
{
	const struct go_process *process =
		heaps ? idmap_find(&heaps->processes, (uint64_t)tgid) : NULL;

	for (size_t i = 0; process && process->is_read && i < n; i++)
		if (!strcmp(frames[i]->name, "runtime.mmap"))
			return true;
	return false;
}
