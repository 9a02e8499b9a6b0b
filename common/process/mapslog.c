// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of mappings; see mapslog.h. A process has a few eras, from one exec to the next; an era
 * has mappings in the order in which they were made. Children share those of their parents: a list
 * only ever grows, so each era looks at so many from its beginning on, and copies them where
 * somebody else has appended to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/mapslog.h"
#include "base/mem.h"
#include "base/parse.h"

#define LOG_BUCKETS   4096
#define FILE_BUCKETS  1024
#define MAX_ERAS      4 /* of one process: those that it may still be asked for */
#define MAX_ANCESTORS 16
#define MAX_LIST      4096		/* /proc/PID/maps does it for processes with more */
#define YOUNG_NS      (100 * NS_PER_MS) /* too little time to unmap much */
#define READ_NS	      NS_PER_S		/* what a process has left has been read by then */
#define KEEP_NS	      (10 * NS_PER_S)	/* even where the loader was kept from it */
#define CTIME_NS      (10 * NS_PER_MS)	/* change times of files lag so much behind the clock */

/* A file, or another name of a mapping, once for all who map it. */
struct file {
	struct file *next;
	dev_t dev;
	ino_t ino;
	unsigned int n_users;
	char path[];
};

struct item {
	uint64_t start, end, offset;
	uint64_t time_ns;
	struct file *file;
};

struct list {
	unsigned int n_users;
	size_t count, capacity;
	struct item *items;
};

struct era {
	struct era *older;
	uint64_t begin_ns, serial;
	struct list *list;
	size_t count; /* of the list's */
};

struct proc {
	struct proc *next; /* in the bucket */
	pid_t pid;
	pid_t parent; /* 0: not known */
	struct era *latest;
	uint64_t exit_ns;	    /* 0: not yet */
	struct proc *older, *newer; /* among those that have ended */
};

struct mapslog {
	size_t max_items, n_items;
	bool only_known;
	void (*refresh)(uint64_t time_ns, void *arg);
	void *refresh_arg;
	uint64_t next_serial, n_dropped;
	struct proc *buckets[LOG_BUCKETS];
	struct file *files[FILE_BUCKETS];
	struct proc *oldest, *newest; /* that have ended */
};

struct mapslog *mapslog_new(size_t max_mappings, bool only_known)
{
	struct mapslog *log = mem_zalloc(1, sizeof(*log));

	log->max_items = max_mappings;
	log->only_known = only_known;
	return log;
}

void mapslog_on_ask(struct mapslog *log, void (*refresh)(uint64_t time_ns, void *arg), void *arg)
{
	log->refresh = refresh;
	log->refresh_arg = arg;
}

/* ---- files ---- */

static struct file *take_file(struct mapslog *log, const struct mapping *m)
{
	size_t hash = (m->ino * 31 + m->dev) % FILE_BUCKETS, n = strlen(m->path) + 1;
	struct file *file = log->files[hash];

	for (; file; file = file->next)
		if (file->ino == m->ino && file->dev == m->dev && !strcmp(file->path, m->path))
			break;
	if (!file) {
		file = mem_zalloc(1, sizeof(*file) + n);
		file->dev = m->dev;
		file->ino = m->ino;
		memcpy(file->path, m->path, n);
		file->next = log->files[hash];
		log->files[hash] = file;
	}
	file->n_users++;
	return file;
}

static void release_file(struct mapslog *log, struct file *file)
{
	struct file **link = &log->files[(file->ino * 31 + file->dev) % FILE_BUCKETS];

	if (--file->n_users)
		return;
	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	free(file);
}

/* ---- lists of mappings ---- */

static struct list *new_list(void)
{
	struct list *list = mem_zalloc(1, sizeof(*list));

	list->n_users = 1;
	return list;
}

static void release_list(struct mapslog *log, struct list *list)
{
	if (--list->n_users)
		return;
	for (size_t i = 0; i < list->count; i++)
		release_file(log, list->items[i].file);
	log->n_items -= list->count;
	free(list->items);
	free(list);
}

