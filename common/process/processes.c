// SPDX-License-Identifier: GPL-2.0-only
/* The table of processes and their eras; see processes.h. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "process/processes.h"
#include "process/procstate.h"

#define MAX_ERAS 4

struct map_list {
	unsigned int n_users;
	size_t count, capacity;
	struct mapping_event *items;
};

/* ---- lists of mappings ---- */

static struct map_list *list_new(void)
{
	struct map_list *list = mem_zalloc(1, sizeof(*list));

	list->n_users = 1;
	return list;
}

static void list_release(struct map_store *store, struct map_list *list)
{
	if (--list->n_users)
		return;
	for (size_t i = 0; i < list->count; i++) {
		mapped_name_release(store, list->items[i].name);
		if (list->items[i].file)
			list->items[i].file->n_users--;
	}
	store->n_events -= list->count;
	free(list->items);
	free(list);
}

static void list_append(struct map_store *store, struct map_list *list,
			const struct mapping_event *item)
{
	*MEM_APPEND(list->items, list->count, list->capacity) = *item;
	store->n_events++;
}

/* Appends an era's mappings that were made at since_ns or later. */
static void append_since(struct map_store *store, struct map_list *list, const struct era *era,
			 uint64_t since_ns)
{
	for (size_t i = 0; i < era->count; i++) {
		const struct mapping_event *item = &era->list->items[i];

		if (item->time_ns < since_ns)
			continue;
		mapped_name_use(item->name);
		if (item->file)
			item->file->n_users++;
		list_append(store, list, item);
	}
}

/* Makes the list end at the era's last mapping, copying it if another era has appended to it. */
static void own_list(struct map_store *store, struct era *era)
{
	struct map_list *list;

	if (era->count == era->list->count)
		return;
	list = list_new();
	append_since(store, list, era, 0);
	list_release(store, era->list);
	era->list = list;
}

static struct mapping_event make_item(struct map_store *store, const struct mapping *m,
				      uint64_t time_ns)
{
	if (m->file)
		m->file->n_users++;
	return (struct mapping_event){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.time_ns = time_ns,
		.name = mapped_name_get(store, m),
		.file = m->file,
	};
}

/* ---- eras ---- */

/* Returns the link to the era at time_ns, where an era that begins then is to be inserted. */
static struct era **find_link(struct era **latest, uint64_t time_ns)
{
	while (*latest && (*latest)->begin_ns > time_ns)
		latest = &(*latest)->older;
	return latest;
}

/* Inserts an era by its time: events of several CPUs may come out of order. */
static struct era *insert_era(struct era **latest, uint64_t time_ns, struct map_list *list,
			      size_t n)
{
	struct era **link = find_link(latest, time_ns), *era = mem_zalloc(1, sizeof(*era));

	era->older = *link;
	era->begin_ns = time_ns;
	era->list = list;
	era->count = n;
	return *link = era;
}

static void keep_maps(struct era *era, struct maps *maps, size_t n)
{
	maps_use(maps);
	maps_release(era->maps);
	era->maps = maps;
	era->n_in_maps = n;
	era->maps_are_read = false;
}

/* Inserts an era that begins at time_ns, without mappings. */
static struct era *era_begin(struct era **latest, uint64_t time_ns)
{
	return insert_era(latest, time_ns, list_new(), 0);
}

/* Inserts an era that begins at time_ns with the first n mappings of another era. */
static struct era *era_begin_as(struct era **latest, uint64_t time_ns, const struct era *other,
				size_t n)
{
	struct era *era;

	other->list->n_users++;
	era = insert_era(latest, time_ns, other->list, n);
	era->n_preloaded = other->n_preloaded < n ? other->n_preloaded : n;
	if (other->maps && other->n_in_maps == n) {
		keep_maps(era, other->maps, n);
		era->maps_are_read = other->maps_are_read;
	}
	return era;
}

static void era_free(struct map_store *store, struct era *era)
{
	list_release(store, era->list);
	maps_release(era->maps);
	free(era);
}

/* Frees the era at *link and all older ones. */
static void eras_free(struct map_store *store, struct era **link)
{
	for (struct era *era; (era = *link);) {
		*link = era->older;
		era_free(store, era);
	}
}

