// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of cgroups; see cgroups.h. inotify(7) works on cgroup2, except that a directory's removal
 * is reported only to its parent's watch. If other programs have used up the inotify limits, all
 * directories are rescanned when an unknown id is requested.
 */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/lru.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "process/cgroups.h"

#define GONE_MAX       4096 /* removed cgroups whose names are retained */
#define LIST_MAX_BYTES (1 << 20)
#define EVENTS	       (IN_CREATE | IN_DELETE | IN_ONLYDIR)
#define LOOK_AGAIN_NS  NS_PER_S

static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

struct folder {
	struct cgroup cgroup;
	struct hashlink by_id, by_watch;
	struct lru_item gone;
	int watch; /* inotify watch; -1: none */
};

struct cgroups {
	const char *root; /* mount point of cgroup2; NULL: not mounted */
	struct hashtable by_id, by_watch;
	struct lru gone;
	int inotify_fd;
	bool is_blind; /* directories may change without an event */
	uint64_t looked_ns;
};

const char *cgroups_root(void)
{
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		if (!statfs(mounts[i], &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return mounts[i];
	return NULL;
}

bool cgroups_are_there(void)
{
	return cgroups_root() != NULL;
}

/* Parses the line of cgroup2: "0::/system.slice/cron.service". */
uint64_t cgroup_of_process(pid_t pid)
{
	char file[64], path[PATH_MAX];
	const char *root = cgroups_root();
	struct stat st = {};
	char *text, *line;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	text = root ? readfile(file, 65536, NULL) : NULL;
	line = text ? strstr(text, "0::/") : NULL;
	if (line && (line == text || line[-1] == '\n')) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, sizeof(path), "%s%s", root, line + strlen("0::"));
		if (stat(path, &st))
			st.st_ino = 0;
	}
	free(text);
	return st.st_ino;
}

/* Appends the numbers of a file, one per line. */
static pid_t *read_list(const char *path, pid_t *pids, size_t *n, size_t *cap)
{
	char *text = readfile(path, LIST_MAX_BYTES, NULL), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		*MEM_APPEND(pids, *n, *cap) = atoi(line);
	}
	free(text);
	return pids;
}

pid_t *cgroup_processes(const char *folder, size_t *n)
{
	char *const folders[] = { (char *)folder, NULL };
	FTS *tree = fts_open(folders, FTS_PHYSICAL | FTS_NOSTAT, NULL);
	const FTSENT *entry;
	pid_t *pids = NULL;
	size_t cap = 0;

	*n = 0;
	while (tree && (entry = fts_read(tree)))
		if (!strcmp(entry->fts_name, "cgroup.procs"))
			pids = read_list(entry->fts_path, pids, n, &cap);
	if (tree)
		fts_close(tree);
	return pids;
}

static struct folder *find_folder(const struct cgroups *cgroups, uint64_t id)
{
	for_each_linked(struct folder, folder, by_id, &cgroups->by_id, hash_add(0, id))
		if (folder->cgroup.id == id)
			return folder;
	return NULL;
}

static struct folder *find_watch(const struct cgroups *cgroups, int watch)
{
	uint64_t hash = hash_add(0, (uint64_t)watch);
	for_each_linked(struct folder, folder, by_watch, &cgroups->by_watch, hash)
		if (folder->watch == watch)
			return folder;
	return NULL;
}

/* ---- new directories ---- */

/* Warns, once, that not all directories are watched. limit: sysctl that is most likely too low. */
static void become_blind(struct cgroups *cgroups, const char *limit)
{
	if (!cgroups->is_blind)
		msg_warn("cgroup watch: %s: cgroups removed before a report have no name (raise "
			 "sysctl fs.inotify.%s)",
			 strerror(errno), limit);
	cgroups->is_blind = true;
}

static void watch_folder(struct cgroups *cgroups, struct folder *folder, const char *path)
{
	folder->watch = -1;
	if (cgroups->inotify_fd < 0)
		return;
	folder->watch = inotify_add_watch(cgroups->inotify_fd, path, EVENTS);
	if (folder->watch >= 0)
		hashtable_add(&cgroups->by_watch, &folder->by_watch,
			      hash_add(0, (uint64_t)folder->watch));
	else if (errno != ENOENT)
		become_blind(cgroups, "max_user_watches");
}

/* Adds a directory. Watches it before its subdirectories are listed, so that none is missed. */
static void add_folder(struct cgroups *cgroups, uint64_t id, const char *path)
{
	const char *below = path + strlen(cgroups->root);
	struct folder *folder;

	if (find_folder(cgroups, id))
		return;
	folder = mem_zalloc(1, sizeof(*folder));
	folder->cgroup.id = id;
	folder->cgroup.path = mem_strdup(*below ? below : "/");
	container_parse(&folder->cgroup.container, folder->cgroup.path);
	hashtable_add(&cgroups->by_id, &folder->by_id, hash_add(0, id));
	watch_folder(cgroups, folder, path);
}

