// SPDX-License-Identifier: GPL-2.0-only
/* Slices of processes; see unwind_procs.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/extents.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/search.h"
#include "process/processes.h"
#include "unwind/cfi.h"
#include "unwind/cfi_gaps.h"
#include "unwind/code_rows.h"
#include "unwind/go_rows.h"
#include "unwind/unwind_procs.h"

/* ---- rows of files ---- */

/*
 * The unwind rows of the files that traced processes execute: compiled once, and attached to the
 * file, until it is released.
 */
struct unwind_files {
	struct unwind_tables *tables;
	/* compiled files; those without rows, because memory ran out */
	size_t n_files, n_refused;
};

#define EXPENSIVE_ROWS (1 << 18) /* LLVM's library has a million: 70 ms, and temporarily 25 MB */

/* Rows of a file: its struct file_part. */
struct rows {
	struct unwind_files *files;
	struct unwind_run run;
	bool is_refused;
};

static void compile_file(struct unwind_files *files, const struct file *file, struct rows *rows)
{
	struct cfi_table cfi;
	int err;

	if (!file->is_elf || !elf64_is_native(&file->elf))
		return;
	err = cfi_load(&cfi, &file->elf);
	if (!err || err == -ENODATA)
		go_rows_fill(&cfi, &file->elf);
	if (file->image) /* the vdso: rows are needed only without .eh_frame */
		code_rows_fill_image(&cfi, &file->elf);
	if (!file->image)
		cfi_fill_known_gaps(&cfi, &file->elf);
	if (cfi.count) {
		files->n_files++;
		unwind_tables_reclaim(files->tables, clock_now_ns());
		rows->is_refused = unwind_tables_add(files->tables, &cfi, &rows->run);
		files->n_refused += rows->is_refused;
	}
	cfi_free(&cfi);
}

static void release(void *data)
{
	const struct rows *rows = data;

	rows->files->n_files -= rows->run.n_pages || rows->is_refused;
	rows->files->n_refused -= rows->is_refused;
	unwind_tables_remove(rows->files->tables, &rows->run, clock_now_ns());
}

/* Returns a file's rows, compiled if needed; no pages: no unwind information. */
static struct unwind_run unwind_files_rows(struct unwind_files *files, struct file *file)
{
	struct file_part *part = &file->parts[FILE_ROWS];
	struct rows *rows = part->data;

	if (!rows && file->fd < 0 && !file->image)
		return (struct unwind_run){ 0 }; /* not open yet */
	if (!rows) {
		rows = mem_zalloc(1, sizeof(*rows));
		rows->files = files;
		*part = (struct file_part){ rows, free, release };
		compile_file(files, file, rows);
		part->is_expensive = rows->run.n_rows >= EXPENSIVE_ROWS;
	}
	return rows->run;
}

/* ---- the array of mappings ---- */

#define MAX_SLICE    (1U << UNWIND_SLICE_BITS)
#define MAX_MEANINGS MAX_SLICE
#define REST_NS	     NS_PER_S

/* A range of the array of mappings. */
struct slice {
	struct slice *next; /* next retired, or next resting slice */
	struct unwind_process range;
	uint64_t rests_since_ns;
};

/* Data attached to maps: the mappings with their files' rows. */
struct view {
	struct slice *slice; /* NULL: not published for any process */
	unsigned int n_users;
	struct unwind_mapping mappings[];
};

/* The latest recalled maps: several copies of a process's stacks often come together. */
struct recalled {
	pid_t pid;
	uint64_t state;
	struct maps *maps;
};

struct unwind_procs {
	struct processes *processes;
	struct unwind_files files;
	struct recalled recalled;
	struct unwind_mapping *mappings;
	uint32_t max_mappings, n_free;
	uint32_t serial;       /* serial of the latest slice */
	struct slice *retired; /* slices that BPF may still use */
	struct slice *resting, **resting_tail;
	struct extents free;
	bool is_full_reported;
};

static void give_back(struct unwind_procs *procs, uint32_t first, uint32_t count)
{
	extents_add(&procs->free, first, count);
	procs->n_free += count;
}