/* Frees all eras but the latest MAX_ERAS, which may still be needed. */
static void eras_drop_old(struct map_store *store, struct era **latest)
{
	for (int i = 0; *latest && i < MAX_ERAS; i++)
		latest = &(*latest)->older;
	eras_free(store, latest);
}

/* Returns the era at time_ns, or NULL. */
static struct era *eras_find(struct era *latest, uint64_t time_ns)
{
	return *find_link(&latest, time_ns);
}

/*
 * Returns the era at time_ns. Before all eras, returns the oldest one if it was read from /proc,
 * since a read also counts for the time before; else NULL.
 */
static struct era *eras_find_before(struct era *latest, uint64_t time_ns)
{
	struct era *era = eras_find(latest, time_ns);

	while (!era && latest && latest->older)
		latest = latest->older;
	return !era && latest && latest->was_read ? latest : era;
}

/*
 * Appends a mapping. A late event gets the time of the mapping before it. Code that was moved to
 * huge pages gets its file back, see maps_restore_text().
 */
static void era_append(struct map_store *store, struct era *era, const struct mapping *m,
		       uint64_t time_ns, pid_t pid, pid_t relative)
{
	struct mapping restored = *m;
	struct mapping_event item;

	mapping_restore_text(store, &restored, era->list->items, era->count, pid, relative);
	own_list(store, era);
	if (era->count && era->list->items[era->count - 1].time_ns > time_ns)
		time_ns = era->list->items[era->count - 1].time_ns; /* the list stays in order */
	item = make_item(store, &restored, time_ns);
	list_append(store, era->list, &item);
	era->count++;
}

static bool was_made_since(const struct era *era, const struct mapping_event *item,
			   uint64_t since_ns)
{
	for (size_t i = era->count; i-- > 0 && era->list->items[i].time_ns >= since_ns;)
		if (era->list->items[i].start == item->start &&
		    era->list->items[i].name == item->name)
			return true;
	return false;
}

/*
 * Replaces the mappings made before since_ns by those read from /proc, as if made at the era's
 * beginning. Later ones stay: stacks from before the read may need them.
 */
static void era_replace(struct map_store *store, struct era *era, const struct mappings *read,
			uint64_t since_ns)
{
	struct map_list *list = list_new();

	for (size_t i = 0; i < read->count; i++) {
		struct mapping_event item = make_item(store, &read->items[i], era->begin_ns);

		if (was_made_since(era, &item, since_ns))
			mapped_name_release(store, item.name);
		else
			list_append(store, list, &item);
	}
	append_since(store, list, era, since_ns);
	list_release(store, era->list);
	era->list = list;
	era->count = list->count;
	era->n_in_maps = 0;
	era->n_preloaded = 0;
}

/* Calls visit(file, arg) for the files of mappings made since the last call. */
static void era_preload_files(struct map_store *store, struct era *era, pid_t pid, pid_t relative,
			      void (*visit)(struct file *file, void *arg), void *arg)
{
	for (; era->n_preloaded < era->count; era->n_preloaded++) {
		struct file *file = mapping_event_file(store, &era->list->items[era->n_preloaded],
						       pid, relative);

		if (file)
			visit(file, arg);
	}
}

/* Returns how many of an era's mappings existed at time_ns. */
static size_t era_count_until(const struct era *era, uint64_t time_ns)
{
	size_t n = era->count;

	while (n > 0 && era->list->items[n - 1].time_ns > time_ns)
		n--;
	return n;
}

/* ---- maps ---- */

/* Returns the time of the last mapping in the era's maps; without any, the era's beginning. */
static uint64_t era_maps_time(const struct era *era)
{
	return era->n_in_maps ? era->list->items[era->n_in_maps - 1].time_ns : era->begin_ns;
}

/* Caches maps that were read from /proc, when the era had n mappings. */
static void era_keep_read(struct era *era, struct maps *maps, size_t n)
{
	keep_maps(era, maps, n);
	era->maps_are_read = true;
}

/* Returns maps of the era's first n mappings, from the list alone, for one more user. */
static struct maps *era_maps(struct map_store *store, struct era *era, size_t n, pid_t relative)
{
	struct maps *maps;

	if (era->maps && era->n_in_maps == n && !era->maps_are_read)
		return maps_use(era->maps);
	maps = maps_from_events(store, era->list->items, n, era->maps);
	maps->relative = relative;
	if (!era->maps || n > era->n_in_maps)
		keep_maps(era, maps, n);
	return maps;
}

