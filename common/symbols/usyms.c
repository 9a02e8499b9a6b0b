// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locates addresses of processes in dsos. Files are opened when an address is located, not later:
 * by the time names are needed, the process may be gone and its files replaced.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbols/dso.h"
#include "symbols/usyms.h"

#define MEMORIES      256 /* a power of two */
#define LOOK_AGAIN_NS (100 * NS_PER_MS)

/* Recently located memory: a cache, since the search for a perf map takes some system calls. */
struct memory {
	pid_t pid;
	uint32_t generation;
	uint64_t start;
	struct dso *dso;
	uint64_t looked_ns;
};

struct usyms {
	struct dso_cache *dsos;
	struct processes *processes;
	struct memory memories[MEMORIES];
	uint32_t epoch;
	void (*found_map)(pid_t pid, int map_fd, void *arg); /* as in struct dso_options */
	void *arg;
};

struct usyms *usyms_new(struct processes *processes, const struct dso_options *options)
{
	static const struct dso_options defaults;
	struct usyms *us = mem_zalloc(1, sizeof(*us));

	us->processes = processes;
	options = options ? options : &defaults;
	us->dsos = dso_cache_new(options);
	us->found_map = options->found_map;
	us->arg = options->arg;
	return us;
}

void usyms_free(struct usyms *us)
{
	if (!us)
		return;
	dso_cache_free(us->dsos);
	free(us);
}

/* ---- addresses ---- */

/* A process whose addresses are located, with its mappings. */
struct subject {
	struct usyms *us;
	pid_t pid;
	uint32_t generation;
	struct maps *maps; /* NULL: unknown */
};

static struct memory *memory_of(const struct subject *s, const struct mapped *m)
{
	uint64_t hash = hash_add(hash_add(0, (uint64_t)s->pid), m->start);

	return &s->us->memories[hash & (MEMORIES - 1)];
}

/*
 * Returns true if the entry is valid for the mapping. Without a perf map it expires soon, since a
 * JIT compiler may begin to name its code at any time.
 */
static bool is_known(const struct memory *memory, const struct subject *s, const struct mapped *m,
		     uint64_t now_ns)
{
	return memory->dso && memory->pid == s->pid && memory->generation == s->generation &&
	       memory->start == m->start &&
	       (dso_is_jit(memory->dso) || now_ns - memory->looked_ns < LOOK_AGAIN_NS);
}

static struct dso *attach_memory(const struct subject *s, struct mapped *m)
{
	struct memory *memory = memory_of(s, m);
	uint64_t now_ns = clock_now_ns();

	if (is_known(memory, s, m, now_ns))
		return memory->dso;
	*memory = (struct memory){ s->pid, s->generation, m->start,
				   dso_attach(s->us->dsos, s->pid, s->maps, m), now_ns };
	if (dso_is_jit(memory->dso) && s->us->found_map)
		s->us->found_map(s->pid, dso_made_fd(memory->dso), s->us->arg);
	return memory->dso;
}

static struct location locate_addr(const struct subject *s, struct mapped *m, uint64_t addr)
{
	struct dso *dso = mapped_file(s->maps, m, s->pid)
				  ? dso_attach(s->us->dsos, s->pid, s->maps, m)
				  : attach_memory(s, m);

	return (struct location){ .dso = dso, .offset = dso_offset(dso, m, addr) };
}

static struct mapped *find_mapped(const struct subject *s, uint64_t addr)
{
	return s->maps ? maps_find(s->maps, addr) : NULL;
}

/*
 * Replaces the subject's mappings by those that events recall for the time, if they contain the
 * address (a later read may lack code that was unmapped since), else by freshly read ones. A
 * process that is gone, or a zombie, has no mappings: the former ones stay.
 */
