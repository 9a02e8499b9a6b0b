// SPDX-License-Identifier: GPL-2.0-only
/* Names of locks; see lock_names.h. */
#include <stdlib.h>
#include <string.h>

#include "abi/locks.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "modules/lock_names.h"
#include "process/processes.h"
#include "symbols/demangle.h"
#include "symbols/variables.h"

/* ---- lock kinds ---- */

#define LIBC_FRAMES 6 /* innermost frames searched for a C library function */

static const char condition[] = "condition";

/* Parts of waiting functions' names: glibc's, musl's, and C11 threads'. */
static const struct {
	const char *part, *kind;
} functions[] = {
	{ "pthread_cond_", condition },	  { "cnd_wait", condition },
	{ "cnd_timedwait", condition },	  { "pthread_mutex_", "mutex" },
	{ "lll_lock_wait", "mutex" },	  { "mtx_lock", "mutex" },
	{ "mtx_timedlock", "mutex" },	  { "pthread_rwlock_", "rwlock" },
	{ "sem_wait", "semaphore" },	  { "sem_timedwait", "semaphore" },
	{ "sem_clockwait", "semaphore" }, { "pthread_barrier_wait", "barrier" },
	{ "pthread_join", "join" },	  { "pthread_timedjoin", "join" },
	{ "pthread_clockjoin", "join" },  { "thrd_join", "join" },
};

static const char *const kernel_names[LOCK_KINDS] = {
	[LOCK_FUTEX] = "futex",	     [LOCK_FUTEX_PI] = "pi-mutex",
	[LOCK_FUTEX_ANY] = "any-of", [LOCK_MUTEX] = "mutex",
	[LOCK_RWSEM] = "rwsem",	     [LOCK_PERCPU_RWSEM] = "percpu-rwsem",
	[LOCK_RTMUTEX] = "rtmutex",  [LOCK_SEMAPHORE] = "semaphore",
	[LOCK_SPIN] = "spin",	     [LOCK_RWLOCK] = "rwlock",
};

static const char *kind_of_function(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(functions); i++)
		if (strstr(name, functions[i].part))
			return functions[i].kind;
	return NULL;
}

/* Searches the innermost frames of the user stack. */
const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n)
{
	const char *name = NULL;

	for (size_t i = 0; kind == LOCK_FUTEX && !name && i < n && i < LIBC_FRAMES; i++)
		name = kind_of_function(frames[n - 1 - i]->name);
	if (name)
		return name;
	return kernel_names[kind < LOCK_KINDS ? kind : LOCK_FUTEX];
}