struct unwind_procs *unwind_procs_new(struct processes *processes, struct unwind_tables *tables,
				      struct unwind_mapping *mappings, uint32_t max_mappings)
{
	struct unwind_procs *procs = mem_zalloc(1, sizeof(*procs));

	procs->processes = processes;
	procs->files.tables = tables;
	procs->mappings = mappings;
	procs->max_mappings = max_mappings;
	procs->resting_tail = &procs->resting;
	give_back(procs, 0, max_mappings);
	return procs;
}

void unwind_procs_free(struct unwind_procs *procs)
{
	struct slice *slice;

	if (!procs)
		return;
	unwind_procs_begin_rests(procs);
	maps_release(procs->recalled.maps);
	while ((slice = procs->resting)) {
		procs->resting = slice->next;
		free(slice);
	}
	extents_clear(&procs->free);
	free(procs);
}

/* ---- slices ---- */

/* Frees slices whose waiting time is over: BPF can no longer read them. */
static void end_rests(struct unwind_procs *procs)
{
	uint64_t now_ns = clock_now_ns();
	struct slice *slice;

	while ((slice = procs->resting) && now_ns - slice->rests_since_ns >= REST_NS) {
		procs->resting = slice->next;
		if (!slice->next)
			procs->resting_tail = &procs->resting;
		give_back(procs, slice->range.first, slice->range.count);
		free(slice);
	}
}

/* Allocates a slice of n mappings. NULL: out of space. */
static struct slice *allocate_slice(struct unwind_procs *procs, size_t n)
{
	struct slice *slice;
	uint64_t first;

	end_rests(procs);
	if (n >= MAX_SLICE || !extents_take(&procs->free, n, &first))
		return NULL;
	procs->n_free -= (uint32_t)n;
	slice = mem_zalloc(1, sizeof(*slice));
	slice->range.first = (uint32_t)first;
	slice->range.count = (uint32_t)n;
	slice->range.serial = ++procs->serial;
	return slice;
}

static void retire_slice(struct unwind_procs *procs, struct slice *slice)
{
	slice->next = procs->retired;
	procs->retired = slice;
}

void unwind_procs_begin_rests(struct unwind_procs *procs)
{
	uint64_t now_ns = clock_now_ns();
	struct slice *slice;

	while ((slice = procs->retired)) {
		procs->retired = slice->next;
		slice->next = NULL;
		slice->rests_since_ns = now_ns;
		*procs->resting_tail = slice;
		procs->resting_tail = &slice->next;
	}
}

/* ---- what addresses mean ---- */

/* An address range and its first meaning in a process: a location in a file. */
struct meaning {
	uint64_t start, end;
	uint64_t key; /* hash of the file and the offset in it; 0: memory without a file */
};

struct meanings {
	uint32_t base; /* added to names; increased when the history restarts */
	size_t n, capacity;
	struct meaning items[]; /* ascending, not overlapping */
};

static uint64_t meaning_key(const struct mapped *m)
{
	return m->file ? hash_add(hash_add(0, m->file->serial), m->start - m->offset) : 0;
}

/* Records a first meaning. False: some of the addresses already have another one. */
static bool is_first_meaning(struct meanings *meanings, const struct meaning *m)
{
	size_t at = SEARCH_RANK(meanings->items, meanings->n, end, m->start), last = at;

	while (last < meanings->n && meanings->items[last].start < m->end)
		if (meanings->items[last++].key != m->key)
			return false;
	if (last == at) {
		memmove(meanings->items + at + 1, meanings->items + at,
			(meanings->n++ - at) * sizeof(*m));
		meanings->items[at] = *m;
		return true;
	}
	if (meanings->items[at].start > m->start)
		meanings->items[at].start = m->start;
	if (meanings->items[last - 1].end < m->end)
		meanings->items[last - 1].end = m->end;
	return true;
}

/*
 * Returns a number for the meaning of the mappings' addresses, hashed into stack ids: it changes
 * when an address changes its meaning, and changes back with it. So ids don't multiply where code
 * is mapped and unmapped all the time.
 */
