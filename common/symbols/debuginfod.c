// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uses debuginfod's cache and client. The client's library brings curl and TLS with it, so it is
 * loaded only when servers are set and a file is missing (dynlib.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/dynlib.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/msg.h"
#include "base/signals.h"
#include "process/roots.h"
#include "symbols/debuginfod.h"

#pragma weak dynlib_find

#define LIBRARY	      "libdebuginfod.so.1"
#define ASKED_MAX     4096
#define PATIENCE_NS   (5 * NS_PER_S) /* the library's own timeout is 90 s */
#define PAUSE_MINUTES 5

typedef void *begin_fn(void);
typedef int progress_fn(void *client, long at, long all);
typedef void set_progress_fn(void *client, progress_fn *progress);
typedef int find_fn(void *client, const unsigned char *id, int bytes, char **path);

static void write_hex(char *to, const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sprintf(to + 2 * i, "%02x", id[i]);
}

/* Opens the file in the cache directory folder/below; -ENOENT if folder is NULL or relative. */
static int open_in(const char *folder, const char *below, const char *hex)
{
	char path[PATH_MAX];

	if (!folder || folder[0] != '/' ||
	    snprintf(path, sizeof(path), "%s%s/%s/debuginfo", folder, below, hex) >=
		    (int)sizeof(path))
		return -ENOENT;
	return root_open_regular(open(path, O_PATH | O_CLOEXEC));
}

/* Searches the directory named by the environment or, if none is, all default ones. */
int debuginfod_open_cached(const uint8_t *id, size_t bytes)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	char hex[2 * 64 + 1] = "";
	int fd;

	if (bytes > 64)
		return -ENOENT;
	write_hex(hex, id, bytes);
	if (own)
		return open_in(own, "", hex);
	fd = open_in(getenv("XDG_CACHE_HOME"), "/debuginfod_client", hex);
	if (fd < 0)
		fd = open_in(home, "/.cache/debuginfod_client", hex);
	return fd < 0 ? open_in(home, "/.debuginfod_client_cache", hex) : fd;
}

struct client {
	bool was_tried, has_said;
	void *handle;
	find_fn *find;
	uint64_t pause_end_ns;

	/* current query */
	long at;
	uint64_t came_ns; /* time of the latest progress */
	bool is_late;
};

static struct client *the_client(void)
{
	static struct client client;

	return &client;
}

/* ---- reasons to cancel a query ---- */

/*
 * Returns true to cancel the query. at: number of bytes received; before the first byte, number of
 * the call.
 */
static int check_progress(void *handle, long at, long all)
{
	struct client *c = the_client();
	uint64_t now_ns = clock_now_ns();

	(void)handle;
	(void)all;
	if (at != c->at && at != c->at + 1)
		c->came_ns = now_ns;
	c->at = at;
	c->is_late = c->is_late || now_ns - c->came_ns >= PATIENCE_NS;
	return c->is_late || signals_are_pending();
}

/* ---- questions ---- */

static const char *load_client(struct client *c)
{
	set_progress_fn *set_progress;
	begin_fn *begin;

	if (!dynlib_find)
		return "not supported in a static binary";
	begin = (begin_fn *)dynlib_find(LIBRARY, "debuginfod_begin");
	set_progress = (set_progress_fn *)dynlib_find(LIBRARY, "debuginfod_set_progressfn");
	c->find = (find_fn *)dynlib_find(LIBRARY, "debuginfod_find_debuginfo");
	c->handle = begin && set_progress && c->find ? begin() : NULL;
	if (!c->handle)
		return LIBRARY " not found";
	set_progress(c->handle, check_progress);
	return NULL;
}

bool debuginfod_was_asked(const uint8_t *id, size_t bytes)
{
	static struct idmap asked;
	uint64_t key = 0;

	for (size_t i = 0; i < bytes; i++)
		key = hash_add(key, id[i]);
	if (idmap_find(&asked, key))
		return true;
	if (asked.count == ASKED_MAX)
		idmap_free(&asked, NULL);
	idmap_add(&asked, key, &asked);
	return false;
}

static void pause_asking(struct client *c, int err)
{
	c->pause_end_ns = clock_now_ns() + PAUSE_MINUTES * 60 * NS_PER_S;
	if (c->has_said)
		return;
	c->has_said = true;
	msg_warn("debuginfod: %s: disabled for %d minutes (some functions may have no names)",
		 strerror(abs(err)), PAUSE_MINUTES);
}

/* Returns true if a server has answered. -EFBIG: the file is larger than DEBUGINFOD_MAXSIZE. */
static bool is_answer(int fd)
{
	return fd >= 0 || fd == -ENOENT || fd == -EFBIG;
}

/* Queries the servers; pauses if none can be reached, since a query then takes long. */
static int ask(struct client *c, const uint8_t *id, size_t bytes)
{
	int fd;

	c->at = 0;
	c->came_ns = clock_now_ns();
	c->is_late = false;
	fd = c->find(c->handle, id, (int)bytes, NULL);
	if (fd >= 0)
		return fd;
	if (c->is_late)
		pause_asking(c, -ETIMEDOUT);
	else if (!is_answer(fd) && !signals_are_pending())
		pause_asking(c, fd);
	return -ENOENT;
}

static int download(struct client *c, const uint8_t *id, size_t bytes)
{
	const char *why = c->was_tried ? NULL : load_client(c);

	c->was_tried = true;
	if (why)
		msg_warn("debuginfod: DEBUGINFOD_URLS is set but not used: %s", why);
	if (!c->handle || signals_are_pending() || clock_now_ns() < c->pause_end_ns ||
	    debuginfod_was_asked(id, bytes))
		return -ENOENT;
	return ask(c, id, bytes);
}

/* Preserves errno, which is about the file being read (see elfsyms.c); the library may set it. */
int debuginfod_download(const uint8_t *id, size_t bytes)
{
	struct client *c = the_client();
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd, saved_errno = errno;

	if (!urls || !*urls)
		return -ENOENT;
	fd = download(c, id, bytes);
	errno = saved_errno;
	return fd;
}