/* Adds a directory and all below it. fts_read() lists a directory only after returning it. */
static void scan(struct cgroups *cgroups, const char *path)
{
	char *const paths[] = { (char *)path, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	const FTSENT *entry;

	if (!walk)
		return;
	while ((entry = fts_read(walk)))
		if (entry->fts_info == FTS_D)
			add_folder(cgroups, entry->fts_statp->st_ino, entry->fts_path);
	fts_close(walk);
}

/* ---- removed directories ---- */

static void free_folder(struct folder *folder)
{
	free(folder->cgroup.path);
	free(folder);
}

/* Removes the watch of a directory, since it would hold the directory's inode. */
static void unwatch_folder(struct cgroups *cgroups, struct folder *folder)
{
	if (folder->watch < 0)
		return;
	inotify_rm_watch(cgroups->inotify_fd, folder->watch);
	hashtable_remove(&cgroups->by_watch, &folder->by_watch);
	folder->watch = -1;
}

static void forget_oldest(struct cgroups *cgroups)
{
	struct folder *oldest = container_of(cgroups->gone.oldest, struct folder, gone);

	lru_use(&cgroups->gone, &oldest->gone, 0);
	hashtable_remove(&cgroups->by_id, &oldest->by_id);
	free_folder(oldest);
}

static void mark_gone(struct cgroups *cgroups, struct folder *folder)
{
	unwatch_folder(cgroups, folder);
	folder->cgroup.is_gone = true;
	lru_use(&cgroups->gone, &folder->gone, 1);
	if (cgroups->gone.bytes > GONE_MAX)
		forget_oldest(cgroups);
}

static bool is_there(const struct cgroups *cgroups, const struct folder *folder)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", cgroups->root, folder->cgroup.path);
	return !stat(path, &st) && st.st_ino == folder->cgroup.id;
}

/* Marks the directory at path as gone. A recreated one may already be known, under its new id. */
static void remove_folder(struct cgroups *cgroups, const char *path)
{
	const char *below = path + strlen(cgroups->root);
	struct folder *found = NULL;

	for_each_element(struct folder, folder, next, by_id, &cgroups->by_id)
		if (!folder->cgroup.is_gone && !strcmp(folder->cgroup.path, below))
			found = folder;
	if (found && !is_there(cgroups, found))
		mark_gone(cgroups, found);
}

/* Finds changes that caused no event. */
static void look_again(struct cgroups *cgroups)
{
	struct folder **missing = NULL;
	size_t n = 0, cap = 0;

	for_each_element(struct folder, folder, next, by_id, &cgroups->by_id) {
		if (folder->cgroup.is_gone || is_there(cgroups, folder))
			continue;
		*MEM_APPEND(missing, n, cap) = folder;
	}
	for (size_t i = 0; i < n; i++)
		mark_gone(cgroups, missing[i]);
	free(missing);
	scan(cgroups, cgroups->root);
}

/* ---- events from inotify ---- */

static void handle_event(struct cgroups *cgroups, const struct inotify_event *event)
{
	const struct folder *parent = find_watch(cgroups, event->wd);
	char path[PATH_MAX];

	if (event->mask & IN_Q_OVERFLOW)
		look_again(cgroups);
	if (!parent || !(event->mask & IN_ISDIR))
		return;
	snprintf(path, sizeof(path), "%s%s/%s", cgroups->root,
		 strcmp(parent->cgroup.path, "/") ? parent->cgroup.path : "", event->name);
	if (event->mask & IN_DELETE)
		remove_folder(cgroups, path);
	if (event->mask & IN_CREATE)
		scan(cgroups, path);
}

void cgroups_update(struct cgroups *cgroups)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	if (cgroups->inotify_fd < 0)
		return;
	while ((n = read(cgroups->inotify_fd, buf, sizeof(buf))) > 0)
		for (const char *at = buf; at < buf + n;) {
			const struct inotify_event *event = (const void *)at;

			at += sizeof(*event) + event->len;
			handle_event(cgroups, event);
		}
}

int cgroups_fd(const struct cgroups *cgroups)
{
	return cgroups->inotify_fd;
}

struct cgroups *cgroups_new(bool watch)
{
	struct cgroups *cgroups = mem_zalloc(1, sizeof(*cgroups));

	cgroups->root = cgroups_root();
	cgroups->inotify_fd = -1;
	cgroups->is_blind = !watch;
	if (!cgroups->root)
		return cgroups;
	if (watch)
		cgroups->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (cgroups->inotify_fd < 0)
		become_blind(cgroups, "max_user_instances");
	scan(cgroups, cgroups->root);
	return cgroups;
}

static void free_link(struct hashlink *link)
{
	free_folder(container_of(link, struct folder, by_id));
}

void cgroups_free(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	if (cgroups->inotify_fd >= 0)
		close(cgroups->inotify_fd);
	hashtable_free(&cgroups->by_watch, NULL);
	hashtable_free(&cgroups->by_id, free_link);
	free(cgroups);
}

/* Updates, and rescans if blind: one rescan serves all removed cgroups that a report requests. */
static void look_around(struct cgroups *cgroups)
{
	uint64_t now_ns = clock_now_ns();

	cgroups_update(cgroups);
	if (!cgroups->is_blind || !cgroups->root ||
	    (cgroups->looked_ns && now_ns - cgroups->looked_ns < LOOK_AGAIN_NS))
		return;
	cgroups->looked_ns = now_ns;
	look_again(cgroups);
}

const struct cgroup *cgroups_find(struct cgroups *cgroups, uint64_t id)
{
	struct folder *folder = find_folder(cgroups, id);

	if (!folder) {
		look_around(cgroups);
		folder = find_folder(cgroups, id);
	}
	return folder ? &folder->cgroup : NULL;
}

void cgroups_visit(struct cgroups *cgroups, void (*visit)(const struct cgroup *cgroup, void *arg),
		   void *arg)
{
	for_each_element(struct folder, folder, next, by_id, &cgroups->by_id)
		if (!folder->cgroup.is_gone)
			visit(&folder->cgroup, arg);
}