/* Returns true for kernel functions that take locks, by the start of their names after "_". */
static bool is_lock_code(const char *name)
{
	static const char *const beginnings[] = {
		"mutex_",	"ww_mutex",	"rwsem_",
		"down",		"up_",		"raw_",
		"do_raw_",	"queued_",	"native_queued_",
		"pv_queued",	"percpu_down_", "rt_mutex",
		"percpu_rwsem", "rt_spin",	"rtlock_",
		"rt_read_",	"rwbase_",	"rt_write_",
		"osq_lock",	"contention_",	"trace_contention",
	};

	name += strspn(name, "_");
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

const char *lock_kind_user(const struct frame *const *frames, size_t n)
{
	while (n > 0 && frames[n - 1]->name && is_lock_code(frames[n - 1]->name))
		n--;
	return n > 0 ? frames[n - 1]->name : NULL;
}

/* Returns the first of a condition's two words, between which its waiters alternate. */
uint64_t lock_kind_base(uint64_t addr, const char *kind)
{
	return !kind || !strcmp(kind, condition) ? addr & ~7ULL : addr;
}

/* ---- known locks ---- */

#define REPORTS_UNUSED 2 /* a lock absent from this number of reports is evicted */

/* A lock, as seen by one process. */
struct known {
	struct hashlink link;
	pid_t pid; /* 0: kernel lock */
	uint32_t generation;
	bool is_private;
	uint32_t used; /* number of the last report with the lock */
	struct lock_name name;
};

struct lock_names {
	struct processes *processes;
	bool as_mangled;
	struct hashtable known;
	uint32_t n_reports;

	/* Mappings of the last looked-up process. */
	struct mappings mappings;
	pid_t mapped_pid;
	uint32_t mapped_generation;
};

struct lock_names *lock_names_new(struct processes *processes, bool as_mangled)
{
	struct lock_names *names = mem_zalloc(1, sizeof(*names));

	names->processes = processes;
	names->as_mangled = as_mangled;
	return names;
}

static void free_known(struct hashlink *link)
{
	struct known *known = container_of(link, struct known, link);

	free(known->name.module);
	free(known->name.symbol);
	free(known->name.readable);
	free(known->name.mapping);
	free(known->name.function);
	free(known);
}

void lock_names_begin_report(struct lock_names *names)
{
	names->n_reports++;
	mappings_free(&names->mappings);
	names->mapped_pid = 0;
	for_each_element(struct known, known, next, link, &names->known) {
		free(known->name.function);
		known->name.function = NULL;
		if (names->n_reports - known->used > REPORTS_UNUSED) {
			hashtable_remove(&names->known, &known->link);
			free_known(&known->link);
		}
	}
}

void lock_names_free(struct lock_names *names)
{
	if (!names)
		return;
	hashtable_free(&names->known, free_known);
	mappings_free(&names->mappings);
	free(names);
}

static bool is_known_as(const struct known *a, const struct known *b)
{
	return a->name.addr == b->name.addr && a->pid == b->pid && a->generation == b->generation &&
	       a->is_private == b->is_private;
}

/* Returns the lock, added if unknown (*is_new). */
static struct known *find_or_add(struct lock_names *names, const struct known *wanted, bool *is_new)
{
	uint64_t hash = hash_add(hash_add(hash_add(0, wanted->name.addr), (uint64_t)wanted->pid),
				 (uint64_t)wanted->generation << 1 | wanted->is_private);
	struct hashlink *link = hashtable_first(&names->known, hash);
	struct known *known;

	while (link && !is_known_as(container_of(link, struct known, link), wanted))
		link = hashtable_next(link);
	*is_new = !link;
	if (!link) {
		known = mem_zalloc(1, sizeof(*known));
		*known = *wanted;
		hashtable_add(&names->known, &known->link, hash);
		link = &known->link;
	}
	known = container_of(link, struct known, link);
	known->used = names->n_reports;
	return known;
}

/* ---- meaning of an address ---- */

static bool find_variable(struct lock_names *names, struct known *known)
{
	struct maps *maps =
		processes_look(names->processes, known->pid, known->generation, clock_now_ns());
	struct lock_name *name = &known->name;
	struct variable variable;
	bool found = maps && variables_find(maps, known->pid, name->addr, &variable);

	if (found) {
		name->module = mem_strdup(variable.file->name);
		name->symbol = variable.symbol ? mem_strdup(variable.symbol) : NULL;
		name->readable = name->symbol && !names->as_mangled ? demangle(name->symbol) : NULL;
		name->vaddr = variable.vaddr;
		name->start = variable.start;
		name->bytes = variable.bytes;
	}
	maps_release(maps);
	return found;
}

/* Returns the mapping at the lock's address; reads mappings again only if none covers it. */
static const struct mapping *find_mapping(struct lock_names *names, const struct known *known)
{
	bool is_read =
		names->mapped_pid == known->pid && names->mapped_generation == known->generation;
	const struct mapping *m =
		is_read ? mappings_find(&names->mappings, known->name.addr) : NULL;

	if (m)
		return m;
	mappings_free(&names->mappings);
	names->mapped_generation = known->generation;
	names->mapped_pid = mappings_read_all(&names->mappings, known->pid) ? 0 : known->pid;
	return names->mapped_pid ? mappings_find(&names->mappings, known->name.addr) : NULL;
}

static void identify(struct lock_names *names, struct known *known)
{
	const struct mapping *m = find_variable(names, known) ? NULL : find_mapping(names, known);
	struct lock_name *name = &known->name;

	if (!m)
		return;
	name->mapping = mem_strdup(*m->path ? m->path : "[anon]");
	name->offset = m->ino || m->is_shared ? m->offset + (name->addr - m->start) : 0;
	if (!m->is_shared || known->is_private)
		return;
	name->is_shared = true;
	name->dev = m->dev;
	name->ino = m->ino;
	name->pid = 0;
}

const struct lock_name *lock_names_find(struct lock_names *names, pid_t pid, uint32_t generation,
					uint64_t addr, bool is_private)
{
	const struct known wanted = { .pid = pid,
				      .generation = generation,
				      .is_private = is_private,
				      .name = { .addr = addr, .pid = pid } };
	bool is_new;
	struct known *known = find_or_add(names, &wanted, &is_new);

	if (is_new)
		identify(names, known);
	return &known->name;
}

struct lock_name *lock_names_find_kernels(struct lock_names *names, uint64_t addr)
{
	const struct known wanted = { .name = { .addr = addr, .is_kernels = true } };
	bool is_new;

	return &find_or_add(names, &wanted, &is_new)->name;
}

uint64_t lock_name_hash(const struct lock_name *lock)
{
	if (!lock->is_shared)
		return hash_add(0, (uintptr_t)lock);
	return hash_add(hash_add(hash_add(0, lock->ino), lock->dev), lock->offset);
}

bool lock_name_is_same(const struct lock_name *a, const struct lock_name *b)
{
	return a == b || (a->is_shared && b->is_shared && a->ino == b->ino && a->dev == b->dev &&
			  a->offset == b->offset);
}

/* ---- texts ---- */

#define CONDITION_BYTES 48 /* sizeof(pthread_cond_t) */

static char *with_offset(const char *before, const char *name, uint64_t offset, const char *after)
{
	return offset ? mem_printf("%s%s+0x%llx%s", before, name, (unsigned long long)offset, after)
		      : mem_printf("%s%s%s", before, name, after);
}

static char *with_address(const struct lock_name *lock, const char *before, const char *name)
{
	return mem_printf("%s%s%s0x%llx", before, name, *name ? " " : "",
			  (unsigned long long)lock->addr);
}

/* Returns the variable's name; for a C library condition, without the futex's internal offset. */
static char *variable_text(const struct lock_name *lock, const char *kind)
{
	bool is_whole = !strcmp(kind, condition) && lock->bytes == CONDITION_BYTES;
	char *before, *text;

	if (!lock->symbol)
		return with_offset("[", lock->module, lock->vaddr, "]");
	before = mem_printf("%s:", lock->module);
	text = with_offset(before, lock->readable ? lock->readable : lock->symbol,
			   is_whole ? 0 : lock->vaddr - lock->start, "");
	free(before);
	return text;
}

char *lock_name_text(const struct lock_name *lock, const char *kind)
{
	if (lock->is_kernels && lock->symbol)
		return with_offset("", lock->symbol, lock->vaddr - lock->start, "");
	if (lock->function)
		return with_address(lock, "in ", lock->function);
	if (lock->module)
		return variable_text(lock, kind);
	if (lock->mapping && lock->mapping[0] == '/')
		return with_offset("", lock->mapping, lock->offset, "");
	return with_address(lock, "", lock->mapping ? lock->mapping : "");
}

char *lock_name_mark(const struct lock_name *lock, const char *kind)
{
	char *name = lock->function && !lock->symbol ? mem_printf("in %s", lock->function)
						     : lock_name_text(lock, kind);
	char *mark = mem_printf("[%s %s]", kind, name);

	free(name);
	return mark;
}