/* ---- the table ---- */

#define MAX_ANCESTORS 16
#define MAX_LIST      4096		/* mappings; processes with more are read from /proc */
#define YOUNG_NS      (100 * NS_PER_MS) /* younger processes have unmapped little */
/* time after which all records of an exited process have been read */
#define READ_NS NS_PER_S
#define KEEP_NS (10 * NS_PER_S) /* retention of exited processes, even if not read in time */

struct processes {
	struct processes_options options;
	struct map_store store;
	struct hashtable table; /* hashed by pid */
	size_t n_published;
	void (*refresh)(uint64_t time_ns, void *arg);
	void *refresh_arg;
	uint64_t next_serial, n_dropped;
	struct process *oldest, *newest; /* list of exited processes */
};

struct processes *processes_new(const struct processes_options *options)
{
	struct processes *table = mem_zalloc(1, sizeof(*table));

	table->options = *options;
	table->store.files = files_new();
	return table;
}

void processes_on_ask(struct processes *table, void (*refresh)(uint64_t time_ns, void *arg),
		      void *arg)
{
	table->refresh = refresh;
	table->refresh_arg = arg;
}

/* ---- processes ---- */

struct process *processes_find(const struct processes *table, pid_t pid)
{
	/* Hashes are unique. */
	return HASHTABLE_FIRST(struct process, link, &table->table, hash_pid(pid));
}

static struct process *get_process(struct processes *table, pid_t pid)
{
	struct process *p = processes_find(table, pid);

	if (p)
		return p;
	p = mem_zalloc(1, sizeof(*p));
	p->pid = pid;
	hashtable_add(&table->table, &p->link, hash_pid(pid));
	return p;
}

/* Removes a process from the list of exited ones: its pid is reused, or it is evicted. */
static void leave_ended(struct processes *table, struct process *p)
{
	if (!p->exit_ns)
		return;
	*(p->older ? &p->older->newer : &table->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &table->newest) = p->older;
	p->older = p->newer = NULL;
	p->exit_ns = 0;
}

/* Drops a process's history, and the process itself unless it has published mappings. */
static void forget(struct processes *table, struct process *p)
{
	leave_ended(table, p);
	eras_free(&table->store, &p->latest);
	if (p->published)
		return;
	hashtable_remove(&table->table, &p->link);
	free(p->meanings);
	if (p->perf_map_fd)
		close(p->perf_map_fd);
	free(p);
}

/*
 * Drops an exited process, unless it is published: the remaining entry would look live again. A
 * live process loses only its history and its thread count, which may be wrong. The entry must
 * remain: without it, the main thread's exit would look like the process's. leader_has_exited stays
 * valid.
 */
static void clear(struct processes *table, struct process *p)
{
	p->knows_threads = p->has_lost_threads = false;
	if (p->exit_ns && !p->published)
		forget(table, p);
	else
		eras_free(&table->store, &p->latest);
}

void processes_clear(struct processes *table)
{
	for_each_element(struct process, p, next, link, &table->table)
		clear(table, p);
}

void processes_visit_living(struct processes *table, void (*visit)(pid_t pid, void *arg), void *arg)
{
	for_each_element(struct process, p, next, link, &table->table)
		if (!p->exit_ns)
			visit(p->pid, arg);
}

void processes_free(struct processes *table)
{
	if (!table)
		return;
	for_each_element(struct process, p, next, link, &table->table) {
		maps_release(p->published);
		p->published = NULL;
		forget(table, p);
	}
	hashtable_free(&table->table, NULL);
	map_store_free(&table->store);
	free(table);
}

void processes_publish(struct processes *table, pid_t pid, struct maps *maps)
{
	struct process *p = maps ? get_process(table, pid) : processes_find(table, pid);

	if (!p)
		return;
	table->n_published += !!maps;
	table->n_published -= !!p->published;
	maps_use(maps);
	maps_release(p->published);
	p->published = maps;
	if (!maps && !p->latest)
		forget(table, p);
}

