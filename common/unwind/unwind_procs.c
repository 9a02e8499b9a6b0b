// SPDX-License-Identifier: GPL-2.0-only
/* Processes and their slices; see unwind_procs.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "process/mapslog.h"
#include "base/mem.h"
#include "base/parse.h"
#include "unwind/unwind_procs.h"

#define PROC_BUCKETS  1024
#define SLICE_CLASSES (UNWIND_SLICE_BITS + 1) /* slices of 1, 2, 4 ... mappings */
#define REST_NS	      NS_PER_S

/* A slice and who uses it: a process and the children it forked since. */
struct slice {
	struct slice *next; /* among those that rest */
	struct unwind_process range;
	struct unwind_file **files; /* per mapping; NULL: none */
	unsigned int n_users, class;
	uint64_t freed_ns;
};

struct proc {
	struct proc *next;
	pid_t pid;
	struct slice *slice;
};

/* What was recalled last: the copies of one process's stacks often come together. */
struct recalled {
	pid_t pid;
	uint64_t state;
	struct unwind_mapping *mappings;
	size_t count;
};

struct unwind_procs {
	struct unwind_files *files;
	struct mapslog *log;
	struct recalled recalled;
	struct unwind_mapping *mappings;
	uint32_t n_mappings; /* used from the array's beginning on */
	uint32_t max_mappings;
	uint32_t serial; /* of the last slice that was given */
	struct slice *resting[SLICE_CLASSES], **resting_tail[SLICE_CLASSES];
	struct proc *buckets[PROC_BUCKETS];
	size_t n_procs;
};

struct unwind_procs *unwind_procs_new(struct unwind_files *files, struct unwind_mapping *mappings,
				      uint32_t max_mappings)
{
	struct unwind_procs *procs = mem_zalloc(1, sizeof(*procs));

	procs->files = files;
	procs->mappings = mappings;
	procs->max_mappings = max_mappings;
	for (size_t i = 0; i < SLICE_CLASSES; i++)
		procs->resting_tail[i] = &procs->resting[i];
	return procs;
}

void unwind_procs_set_log(struct unwind_procs *procs, struct mapslog *log)
{
	procs->log = log;
}

/* ---- slices ---- */

/* The first of those that have rested long enough, or a new one. NULL: the array is full. */
static struct slice *take_slice(struct unwind_procs *procs, unsigned int class)
{
	struct slice *slice = procs->resting[class];

	if (slice && clock_now_ns() - slice->freed_ns >= REST_NS) {
		procs->resting[class] = slice->next;
		if (!slice->next)
			procs->resting_tail[class] = &procs->resting[class];
		return slice;
	}
	if (procs->n_mappings + (1U << class) > procs->max_mappings)
		return NULL;
	slice = mem_zalloc(1, sizeof(*slice));
	slice->files = mem_zalloc((size_t)1 << class, sizeof(*slice->files));
	slice->class = class;
	slice->range.first = procs->n_mappings;
	procs->n_mappings += 1U << class;
	return slice;
}

static struct slice *allocate_slice(struct unwind_procs *procs, size_t n)
{
	unsigned int class = 0;
	struct slice *slice;

	while (((size_t)1 << class) < n)
		class ++;
	if (class >= SLICE_CLASSES)
		return NULL;
	slice = take_slice(procs, class);
	if (!slice)
		return NULL;
	slice->next = NULL;
	slice->n_users = 1;
	slice->range.count = (uint32_t)n;
	slice->range.serial = ++procs->serial;
	return slice;
}

static void release_slice(struct unwind_procs *procs, struct slice *slice)
{
	if (!slice || --slice->n_users)
		return;
	for (uint32_t i = 0; i < slice->range.count; i++)
		if (slice->files[i])
			slice->files[i]->n_users--;
	slice->next = NULL;
	slice->freed_ns = clock_now_ns();
	*procs->resting_tail[slice->class] = slice;
	procs->resting_tail[slice->class] = &slice->next;
}

static void free_slice(struct slice *slice)
{
	free(slice->files);
	free(slice);
}

/* ---- processes ---- */