static uint32_t name_meanings(struct meanings *meanings, const struct maps *maps)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapped *m = &maps->items[i];
		struct meaning meaning = { m->start, m->end, meaning_key(m) };

		if (!is_first_meaning(meanings, &meaning))
			sum += hash_add(hash_add(1, meaning.start), meaning.key);
	}
	return (meanings->base + (uint32_t)(sum ^ sum >> 32))
	       << 1; /* bit 0 is UNWIND_HAS_PERF_MAP */
}

/* Makes space for n more meanings. If there are too many, the history restarts, with new names. */
static struct meanings *make_space(struct meanings *meanings, size_t n)
{
	size_t capacity = 2 * (meanings->n + n);

	if (meanings->n + n <= meanings->capacity)
		return meanings;
	if (capacity > MAX_MEANINGS) {
		meanings->n = 0;
		meanings->base++;
		capacity = n > MAX_MEANINGS ? n : MAX_MEANINGS;
	}
	if (capacity > meanings->capacity) {
		meanings = mem_realloc(meanings, 1,
				       sizeof(*meanings) + capacity * sizeof(*meanings->items));
		meanings->capacity = capacity;
	}
	return meanings;
}

/* Updates the names of a process's addresses; the history begins at the first change. */
static void note_meanings(struct process *p, const struct maps *before, const struct maps *maps)
{
	if (!before || before == maps)
		return;
	if (!p->meanings) {
		p->meanings = make_space(mem_zalloc(1, sizeof(*p->meanings)), before->count);
		p->meanings->base = p->names >> 1;
		name_meanings(p->meanings, before);
	}
	p->meanings = make_space(p->meanings, maps->count);
	p->names = name_meanings(p->meanings, maps) | (p->names & UNWIND_HAS_PERF_MAP);
}

static void forget_meanings(struct process *p)
{
	free(p->meanings);
	p->meanings = NULL;
	p->names = 0;
}

/* ---- views ---- */

static void fill_mapping(struct unwind_procs *procs, struct unwind_mapping *to,
			 const struct mapped *m, struct file *file)
{
	uint64_t vaddr = file ? elfsegs_mapping_vaddr(&file->segs, m->offset, m->end - m->start)
			      : UINT64_MAX;
	struct unwind_run rows;

	*to = (struct unwind_mapping){ .start = m->start, .end = m->end };
	if (vaddr == UINT64_MAX)
		return;
	rows = unwind_files_rows(&procs->files, file);
	to->pages_start = m->start - vaddr + (rows.page_base << UNWIND_PAGE_SHIFT);
	to->first_page = rows.first_page;
	to->n_pages = rows.n_pages;
}

static void free_view(void *part)
{
	struct view *view = part;

	free(view->slice);
	free(view);
}

static struct view *get_view(struct unwind_procs *procs, struct maps *maps, pid_t pid)
{
	struct view *view = maps->part;

	if (view)
		return view;
	view = mem_zalloc(1, sizeof(*view) + maps->count * sizeof(*view->mappings));
	for (size_t i = 0; i < maps->count; i++)
		fill_mapping(procs, &view->mappings[i], &maps->items[i],
			     mapped_file(maps, &maps->items[i], pid));
	maps->part = view;
	maps->free_part = free_view;
	return view;
}

/* Writes the view to a slice, unless it has one. False: the array is full. */
static bool give_slice(struct unwind_procs *procs, struct view *view, size_t n)
{
	if (view->slice)
		return true;
	view->slice = allocate_slice(procs, n);
	if (view->slice)
		memcpy(procs->mappings + view->slice->range.first, view->mappings,
		       n * sizeof(*view->mappings));
	return view->slice;
}

static struct maps *published_maps(const struct unwind_procs *procs, pid_t pid)
{
	const struct process *p = processes_find(procs->processes, pid);

	return p ? p->published : NULL;
}

/* Replaces the published maps by maps with a slice (NULL: none). */
static void publish(struct unwind_procs *procs, pid_t pid, struct maps *maps)
{
	struct maps *before = maps_use(published_maps(procs, pid));
	struct view *view = maps ? maps->part : NULL;

	if (view)
		view->n_users++;
	processes_publish(procs->processes, pid, maps);
	if (maps)
		note_meanings(processes_find(procs->processes, pid), before, maps);
	view = before ? before->part : NULL;
	if (view && !--view->n_users) {
		retire_slice(procs, view->slice);
		view->slice = NULL;
	}
	maps_release(before);
}