/* Makes space for n mappings by evicting the processes that exited first. False: not enough. */
static bool has_room(struct processes *table, size_t n)
{
	size_t max = table->options.max_mappings;
	uint64_t now_ns = table->store.n_events + n > max ? clock_now_ns() : 0;

	while (table->store.n_events + n > max && table->oldest) {
		table->n_dropped += now_ns - table->oldest->exit_ns < READ_NS;
		forget(table, table->oldest);
	}
	return table->store.n_events + n <= max;
}

/* Evicts a process's history, which has outgrown the table; the process is read from /proc then. */
static void drop(struct processes *table, struct process *p)
{
	if (!p)
		return;
	eras_free(&table->store, &p->latest);
	table->n_dropped += !p->was_dropped;
	p->was_dropped = true;
}

/* ---- events ---- */

static struct era *latest_era(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	return p ? p->latest : NULL;
}

static struct era *find_era(const struct processes *table, pid_t pid, uint64_t time_ns)
{
	return eras_find(latest_era(table, pid), time_ns);
}

static struct process *begin_process(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct process *p = get_process(table, pid);

	if (time_ns >= p->exit_ns)
		leave_ended(table, p);
	return p;
}

/* Resets the thread count: after fork or exec, the process has one thread. */
static void begin_threads(struct process *p)
{
	p->n_threads = 1;
	p->knows_threads = true;
	p->leader_has_exited = false;
}

static void finish_era(struct processes *table, struct process *p, struct era *era)
{
	era->serial = ++table->next_serial;
	eras_drop_old(&table->store, &p->latest);
}

/* Fills the era at time_ns, or begins one. */
void processes_set(struct processes *table, pid_t pid, const struct mappings *maps,
		   uint64_t time_ns)
{
	bool fits = maps->count <= MAX_LIST && has_room(table, maps->count);
	struct process *p = begin_process(table, pid, time_ns);
	struct era *era;

	if (!fits) {
		drop(table, p);
		return;
	}
	era = eras_find(p->latest, time_ns);
	if (!era) {
		era = era_begin(&p->latest, time_ns);
		era->was_read = true;
	}
	era_replace(&table->store, era, maps, time_ns > READ_NS ? time_ns - READ_NS : 0);
	finish_era(table, p, era);
}

void processes_fork(struct processes *table, pid_t parent, pid_t child, uint64_t time_ns)
{
	struct era *era = find_era(table, parent, time_ns);
	struct process *p;

	if (!era)
		return;
	p = begin_process(table, child, time_ns);
	p->parent = parent;
	begin_threads(p);
	finish_era(table, p, era_begin_as(&p->latest, time_ns, era, era_count_until(era, time_ns)));
}

void processes_exec(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct process *p;

	if (table->options.only_known && !processes_find(table, pid))
		return;
	p = begin_process(table, pid, time_ns);
	begin_threads(p);
	finish_era(table, p, era_begin(&p->latest, time_ns));
}

/*
 * Returns the nearest ancestor that has not exited, which mostly sees the same files; 0: unknown.
 * The process itself may be about to exit, with its root already gone.
 */
static pid_t find_relative(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	for (int i = 0; p && i < MAX_ANCESTORS; i++) {
		pid = p->parent;
		p = processes_find(table, pid);
		if (!p || !p->exit_ns)
			return pid;
	}
	return 0;
}

void processes_map(struct processes *table, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	struct era *era = find_era(table, pid, time_ns);

	if (!era)
		return;
	if (era->count >= MAX_LIST || !has_room(table, era->count + 1)) {
		drop(table, processes_find(table, pid));
		return;
	}
	era = find_era(table, pid, time_ns); /* has_room() may have evicted it */
	if (era)
		era_append(&table->store, era, m, time_ns, pid, find_relative(table, pid));
}

static void forget_ended(struct processes *table, uint64_t time_ns)
{
	while (table->oldest && time_ns > table->oldest->exit_ns + KEEP_NS)
		forget(table, table->oldest);
}

void processes_exit(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct process *p = processes_find(table, pid);

	if (!p || p->exit_ns || (p->latest && p->latest->begin_ns > time_ns))
		return;
	forget_ended(table, time_ns);
	p->exit_ns = time_ns;
	p->older = table->newest;
	*(table->newest ? &table->newest->newer : &table->oldest) = p;
	table->newest = p;
}

void processes_thread(struct processes *table, pid_t pid)
{
	struct process *p = processes_find(table, pid);

	if (p)
		p->n_threads++;
}