static struct proc **find_link(const struct unwind_procs *procs, pid_t pid)
{
	struct proc *const *link = &procs->buckets[(unsigned int)pid % PROC_BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return (struct proc **)link;
}

/* Gives a process a slice, for which the caller has counted it as a user. */
static void set_slice(struct unwind_procs *procs, pid_t pid, struct slice *slice)
{
	struct proc **link = find_link(procs, pid);

	if (*link) {
		release_slice(procs, (*link)->slice);
	} else {
		*link = mem_zalloc(1, sizeof(**link));
		(*link)->pid = pid;
		procs->n_procs++;
	}
	(*link)->slice = slice;
}

void unwind_procs_free(struct unwind_procs *procs)
{
	if (!procs)
		return;
	for (size_t i = 0; i < PROC_BUCKETS; i++)
		while (procs->buckets[i])
			unwind_procs_exit(procs, procs->buckets[i]->pid);
	for (size_t i = 0; i < SLICE_CLASSES; i++)
		for (struct slice *s = procs->resting[i], *next; s; s = next) {
			next = s->next;
			free_slice(s);
		}
	free(procs->recalled.mappings);
	free(procs);
}

static void fill_mapping(struct unwind_mapping *to, const struct mapping *m,
			 const struct unwind_file *file)
{
	uint64_t vaddr = file ? elfsegs_vaddr(&file->segs, m->offset) : UINT64_MAX;

	*to = (struct unwind_mapping){ .start = m->start, .end = m->end };
	if (vaddr == UINT64_MAX)
		return;
	to->pages_start = m->start - vaddr + (file->run.page_base << UNWIND_PAGE_SHIFT);
	to->first_page = file->run.first_page;
	to->n_pages = file->run.n_pages;
}

static void fill_slice(struct unwind_procs *procs, struct slice *slice, pid_t pid,
		       const struct mappings *maps, const struct timespec *read_time)
{
	struct unwind_file *file;

	for (size_t i = 0; i < maps->count; i++) {
		file = unwind_files_get(procs->files, pid, &maps->items[i], read_time);
		slice->files[i] = file;
		if (file)
			file->n_users++;
		fill_mapping(&procs->mappings[slice->range.first + i], &maps->items[i], file);
	}
}

bool unwind_procs_update(struct unwind_procs *procs, pid_t pid, struct unwind_process *range)
{
	struct timespec read_time;
	struct mappings maps;
	struct slice *slice;

	if (procs->log && mapslog_has_exited(procs->log, pid))
		return false;
	if (mapslog_read(procs->log, pid, clock_now_ns(), &maps, &read_time))
		return false;
	slice = maps.count ? allocate_slice(procs, maps.count) : NULL;
	if (slice) {
		fill_slice(procs, slice, pid, &maps, &read_time);
		set_slice(procs, pid, slice);
		slice->range.change = range->change;
		*range = slice->range;
	}
	mappings_free(&maps);
	return slice;
}

static void forget_recalled(struct recalled *r)
{
	free(r->mappings);
	*r = (struct recalled){};
}

/* Files that are not mapped any more may be others by then: unwind_files_get() looks. */
static void recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns)
{
	struct recalled *r = &procs->recalled;
	struct timespec read_time;
	struct mappings maps;

	clock_gettime(CLOCK_REALTIME_COARSE, &read_time);
	if (!mapslog_find(procs->log, pid, time_ns, &maps))
		return;
	r->mappings = mem_zalloc(maps.count, sizeof(*r->mappings));
	r->count = maps.count;
	for (size_t i = 0; i < maps.count; i++)
		fill_mapping(&r->mappings[i], &maps.items[i],
			     unwind_files_get(procs->files, pid, &maps.items[i], &read_time));
	mappings_free(&maps);
}

size_t unwind_procs_recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns,
			   const struct unwind_mapping **mappings)
{
	uint64_t state = procs->log ? mapslog_state(procs->log, pid, time_ns) : 0;
	struct recalled *r = &procs->recalled;

	if (!state || r->pid != pid || r->state != state) {
		forget_recalled(r);
		if (state)
			recall(procs, pid, time_ns);
		r->pid = pid;
		r->state = state;
	}
	*mappings = r->mappings;
	return r->count;
}

void unwind_procs_fork(struct unwind_procs *procs, pid_t parent, pid_t child)
{
	struct proc *p = *find_link(procs, parent);

	if (!p)
		return;
	p->slice->n_users++;
	set_slice(procs, child, p->slice);
}

void unwind_procs_exit(struct unwind_procs *procs, pid_t pid)
{
	struct proc **link = find_link(procs, pid), *p = *link;

	if (!p)
		return;
	*link = p->next;
	release_slice(procs, p->slice);
	free(p);
	procs->n_procs--;
}

bool unwind_procs_knows(const struct unwind_procs *procs, pid_t pid)
{
	return *find_link(procs, pid);
}

bool unwind_procs_find(const struct unwind_procs *procs, pid_t pid, struct unwind_process *range)
{
	const struct proc *p = *find_link(procs, pid);

	if (p)
		*range = p->slice->range;
	return p;
}

void unwind_procs_count(const struct unwind_procs *procs, size_t *n_processes, size_t *n_mappings)
{
	*n_processes = procs->n_procs;
	*n_mappings = procs->n_mappings;
}