static void append_item(struct mapslog *log, struct list *list, const struct item *item)
{
	list->items = mem_grow(list->items, list->count, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = *item;
	log->n_items++;
}

/* Makes the list the era's own from its end on. */
static void own_list(struct mapslog *log, struct era *era)
{
	struct list *list;

	if (era->count == era->list->count)
		return;
	list = new_list();
	for (size_t i = 0; i < era->count; i++) {
		era->list->items[i].file->n_users++;
		append_item(log, list, &era->list->items[i]);
	}
	release_list(log, era->list);
	era->list = list;
}

/* ---- processes ---- */

static struct proc **find_link(const struct mapslog *log, pid_t pid)
{
	struct proc *const *link = &log->buckets[(unsigned int)pid % LOG_BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return (struct proc **)link;
}

/* Takes it out of those that have ended: its pid is used again, or it is forgotten. */
static void leave_ended(struct mapslog *log, struct proc *p)
{
	if (!p->exit_ns)
		return;
	*(p->older ? &p->older->newer : &log->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &log->newest) = p->older;
	p->older = p->newer = NULL;
	p->exit_ns = 0;
}

static void free_era(struct mapslog *log, struct era *era)
{
	release_list(log, era->list);
	free(era);
}

static void forget(struct mapslog *log, struct proc *p)
{
	struct proc **link = find_link(log, p->pid);

	leave_ended(log, p);
	*link = p->next;
	for (struct era *era = p->latest, *older; era; era = older) {
		older = era->older;
		free_era(log, era);
	}
	free(p);
}

void mapslog_clear(struct mapslog *log)
{
	for (size_t i = 0; i < LOG_BUCKETS; i++)
		while (log->buckets[i])
			forget(log, log->buckets[i]);
}

void mapslog_free(struct mapslog *log)
{
	if (!log)
		return;
	mapslog_clear(log);
	free(log);
}

/* Makes room, if there is too little, by forgetting those who ended first. */
static bool has_room(struct mapslog *log, size_t n)
{
	uint64_t now_ns = log->n_items + n > log->max_items ? clock_now_ns() : 0;

	while (log->n_items + n > log->max_items && log->oldest) {
		log->n_dropped += now_ns - log->oldest->exit_ns < READ_NS;
		forget(log, log->oldest);
	}
	return log->n_items + n <= log->max_items;
}

static struct proc *get_proc(struct mapslog *log, pid_t pid)
{
	struct proc **link = find_link(log, pid), *p = *link;

	if (p)
		return p;
	p = *link = mem_zalloc(1, sizeof(*p));
	p->pid = pid;
	return p;
}

/* Where the era of that time is, or one that begins then belongs. */
static struct era **find_era_link(struct proc *p, uint64_t time_ns)
{
	struct era **link = &p->latest;

	while (*link && (*link)->begin_ns > time_ns)
		link = &(*link)->older;
	return link;
}

static struct era *find_era(const struct mapslog *log, pid_t pid, uint64_t time_ns)
{
	struct proc *p = *find_link(log, pid);

	return p ? *find_era_link(p, time_ns) : NULL;
}

static void drop_old_eras(struct mapslog *log, struct proc *p)
{
	struct era **link = &p->latest, *era;

	for (int i = 0; *link && i < MAX_ERAS; i++)
		link = &(*link)->older;
	while ((era = *link)) {
		*link = era->older;
		free_era(log, era);
	}
}

/* Events of several CPUs don't always come in order: one from before the latest era may follow. */
static void begin_era(struct mapslog *log, pid_t pid, uint64_t time_ns, struct list *list,
		      size_t count)
{
	struct proc *p = get_proc(log, pid);
	struct era **link, *era = mem_zalloc(1, sizeof(*era));

	if (time_ns >= p->exit_ns)
		leave_ended(log, p);
	link = find_era_link(p, time_ns);
	era->older = *link;
	era->begin_ns = time_ns;
	era->serial = ++log->next_serial;
	era->list = list;
	era->count = count;
	*link = era;
	drop_old_eras(log, p);
}

static struct item make_item(struct mapslog *log, const struct mapping *m, uint64_t time_ns)
{
	return (struct item){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.time_ns = time_ns,
		.file = take_file(log, m),
	};
}

/* A process that outgrows the log is forgotten, and looked up in /proc from then on. */
static void drop(struct mapslog *log, pid_t pid)
{
	struct proc *p = *find_link(log, pid);

	if (!p)
		return;
	forget(log, p);
	log->n_dropped++;
}

static struct list *list_of(struct mapslog *log, const struct mappings *maps, uint64_t time_ns)
{
	struct list *list = new_list();

	for (size_t i = 0; i < maps->count; i++) {
		struct item item = make_item(log, &maps->items[i], time_ns);

		append_item(log, list, &item);
	}
	return list;
}

/* An era that has begun before remains, and has had these mappings all the time. */
void mapslog_set(struct mapslog *log, pid_t pid, const struct mappings *maps, uint64_t time_ns)
{
	struct list *list;
	struct era *era;

	if (maps->count > MAX_LIST || !has_room(log, maps->count)) {
		drop(log, pid);
		return;
	}
	era = find_era(log, pid, time_ns);
	list = list_of(log, maps, era ? era->begin_ns : time_ns);
	if (!era) {
		begin_era(log, pid, time_ns, list, list->count);
		return;
	}
	release_list(log, era->list);
	era->list = list;
	era->count = list->count;
	era->serial = ++log->next_serial;
}

/* How many of an era's mappings were there at that time. */
static size_t count_until(const struct era *era, uint64_t time_ns)
{
	size_t n = era->count;

	while (n > 0 && era->list->items[n - 1].time_ns > time_ns)
		n--;
	return n;
}

void mapslog_fork(struct mapslog *log, pid_t parent, pid_t child, uint64_t time_ns)
{
	struct era *era = find_era(log, parent, time_ns);

	if (!era)
		return;
	era->list->n_users++;
	begin_era(log, child, time_ns, era->list, count_until(era, time_ns));
	get_proc(log, child)->parent = parent;
}

void mapslog_exec(struct mapslog *log, pid_t pid, uint64_t time_ns)
{
	if (!log->only_known || *find_link(log, pid))
		begin_era(log, pid, time_ns, new_list(), 0);
}

void mapslog_map(struct mapslog *log, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	struct era *era = find_era(log, pid, time_ns);
	struct item item;

	if (!era)
		return;
	if (era->count >= MAX_LIST || !has_room(log, era->count + 1)) {
		drop(log, pid);
		return;
	}
	era = find_era(log, pid, time_ns); /* it may have been forgotten to make room */
	if (!era)
		return;
	own_list(log, era);
	if (era->count && era->list->items[era->count - 1].time_ns > time_ns)
		time_ns = era->list->items[era->count - 1].time_ns; /* they stay in order */
	item = make_item(log, m, time_ns);
	append_item(log, era->list, &item);
	era->count++;
}

void mapslog_exit(struct mapslog *log, pid_t pid, uint64_t time_ns)
{
	struct proc *p = *find_link(log, pid);

	if (!p || p->exit_ns || (p->latest && p->latest->begin_ns > time_ns))
		return;
	while (log->oldest && time_ns > log->oldest->exit_ns + KEEP_NS)
		forget(log, log->oldest);
	p->exit_ns = time_ns;
	p->older = log->newest;
	*(log->newest ? &log->newest->newer : &log->oldest) = p;
	log->newest = p;
}

/* ---- what was ---- */

static void refresh(struct mapslog *log, uint64_t time_ns)
{
	if (log->refresh)
		log->refresh(time_ns, log->refresh_arg);
}

uint64_t mapslog_state(struct mapslog *log, pid_t pid, uint64_t time_ns)
{
	const struct era *era;

	refresh(log, time_ns);
	era = find_era(log, pid, time_ns);

	return era ? era->serial * (MAX_LIST + 1) + count_until(era, time_ns) : 0;
}

/* The order of two mappings, or 0 where they overlap. */
static int compare_mappings(const struct mapping *a, const struct mapping *b)
{
	if (a->end <= b->start)
		return -1;
	return a->start >= b->end;
}

static struct timespec wall_time(uint64_t ns)
{
	uint64_t wall_ns = clock_wall_ns() - clock_now_ns() + ns;

	return (struct timespec){ (time_t)(wall_ns / NS_PER_S), (long)(wall_ns % NS_PER_S) };
}

/*
 * The nearest ancestor that has not ended, which mostly sees the same files. The process itself may
 * be about to end, with its root gone before that is told.
 */
static pid_t find_relative(const struct mapslog *log, pid_t pid)
{
	const struct proc *p = *find_link(log, pid);

	for (int i = 0; p && i < MAX_ANCESTORS; i++) {
		pid = p->parent;
		p = *find_link(log, pid);
		if (!p || !p->exit_ns)
			return pid;
	}
	return 0;
}

static struct mapping copy_mapping(const struct item *item, pid_t relative)
{
	return (struct mapping){
		.start = item->start,
		.end = item->end,
		.offset = item->offset,
		.dev = item->file->dev,
		.ino = item->file->ino,
		.path = mem_strdup(item->file->path),
		.mapped_at = wall_time(item->time_ns - CTIME_NS),
		.relative = relative,
	};
}

static void insert_at(struct mappings *maps, size_t *capacity, size_t at, struct mapping m)
{
	maps->items = mem_grow(maps->items, maps->count, capacity, sizeof(m));
	memmove(maps->items + at + 1, maps->items + at, (maps->count - at) * sizeof(m));
	maps->items[at] = m;
	maps->count++;
}

static void remove_at(struct mappings *maps, size_t at)
{
	free(maps->items[at].path);
	maps->count--;
	memmove(maps->items + at, maps->items + at + 1, (maps->count - at) * sizeof(*maps->items));
}

/* The rest of a mapping from an address on, where another one now covers its beginning. */
static struct mapping cut_front(const struct mapping *m, uint64_t start)
{
	struct mapping rest = *m;

	rest.path = mem_strdup(m->path);
	rest.offset += start - m->start;
	rest.start = start;
	return rest;
}

/* What is new takes the place of what was there. */
static void put_mapping(struct mappings *maps, size_t *capacity, struct mapping m)
{
	size_t at = 0;

	while (at < maps->count && compare_mappings(&maps->items[at], &m) < 0)
		at++;
	while (at < maps->count && !compare_mappings(&maps->items[at], &m)) {
		struct mapping *old = &maps->items[at];
		bool has_front = old->start < m.start;
		bool has_back = old->end > m.end;

		if (has_back)
			insert_at(maps, capacity, at + 1, cut_front(old, m.end));
		if (has_front)
			maps->items[at++].end = m.start;
		else
			remove_at(maps, at);
		if (has_back)
			break;
	}
	insert_at(maps, capacity, at, m);
}

bool mapslog_find(struct mapslog *log, pid_t pid, uint64_t time_ns, struct mappings *maps)
{
	const struct era *era;
	size_t n, capacity = 0;
	pid_t relative;

	refresh(log, time_ns);
	relative = find_relative(log, pid);
	era = find_era(log, pid, time_ns);
	n = era ? count_until(era, time_ns) : 0;
	memset(maps, 0, sizeof(*maps));
	for (size_t i = 0; i < n; i++)
		put_mapping(maps, &capacity, copy_mapping(&era->list->items[i], relative));
	return era;
}

bool mapslog_has_exited(const struct mapslog *log, pid_t pid)
{
	const struct proc *p = *find_link(log, pid);

	return p && p->exit_ns;
}

/* The process is what it was then, and has been for long enough to ask it itself. */
static bool is_settled(const struct mapslog *log, pid_t pid, uint64_t time_ns)
{
	const struct proc *p = *find_link(log, pid);

	return p && !p->exit_ns && p->latest && p->latest->begin_ns <= time_ns &&
	       clock_now_ns() - p->latest->begin_ns > YOUNG_NS;
}

/* What has gathered in the log since it was told is replaced by what there is. */
static bool wants_news(const struct mapslog *log, pid_t pid, const struct mappings *maps)
{
	const struct proc *p = *find_link(log, pid);

	return !p || !p->latest || p->latest->count > 2 * maps->count + 16;
}

static int read_proc(struct mapslog *log, pid_t pid, struct mappings *maps)
{
	uint64_t now_ns = clock_now_ns();
	int err = mappings_read(maps, pid);

	if (!err && !maps->count)
		err = -ESRCH; /* a zombie */
	if (!err && log && wants_news(log, pid, maps))
		mapslog_set(log, pid, maps, now_ns);
	return err;
}

int mapslog_read(struct mapslog *log, pid_t pid, uint64_t time_ns, struct mappings *maps,
		 struct timespec *read_time)
{
	int err;

	clock_gettime(CLOCK_REALTIME_COARSE, read_time);
	if (!log)
		return mappings_read(maps, pid);
	if (mapslog_state(log, pid, time_ns) && !is_settled(log, pid, time_ns))
		return mapslog_find(log, pid, time_ns, maps) ? 0 : -ESRCH;
	err = read_proc(log, pid, maps);
	refresh(log, clock_now_ns()); /* it may have executed something meanwhile */
	if (!mapslog_state(log, pid, time_ns) || (!err && is_settled(log, pid, time_ns)))
		return err;
	mappings_free(maps);
	return mapslog_find(log, pid, time_ns, maps) ? 0 : -ESRCH;
}

uint64_t mapslog_n_dropped(const struct mapslog *log)
{
	return log->n_dropped;
}