/* Returns true if a process without a thread count may have ended; its leader may be long gone. */
static bool may_have_ended(struct process *p, pid_t tid)
{
	bool is_first = !p->has_lost_threads;

	p->has_lost_threads = true;
	if (tid == p->pid || (is_first && process_live_task(p->pid) != p->pid))
		p->leader_has_exited = true;
	return is_first || p->leader_has_exited;
}

bool processes_check_end(struct processes *table, pid_t pid, uint64_t time_ns)
{
	if (!process_has_ended(pid))
		return false;
	processes_exit(table, pid, time_ns);
	return true;
}

bool processes_exit_thread(struct processes *table, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct process *p = processes_find(table, pid);

	if (!p)
		return pid == tid;
	if (p->exit_ns || (p->latest && p->latest->begin_ns > time_ns))
		return false;
	if (!p->knows_threads)
		return may_have_ended(p, tid) && processes_check_end(table, pid, time_ns);
	p->leader_has_exited |= tid == pid;
	p->n_threads--;
	if (!p->leader_has_exited || p->n_threads)
		return false;
	processes_exit(table, pid, time_ns);
	return true;
}

bool processes_is_leaderless(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	return p && !p->exit_ns && !p->knows_threads && p->leader_has_exited;
}

/* ---- history ---- */

static void refresh(struct processes *table, uint64_t time_ns)
{
	if (table->refresh)
		table->refresh(time_ns, table->refresh_arg);
}

uint64_t processes_state(struct processes *table, pid_t pid, uint64_t time_ns)
{
	const struct era *era;

	refresh(table, time_ns);
	era = find_era(table, pid, time_ns);
	return era ? era->serial * (MAX_LIST + 1) + era_count_until(era, time_ns) : 0;
}

struct maps *processes_recall(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct era *era;

	refresh(table, time_ns);
	era = find_era(table, pid, time_ns);
	return era ? era_maps(&table->store, era, era_count_until(era, time_ns),
			      find_relative(table, pid))
		   : NULL;
}

bool processes_has_exited(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	return p && p->exit_ns;
}

/* Returns true if the process has not exited or executed another program since time_ns. */
static bool is_the_same(const struct processes *table, pid_t pid, uint64_t time_ns)
{
	const struct process *p = processes_find(table, pid);

	return p && !p->exit_ns && p->latest && p->latest->begin_ns <= time_ns;
}

/* Returns true if is_the_same(), and the process is old enough for /proc to be preferred. */
static bool is_settled(const struct processes *table, pid_t pid, uint64_t time_ns)
{
	const struct process *p = processes_find(table, pid);

	return is_the_same(table, pid, time_ns) &&
	       (p->latest->was_read || clock_now_ns() - p->latest->begin_ns > YOUNG_NS);
}

/*
 * Returns true if the last read is recent. Avoids a read for each library that a starting program
 * loads. False without a history: the process was evicted, or events were lost.
 */
static bool was_just_read(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	return table->refresh && p && p->latest && p->read_ns &&
	       clock_now_ns() - p->read_ns < YOUNG_NS;
}

/*
 * Returns true if the list is missing or has outgrown the current mappings, which then replace it.
 */
static bool wants_news(const struct process *p, const struct mappings *maps)
{
	return !p || !p->latest || p->latest->count > 2 * maps->count + 16;
}

/* Reads maps from /proc. NULL: the process is gone, or has no code (zombie, kernel thread). */
static struct maps *read_proc(struct processes *table, pid_t pid, uint64_t now_ns)
{
	struct timespec read_time;
	struct maps *maps = NULL;
	struct mappings read;
	struct era *era = latest_era(table, pid);

	clock_gettime(CLOCK_REALTIME_COARSE, &read_time);
	if (mappings_read(&read, pid))
		return NULL;
	if (read.count) {
		maps_restore_text(&table->store, &read, pid, &read_time);
		maps = maps_from_proc(&table->store, &read, &read_time, era ? era->maps : NULL);
		if (wants_news(processes_find(table, pid), &read))
			processes_set(table, pid, &read, now_ns);
	}
	mappings_free(&read);
	return maps;
}

/* Reads maps; caches them unless an exec or mapping meanwhile leaves their time unknown. */
static struct maps *read_and_keep(struct processes *table, pid_t pid)
{
	uint64_t now_ns = clock_now_ns();
	struct process *p;
	struct maps *maps;
	struct era *era;

