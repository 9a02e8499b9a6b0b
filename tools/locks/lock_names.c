// SPDX-License-Identifier: GPL-2.0-only
/* Names of locks; see lock_names.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/locks.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "locks/lock_names.h"
#include "process/processes.h"
#include "symbols/demangle.h"
#include "symbols/variables.h"

/* ---- lock kinds ---- */

#define LIBC_FRAMES 6 /* maximum frames of the C library around the wait */

static const char condition[] = "condition";

/* Parts of the names of the functions that wait: of glibc, musl and C11's threads. */
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
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strstr(name, functions[i].part))
			return functions[i].kind;
	return NULL;
}

/* Uses the innermost user frames; user stacks have no kernel frames. */
static const char *kind_of_stack(const struct frame *const *frames, size_t n)
{
	for (size_t i = 0; i < n && i < LIBC_FRAMES; i++) {
		const struct frame *frame = frames[n - 1 - i];
		const char *kind = frame->name ? kind_of_function(frame->name) : NULL;

		if (kind)
			return kind;
	}
	return NULL;
}

const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n)
{
	const char *name = kind == LOCK_FUTEX ? kind_of_stack(frames, n) : NULL;

	if (name)
		return name;
	return kind < LOCK_KINDS ? kernel_names[kind] : kernel_names[LOCK_FUTEX];
}

bool lock_kind_is_condition(const char *name)
{
	return name == condition;
}