static void look_again(struct subject *s, uint64_t addr, uint64_t time_ns)
{
	struct maps *fresh = processes_recall(s->us->processes, s->pid, time_ns);

	if (!fresh || !maps_find(fresh, addr)) {
		maps_release(fresh);
		fresh = processes_read(s->us->processes, s->pid, time_ns);
	}
	if (!fresh)
		return;
	maps_release(s->maps);
	s->maps = fresh;
}

static struct subject look(struct usyms *us, pid_t pid, uint32_t generation, uint64_t time_ns)
{
	return (struct subject){
		us,
		pid,
		generation,
		processes_look(us->processes, pid, generation, time_ns),
	};
}

void usyms_locate(struct usyms *us, pid_t pid, uint32_t generation, uint64_t time_ns,
		  const uint64_t *addrs, size_t n, struct location *out)
{
	struct subject s;
	bool is_fresh = false;

	time_ns = time_ns ? time_ns : clock_now_ns();
	s = look(us, pid, generation, time_ns);
	for (size_t i = 0; i < n; i++) {
		struct mapped *m = find_mapped(&s, addrs[i]);

		if (!m && !is_fresh) {
			is_fresh = true;
			look_again(&s, addrs[i], time_ns);
			m = find_mapped(&s, addrs[i]);
		}
		out[i] = m ? locate_addr(&s, m, addrs[i])
			   : (struct location){ .dso = NULL, .offset = addrs[i] };
	}
	maps_release(s.maps);
}

void usyms_settle(struct location *loc, bool is_return, uint64_t map_size)
{
	if (usyms_is_jit(loc))
		loc->made = dso_find_made(loc->dso, loc->offset - is_return, map_size);
	if (!loc->dso || loc->made || dso_is_nameless_memory(loc->dso))
		loc->offset = 0;
}

void usyms_preload(struct usyms *us, pid_t pid, uint32_t generation)
{
	struct subject s = look(us, pid, generation, clock_now_ns());

	for (size_t i = 0; s.maps && i < s.maps->count; i++)
		locate_addr(&s, &s.maps->items[i], s.maps->items[i].start);
	maps_release(s.maps);
}

/* ---- aging ---- */

static bool is_full(const struct usyms *us)
{
	return dso_cache_is_full(us->dsos) || processes_have_many_files(us->processes);
}

void usyms_age(struct usyms *us, uint32_t epoch, void (*find_names)(void *arg), void *arg)
{
	if (epoch == us->epoch && !is_full(us))
		return;
	us->epoch = epoch;
	memset(us->memories, 0, sizeof(us->memories));
	dso_cache_age(us->dsos, epoch, find_names, arg);
	processes_age(us->processes, epoch);
}

void usyms_end_report(struct usyms *us)
{
	dso_cache_end_report(us->dsos);
}

/* ---- names ---- */

const char *usyms_name(const struct location *loc, bool is_return)
{
	if (loc->made)
		return dso_made_name(loc->dso, loc->made);
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

uint64_t usyms_address(const struct location *loc, bool is_return)
{
	if (!loc->dso || loc->offset < is_return)
		return 0;
	return dso_address(loc->dso, loc->offset - is_return);
}

bool usyms_is_jit(const struct location *loc)
{
	return loc->dso && dso_is_jit(loc->dso);
}

/* Returns true for generated code. Special mappings of the kernel without symbols don't count. */
bool usyms_is_made(const struct location *loc)
{
	const char *name = loc->dso ? dso_name(loc->dso) : NULL;

	return usyms_is_jit(loc) || (name && dso_is_nameless_memory(loc->dso) &&
				     strcmp(name, "[vsyscall]") && strcmp(name, "[uprobes]"));
}

const char *usyms_dso_name(const struct location *loc)
{
	return loc->dso ? dso_name(loc->dso) : NULL;
}

int usyms_error(const struct location *loc)
{
	return loc->dso ? dso_error(loc->dso) : 0;
}

struct dso_stats usyms_stats(const struct usyms *us)
{
	return dso_cache_stats(us->dsos);
}
