// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processes whose addresses were seen, each with its mappings and the dsos behind those that
 * were hit. Files are opened when an address is located, not later: by the time names are wanted,
 * the process may be gone and its files replaced.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "symbols/dso.h"
#include "process/mapslog.h"
#include "base/mem.h"
#include "process/procmaps.h"
#include "symbols/usyms.h"

#define PROCESS_BUCKETS 1024

struct process {
	struct process *next;
	pid_t pid;
	uint32_t generation;
	struct timespec read_time;
	struct mappings maps;
	struct dso **dsos; /* one per mapping; NULL until an address hits it */
};

struct usyms {
	struct dso_cache *dsos;
	struct mapslog *log;
	struct process *buckets[PROCESS_BUCKETS];
};

/* Each file that waits for its symbols takes a descriptor; the usual soft limit is 1024. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct usyms *usyms_new(const struct dso_options *options)
{
	static const struct dso_options defaults;
	struct usyms *us = mem_zalloc(1, sizeof(*us));

	raise_file_limit();
	us->dsos = dso_cache_new(options ? options : &defaults);
	return us;
}

void usyms_set_log(struct usyms *us, struct mapslog *log)
{
	us->log = log;
}

static void free_process(struct process *p)
{
	mappings_free(&p->maps);
	free(p->dsos);
	free(p);
}

void usyms_free(struct usyms *us)
{
	if (!us)
		return;
	for (size_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct process *p = us->buckets[i], *next; p; p = next) {
			next = p->next;
			free_process(p);
		}
	dso_cache_free(us->dsos);
	free(us);
}

/* Where the pointer to the process is, or would be. */
static struct process **find_process(struct usyms *us, pid_t pid)
{
	struct process **link = &us->buckets[(unsigned int)pid % PROCESS_BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return link;
}

static bool is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->dev == b->dev && a->ino == b->ino;
}

/* Takes over the dsos of mappings that are still the same. */
static struct dso **carry_dsos(const struct process *p, const struct mappings *fresh)
{
	struct dso **dsos = mem_zalloc(fresh->count, sizeof(*dsos));

	for (size_t i = 0; i < fresh->count; i++) {
		const struct mapping *old = mappings_find(&p->maps, fresh->items[i].start);

		if (old && is_same_mapping(old, &fresh->items[i]))
			dsos[i] = p->dsos[old - p->maps.items];
	}
	return dsos;
}

/* A process that is gone, or a zombie, has no mappings; those read before still tell. */
static void read_mappings(const struct usyms *us, struct process *p, uint64_t time_ns)
{
	struct mappings fresh;
	struct timespec now;
	struct dso **dsos;

	if (!time_ns)
		time_ns = clock_now_ns();
	if (mapslog_read(us->log, p->pid, time_ns, &fresh, &now) || !fresh.count)
		return;
	dsos = carry_dsos(p, &fresh);
	mappings_free(&p->maps);
	free(p->dsos);
	p->maps = fresh;
	p->dsos = dsos;
	p->read_time = now;
}

static struct process *add_process(struct process **link, pid_t pid, uint32_t generation)
{
	struct process *p = mem_zalloc(1, sizeof(*p));

	p->pid = pid;
	p->generation = generation;
	*link = p;
	return p;
}

static struct location locate_addr(struct usyms *us, struct process *p, const struct mapping *m,
				   uint64_t addr)
{
	struct dso **dso = &p->dsos[m - p->maps.items];

	if (!*dso || dso_is_nameless_memory(*dso))
		*dso = dso_attach(us->dsos, p->pid, m, &p->read_time);
	return (struct location){ .dso = *dso, .offset = dso_offset(*dso, m, addr) };
}

/* Has the process's mappings as of now, or as of earlier in its generation. */
static struct process *get_process(struct usyms *us, pid_t pid, uint32_t generation,
				   uint64_t time_ns, bool *is_fresh)
{
	struct process **link = find_process(us, pid), *p = *link;

	*is_fresh = !p || p->generation != generation;
	if (!*is_fresh)
		return p;
	usyms_forget(us, pid);
	link = find_process(us, pid);
	p = add_process(link, pid, generation);
	read_mappings(us, p, time_ns);
	return p;
}

void usyms_locate(struct usyms *us, pid_t pid, uint32_t generation, uint64_t time_ns,
		  const uint64_t *addrs, size_t n, struct location *out)
{
	bool is_fresh;
	struct process *p = get_process(us, pid, generation, time_ns, &is_fresh);

	for (size_t i = 0; i < n; i++) {
		const struct mapping *m = mappings_find(&p->maps, addrs[i]);

		if (!m && !is_fresh) {
			is_fresh = true;
			read_mappings(us, p, time_ns);
			m = mappings_find(&p->maps, addrs[i]);
		}
		out[i] = m ? locate_addr(us, p, m, addrs[i])
			   : (struct location){ .dso = NULL, .offset = addrs[i] };
		if (m)
			dso_expect(out[i].dso);
	}
}

void usyms_meet(struct usyms *us, pid_t pid, uint32_t generation)
{
	bool is_fresh;
	struct process *p = get_process(us, pid, generation, 0, &is_fresh);

	for (size_t i = 0; i < p->maps.count; i++)
		locate_addr(us, p, &p->maps.items[i], p->maps.items[i].start);
}

const char *usyms_name(const struct location *loc, bool is_return)
{
	if (!loc->dso || loc->offset < is_return)
		return NULL;
	return dso_find(loc->dso, loc->offset - is_return);
}

size_t usyms_lines(const struct location *loc, bool is_return, const struct srcframe **frames)
{
	if (!loc->dso || loc->offset < is_return)
		return 0;
	return dso_lines(loc->dso, loc->offset - is_return, frames);
}

const struct image *usyms_place(const struct location *loc, bool is_return, uint64_t *address,
				const char **symbol)
{
	if (!loc->dso || loc->offset < is_return)
		return NULL;
	return dso_place(loc->dso, loc->offset - is_return, address, symbol);
}

bool usyms_is_jit(const struct location *loc)
{
	return loc->dso && dso_is_jit(loc->dso);
}

const char *usyms_dso_name(const struct location *loc)
{
	return loc->dso ? dso_name(loc->dso) : NULL;
}

struct dso_stats usyms_stats(const struct usyms *us)
{
	return dso_cache_stats(us->dsos);
}

void usyms_forget(struct usyms *us, pid_t pid)
{
	struct process **link = find_process(us, pid), *p = *link;

	if (!p)
		return;
	*link = p->next;
	free_process(p);
}