/* ---- processes ---- */

/* Reports that the array is full, once, and immediately: a run may take days. */
static void tell_full(struct unwind_procs *procs, pid_t pid)
{
	if (!procs->is_full_reported)
		msg_warn("table of mappings: full at process %d, stacks of this and later "
			 "processes may be truncated",
			 pid);
	procs->is_full_reported = true;
}

static bool publish_maps(struct unwind_procs *procs, pid_t pid, uint32_t change, struct maps *maps,
			 struct unwind_process *range)
{
	struct view *view = get_view(procs, maps, pid);

	if (!maps->count)
		return false;
	if (!give_slice(procs, view, maps->count)) {
		tell_full(procs, pid);
		return false;
	}
	publish(procs, pid, maps);
	processes_find(procs->processes, pid)->published_change = change;
	return unwind_procs_find(procs, pid, range);
}

/* Reads the mappings; reads them again if code was replaced, whose event may not be here yet. */
static struct maps *read_maps(struct unwind_procs *procs, pid_t pid, uint32_t change)
{
	const struct process *p = processes_find(procs->processes, pid);

	if (p && p->published && p->published_change != change)
		return processes_read_again(procs->processes, pid, clock_now_ns());
	return processes_read(procs->processes, pid, clock_now_ns());
}

bool unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
			 struct unwind_process *range)
{
	uint64_t time_ns = clock_now_ns();
	struct maps *maps;
	bool done;

	if (processes_has_exited(procs->processes, pid))
		return false;
	maps = read_maps(procs, pid, change);
	done = maps && publish_maps(procs, pid, change, maps, range);
	if (done)
		processes_find(procs->processes, pid)->published_ns = time_ns;
	maps_release(maps);
	return done;
}

static bool overlap(const struct unwind_mappings *mappings, const struct unwind_area *area)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (mappings->items[i].start < area->end && area->start < mappings->items[i].end)
			return true;
	return false;
}

/* Returns true if a noted area overlaps the mappings; skips the oldest, maybe half written one. */
static bool has_area_in(const struct unwind_change *change, const struct unwind_mappings *mappings,
			uint64_t since_ns)
{
	uint64_t n = change->n_areas;

	for (uint64_t i = 1; i <= n && i < UNWIND_AREAS; i++) {
		const struct unwind_area *area = &change->areas[(n - i) % UNWIND_AREAS];

		if (area->time_ns <= since_ns)
			return false;
		if (overlap(mappings, area))
			return true;
	}
	return false;
}

bool unwind_procs_are_outdated(struct unwind_procs *procs, pid_t pid,
			       const struct unwind_change *change)
{
	struct process *p = processes_find(procs->processes, pid);
	struct unwind_mappings mappings;

	if (!p || !change->n_areas)
		return false;
	mappings = unwind_procs_published(procs, pid);
	if (!has_area_in(change, &mappings, processes_maps_time(procs->processes, pid)))
		return false;
	p->published_change = ~change->count; /* makes the next update read again */
	return true;
}

static bool is_same_code(const struct mapped *a, const struct mapped *b)
{
	return a->name->ino == b->name->ino && a->name->dev == b->name->dev &&
	       (!a->name->ino || a->start - a->offset == b->start - b->offset);
}

/* Returns the time at which BPF noted that code was moved there; the current time if it did not. */
static uint64_t time_of_area(const struct unwind_change *change, const struct mapped *m)
{
	uint64_t n = change->n_areas;

	for (uint64_t i = 1; i <= n && i < UNWIND_AREAS; i++) {
		const struct unwind_area *area = &change->areas[(n - i) % UNWIND_AREAS];

		if (area->start < m->end && m->start < area->end)
			return area->time_ns;
	}
	return clock_now_ns();
}