	refresh(table, now_ns);
	maps = read_proc(table, pid, now_ns);
	p = processes_find(table, pid);
	if (p)
		p->read_ns = now_ns;
	refresh(table, clock_now_ns());
	era = latest_era(table, pid);
	if (maps && era && era->begin_ns <= now_ns && era_count_until(era, now_ns) == era->count)
		era_keep_read(era, maps, era->count);
	return maps;
}

/* Returns the cached maps or, if something has been mapped since, maps from events. */
static struct maps *recall_as_read(struct processes *table, pid_t pid, uint64_t time_ns)
{
	const struct era *era = find_era(table, pid, time_ns);

	return era && era->maps && era->n_in_maps == era_count_until(era, time_ns)
		       ? maps_use(era->maps)
		       : processes_recall(table, pid, time_ns);
}

/* Returns true if current mappings also hold for time_ns: no program was executed since. */
static bool was_so(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct era *latest;

	if (processes_state(table, pid, time_ns))
		return is_the_same(table, pid, time_ns);
	latest = latest_era(table, pid);
	return !latest || eras_find_before(latest, time_ns) == latest;
}

struct maps *processes_read_again(struct processes *table, pid_t pid, uint64_t time_ns)
{
	struct maps *maps = read_and_keep(table, pid);

	if (maps && was_so(table, pid, time_ns))
		return maps;
	maps_release(maps);
	return processes_recall(table, pid, time_ns);
}

struct maps *processes_read(struct processes *table, pid_t pid, uint64_t time_ns)
{
	if (processes_state(table, pid, time_ns) && !is_settled(table, pid, time_ns))
		return processes_recall(table, pid, time_ns);
	if (was_just_read(table, pid))
		return recall_as_read(table, pid, time_ns);
	return processes_read_again(table, pid, time_ns);
}

uint64_t processes_maps_time(const struct processes *table, pid_t pid)
{
	const struct process *p = processes_find(table, pid);

	if (!p || !p->latest)
		return p ? p->read_ns : 0;
	return p->latest->maps_are_read ? p->read_ns : era_maps_time(p->latest);
}

/* Drops the history if a changed generation shows an exec, in a table without events. */
static void note_generation(struct processes *table, pid_t pid, uint32_t generation)
{
	struct process *p = processes_find(table, pid);

	if (!p || table->refresh)
		return;
	if (p->generation && p->generation != generation)
		eras_free(&table->store, &p->latest);
	p->generation = generation;
}

/* Returns true if the era's maps contain mappings made after time_ns. */
static bool has_mapped_since(const struct era *era, uint64_t time_ns)
{
	return era->begin_ns <= time_ns && era->n_in_maps > era_count_until(era, time_ns);
}

struct maps *processes_look(struct processes *table, pid_t pid, uint32_t generation,
			    uint64_t time_ns)
{
	struct era *era;
	struct maps *maps;

	refresh(table, time_ns);
	note_generation(table, pid, generation);
	era = eras_find_before(latest_era(table, pid), time_ns);
	if (era && has_mapped_since(era, time_ns))
		return processes_recall(table, pid, time_ns);
	if (era && era->maps && era->n_in_maps >= era_count_until(era, time_ns))
		return maps_use(era->maps);
	maps = processes_read(table, pid, time_ns);
	note_generation(table, pid, generation);
	era = eras_find_before(latest_era(table, pid), time_ns);
	return maps || !era ? maps : maps_use(era->maps);
}

void processes_preload_files(struct processes *table, pid_t pid,
			     void (*visit)(struct file *file, void *arg), void *arg)
{
	struct era *era = latest_era(table, pid);

	if (era)
		era_preload_files(&table->store, era, pid, find_relative(table, pid), visit, arg);
}

void processes_age(struct processes *table, uint32_t epoch)
{
	forget_ended(table, clock_now_ns());
	files_age(table->store.files, epoch);
}

bool processes_have_many_files(const struct processes *table)
{
	return files_are_many(table->store.files);
}

struct processes_stats processes_stats(const struct processes *table)
{
	return (struct processes_stats){
		.n_processes = table->table.count,
		.n_published = table->n_published,
		.n_files = files_count(table->store.files),
		.n_dropped = table->n_dropped,
	};
}