/* Beginnings of the names of the kernel's functions that take locks. */
static bool is_lock_code(const char *name)
{
	static const char *const beginnings[] = {
		"__mutex_",	  "mutex_",
		"__ww_mutex",	  "ww_mutex_",
		"rwsem_",	  "__rwsem_",
		"down_",	  "__down",
		"down",		  "_raw_",
		"__raw_",	  "do_raw_",
		"queued_",	  "native_queued_",
		"__pv_queued_",	  "pv_queued",
		"percpu_down_",	  "__percpu_down_",
		"__percpu_rwsem", "percpu_rwsem",
		"rt_mutex",	  "__rt_mutex",
		"rt_spin_",	  "rtlock_",
		"rt_read_",	  "rt_write_",
		"__rt_spin",	  "up_",
		"__up_",	  "osq_lock",
		"rwbase_",	  "__rwbase_",
		"contention_",	  "trace_contention",
	};

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

/* ---- lock names ---- */

#define CONDITION_BYTES 48 /* sizeof(pthread_cond_t) */
#define REPORTS_UNUSED	2  /* then the next lock at that address is another one */

/* An address that refers to a lock. */
struct known {
	struct hashlink link;
	pid_t pid; /* 0: in the kernel */
	uint32_t generation;
	uint64_t addr;
	bool is_private;
	uint32_t used; /* in that report last */
	struct lock_name *lock;
};

/* A lock in a file that processes share; or one that is found by its address only. */
struct owned {
	struct hashlink link;
	struct lock_name name;
	dev_t dev;
	ino_t ino;
	uint32_t used;
};

struct lock_names {
	struct processes *processes;
	bool as_mangled;
	struct hashtable known, owned;
	uint32_t n_reports;

	/* The mappings of the process that was asked about last. */
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

static void free_owned(struct hashlink *link, void *arg)
{
	struct owned *owned = container_of(link, struct owned, link);

	(void)arg;
	free(owned->name.module);
	free(owned->name.symbol);
	free(owned->name.readable);
	free(owned->name.mapping);
	free(owned->name.function);
	free(owned);
}

static bool is_old(const struct lock_names *names, uint32_t used)
{
	return names->n_reports - used > REPORTS_UNUSED;
}

static void forget_old_known(struct hashlink *link, void *arg)
{
	struct known *known = container_of(link, struct known, link);
	struct lock_names *names = arg;

	if (!is_old(names, known->used))
		return;
	hashtable_remove(&names->known, link);
	free(known);
}

static void forget_old_owned(struct hashlink *link, void *arg)
{
	struct owned *owned = container_of(link, struct owned, link);
	struct lock_names *names = arg;

	free(owned->name.function);
	owned->name.function = NULL;
	if (!is_old(names, owned->used))
		return;
	hashtable_remove(&names->owned, link);
	free_owned(link, NULL);
}

void lock_names_begin_report(struct lock_names *names)
{
	names->n_reports++;
	mappings_free(&names->mappings);
	names->mapped_pid = 0;
	hashtable_visit(&names->known, forget_old_known, names);
	hashtable_visit(&names->owned, forget_old_owned, names);
}

void lock_names_free(struct lock_names *names)
{
	if (!names)
		return;
	hashtable_free(&names->known, hashlink_free, NULL);
	hashtable_free(&names->owned, free_owned, NULL);
	mappings_free(&names->mappings);
	free(names);
}

/* ---- meaning of an address ---- */

static void take_variable(struct lock_name *name, const struct variable *variable, bool as_mangled)
{
	name->module = mem_strdup(variable->file->name);
	name->symbol = variable->symbol ? mem_strdup(variable->symbol) : NULL;
	name->readable = name->symbol && !as_mangled ? demangle(name->symbol) : NULL;
	name->vaddr = variable->vaddr;
	name->start = variable->start;
	name->bytes = variable->bytes;
}

static bool find_variable(struct lock_names *names, struct lock_name *name, uint32_t generation)
{
	struct maps *maps = processes_look(names->processes, name->pid, generation, clock_now_ns());
	struct variable variable;
	bool found = maps && variables_find(maps, name->pid, name->addr, &variable);

	if (found)
		take_variable(name, &variable, names->as_mangled);
	maps_release(maps);
	return found;
}

static const struct mapping *find_read(const struct lock_names *names, const struct known *known)
{
	if (names->mapped_pid != known->pid || names->mapped_generation != known->generation)
		return NULL;
	return mappings_find(&names->mappings, known->addr);
}

/* Memory that comes and goes has the same kind of owner again, mostly. */
static const struct mapping *find_mapping(struct lock_names *names, const struct known *known)
{
	const struct mapping *found = find_read(names, known);

	if (found)
		return found;
	mappings_free(&names->mappings);
	names->mapped_pid = mappings_read_all(&names->mappings, known->pid) ? 0 : known->pid;
	names->mapped_generation = known->generation;
	return find_read(names, known);
}

static void take_mapping(struct lock_name *name, const struct mapping *m)
{
	name->mapping = mem_strdup(*m->path ? m->path : "[anon]");
	name->offset = m->ino ? m->offset + (name->addr - m->start) : 0;
}

static struct owned *find_shared(const struct lock_names *names, const struct owned *wanted,
				 uint64_t hash)
{
	struct hashlink *link = hashtable_first(&names->owned, hash);

	for (; link; link = hashtable_next(link)) {
		struct owned *owned = container_of(link, struct owned, link);

		if (owned->ino && owned->ino == wanted->ino && owned->dev == wanted->dev &&
		    owned->name.offset == wanted->name.offset)
			return owned;
	}
	return NULL;
}

/* Takes over the texts. */
static struct lock_name *keep(struct lock_names *names, const struct owned *owned)
{
	uint64_t hash = hash_add(hash_add(hash_add(0, owned->ino), owned->dev), owned->name.offset);
	struct owned *kept = owned->ino ? find_shared(names, owned, hash) : NULL;

	if (kept) {
		free(owned->name.mapping);
		return &kept->name;
	}
	kept = mem_zalloc(1, sizeof(*kept));
	*kept = *owned;
	hashtable_add(&names->owned, &kept->link, hash);
	return &kept->name;
}

static struct lock_name *identify(struct lock_names *names, const struct known *known)
{
	struct owned owned = { .name = { .addr = known->addr, .pid = known->pid } };
	const struct mapping *m;

	if (find_variable(names, &owned.name, known->generation))
		return keep(names, &owned);
	m = find_mapping(names, known);
	if (m)
		take_mapping(&owned.name, m);
	if (m && m->is_shared && m->ino && !known->is_private) {
		owned.dev = m->dev;
		owned.ino = m->ino;
		owned.name.pid = 0;
	}
	return keep(names, &owned);
}

/* ---- table of known locks ---- */

static uint64_t hash_known(const struct known *known)
{
	uint64_t hash = hash_add(hash_add(0, known->addr), (uint64_t)known->pid);

	return hash_add(hash, (uint64_t)known->generation << 1 | known->is_private);
}

static struct known *find_known(const struct lock_names *names, const struct known *wanted,
				uint64_t hash)
{
	struct hashlink *link = hashtable_first(&names->known, hash);

	for (; link; link = hashtable_next(link)) {
		struct known *known = container_of(link, struct known, link);

		if (known->addr == wanted->addr && known->pid == wanted->pid &&
		    known->generation == wanted->generation &&
		    known->is_private == wanted->is_private)
			return known;
	}
	return NULL;
}

static struct lock_name *use(const struct lock_names *names, struct known *known)
{
	known->used = names->n_reports;
	container_of(known->lock, struct owned, name)->used = names->n_reports;
	return known->lock;
}

static struct lock_name *add_known(struct lock_names *names, const struct known *wanted,
				   struct lock_name *lock, uint64_t hash)
{
	struct known *known = mem_zalloc(1, sizeof(*known));

	*known = *wanted;
	known->lock = lock;
	hashtable_add(&names->known, &known->link, hash);
	return use(names, known);
}

const struct lock_name *lock_names_find(struct lock_names *names, pid_t pid, uint32_t generation,
					uint64_t addr, bool is_private)
{
	struct known wanted = {
		.pid = pid, .generation = generation, .addr = addr, .is_private = is_private
	};
	uint64_t hash = hash_known(&wanted);
	struct known *known = find_known(names, &wanted, hash);

	return known ? use(names, known)
		     : add_known(names, &wanted, identify(names, &wanted), hash);
}

struct lock_name *lock_names_find_kernels(struct lock_names *names, uint64_t addr)
{
	struct owned owned = { .name = { .addr = addr, .is_kernels = true } };
	struct known wanted = { .addr = addr };
	uint64_t hash = hash_known(&wanted);
	struct known *known = find_known(names, &wanted, hash);

	return known ? use(names, known) : add_known(names, &wanted, keep(names, &owned), hash);
}

/* ---- texts ---- */

/*
 * A condition of the C library is one variable; the offset at which its waiters wait is internal.
 */
static uint64_t shown_offset(const struct lock_name *lock, bool is_condition)
{
	return is_condition && lock->bytes == CONDITION_BYTES ? 0 : lock->vaddr - lock->start;
}

static char *with_offset(const char *before, const char *name, uint64_t offset, const char *after)
{
	return offset ? mem_printf("%s%s+0x%llx%s", before, name, (unsigned long long)offset, after)
		      : mem_printf("%s%s%s", before, name, after);
}

static char *variable_text(const struct lock_name *lock, bool is_condition)
{
	char *before, *text;

	if (!lock->symbol)
		return with_offset("[", lock->module, lock->vaddr, "]");
	before = mem_printf("%s:", lock->module);
	text = with_offset(before, lock->readable ? lock->readable : lock->symbol,
			   shown_offset(lock, is_condition), "");
	free(before);
	return text;
}

static char *with_address(const struct lock_name *lock, const char *name)
{
	return mem_printf("%s%s0x%llx", name, *name ? " " : "", (unsigned long long)lock->addr);
}

static char *kernel_text(const struct lock_name *lock, bool with_addr)
{
	if (lock->symbol)
		return with_offset("", lock->symbol, lock->vaddr - lock->start, "");
	if (!lock->function)
		return with_address(lock, "");
	return with_addr
		       ? mem_printf("in %s 0x%llx", lock->function, (unsigned long long)lock->addr)
		       : mem_printf("in %s", lock->function);
}

static char *make_text(const struct lock_name *lock, bool is_condition, bool with_addr)
{
	if (lock->is_kernels)
		return kernel_text(lock, with_addr);
	if (lock->module)
		return variable_text(lock, is_condition);
	if (!lock->mapping)
		return with_address(lock, "");
	return lock->mapping[0] == '/' ? with_offset("", lock->mapping, lock->offset, "")
				       : with_address(lock, lock->mapping);
}

char *lock_name_text(const struct lock_name *lock, bool is_condition)
{
	return make_text(lock, is_condition, true);
}

char *lock_name_mark(const struct lock_name *lock, bool is_condition)
{
	return make_text(lock, is_condition, false);
}