static void note_moved(struct unwind_procs *procs, pid_t pid, struct maps *known,
		       const struct mapped *m, const struct unwind_change *change)
{
	const struct mapped *there = maps_find(known, m->start);
	struct mapping mapping = {
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.dev = m->name->dev,
		.ino = m->name->ino,
		.path = m->name->path,
	};

	if (!there || !is_same_code(there, m))
		processes_map(procs->processes, pid, &mapping, time_of_area(change, m));
}

void unwind_procs_note_moves(struct unwind_procs *procs, pid_t pid,
			     const struct unwind_change *change)
{
	struct process *p = processes_find(procs->processes, pid);
	uint64_t now_ns = clock_now_ns();
	struct maps *known;

	if (!p || !p->published || p->moves_noted == change->count ||
	    processes_state(procs->processes, pid, now_ns) !=
		    processes_state(procs->processes, pid, p->published_ns))
		return;
	p->moves_noted = change->count;
	known = processes_recall(procs->processes, pid, now_ns);
	for (size_t i = 0; known && i < p->published->count; i++)
		note_moved(procs, pid, known, &p->published->items[i], change);
	maps_release(known);
}

/* Returns true if the published mappings were read after the latest exec that was received. */
static bool has_latest(const struct unwind_procs *procs, pid_t pid)
{
	const struct process *p = processes_find(procs->processes, pid);

	return p && p->published && p->latest && p->published_ns > p->latest->begin_ns;
}

void unwind_procs_fork(struct unwind_procs *procs, pid_t parent, pid_t child)
{
	struct process *p = processes_find(procs->processes, parent);
	uint32_t change = p ? p->published_change : 0, names = p ? p->names : 0;

	if (!p || !p->published || has_latest(procs, child))
		return;
	publish(procs, child, p->published);
	p = processes_find(procs->processes, child);
	p->published_change = change;
	p->published_ns = 0;
	forget_meanings(p);
	p->names = names & ~UNWIND_HAS_PERF_MAP;
}

/* Handles an exec. The names restart, too: the generation makes stack ids differ. */
void unwind_procs_exec(struct unwind_procs *procs, pid_t pid)
{
	struct process *p;

	if (has_latest(procs, pid))
		return;
	publish(procs, pid, NULL);
	p = processes_find(procs->processes, pid);
	if (p)
		forget_meanings(p);
}

void unwind_procs_exit(struct unwind_procs *procs, pid_t pid)
{
	publish(procs, pid, NULL);
}

bool unwind_procs_knows(const struct unwind_procs *procs, pid_t pid)
{
	return published_maps(procs, pid);
}

bool unwind_procs_find(const struct unwind_procs *procs, pid_t pid, struct unwind_process *range)
{
	const struct process *p = processes_find(procs->processes, pid);

	if (!p || !p->published)
		return false;
	*range = ((struct view *)p->published->part)->slice->range;
	range->change = p->published_change;
	range->names = p->names;
	return true;
}

static struct unwind_mappings mappings_of(struct unwind_procs *procs, struct maps *maps, pid_t pid)
{
	if (!maps)
		return (struct unwind_mappings){ NULL, 0 };
	return (struct unwind_mappings){ get_view(procs, maps, pid)->mappings, maps->count };
}

struct unwind_mappings unwind_procs_published(struct unwind_procs *procs, pid_t pid)
{
	return mappings_of(procs, published_maps(procs, pid), pid);
}

struct unwind_mappings unwind_procs_recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns)
{
	uint64_t state = processes_state(procs->processes, pid, time_ns);
	struct recalled *r = &procs->recalled;

	if (!state || r->pid != pid || r->state != state) {
		maps_release(r->maps);
		*r = (struct recalled){
			.pid = pid,
			.state = state,
			.maps = processes_recall(procs->processes, pid, time_ns),
		};
	}
	return mappings_of(procs, r->maps, pid);
}

struct unwind_procs_stats unwind_procs_stats(const struct unwind_procs *procs)
{
	return (struct unwind_procs_stats){
		.n_files = procs->files.n_files,
		.n_refused = procs->files.n_refused,
		.n_mappings = procs->max_mappings - procs->n_free,
	};
}
