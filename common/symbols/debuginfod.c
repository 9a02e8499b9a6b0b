// SPDX-License-Identifier: GPL-2.0-only
/*
 * debuginfod's cache and client. The client's library brings curl and TLS with it, so it is loaded
 * only when servers are set and something is missing (dynlib.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/dynlib.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/msg.h"
#include "process/roots.h"
#include "symbols/debuginfod.h"

#pragma weak dynlib_find

#define LIBRARY	  "libdebuginfod.so.1"
#define ASKED_MAX 4096

typedef void *begin_fn(void);
typedef int find_fn(void *client, const unsigned char *id, int bytes, char **path);

static void write_hex(char *to, const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sprintf(to + 2 * i, "%02x", id[i]);
}

/* The folder that the environment names, or the first of the default ones that has the file. */
static int open_in(const char *folder, const char *below, const char *hex)
{
	char path[PATH_MAX];
	struct stat st;
	int path_fd, fd;

	if (!folder || folder[0] != '/' ||
	    snprintf(path, sizeof(path), "%s%s/%s/debuginfo", folder, below, hex) >=
		    (int)sizeof(path))
		return -ENOENT;
	path_fd = root_check_regular(open(path, O_PATH | O_CLOEXEC), &st);
	if (path_fd < 0)
		return path_fd;
	fd = root_reopen(path_fd);
	close(path_fd);
	return fd;
}

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
	bool was_tried;
	void *handle;
	find_fn *find;
};

static const char *load_client(struct client *c)
{
	begin_fn *begin;

	if (!dynlib_find)
		return "not in a static binary";
	begin = (begin_fn *)dynlib_find(LIBRARY, "debuginfod_begin");
	c->find = (find_fn *)dynlib_find(LIBRARY, "debuginfod_find_debuginfo");
	c->handle = begin && c->find ? begin() : NULL;
	return c->handle ? NULL : "there is no " LIBRARY;
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

/* The lock is held. */
static int download(const uint8_t *id, size_t bytes)
{
	static struct client client;
	const char *why = NULL;
	int fd;

	if (!client.was_tried)
		why = load_client(&client);
	client.was_tried = true;
	if (why)
		msg_warn("DEBUGINFOD_URLS is set, but debuginfod is not asked: %s", why);
	if (!client.handle || debuginfod_was_asked(id, bytes))
		return -ENOENT;
	fd = client.find(client.handle, id, (int)bytes, NULL);
	return fd < 0 ? -ENOENT : fd;
}

/* The client serves one thread at a time, and the background thread searches too. */
int debuginfod_download(const uint8_t *id, size_t bytes)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd;

	if (!urls || !*urls)
		return -ENOENT;
	pthread_mutex_lock(&lock);
	fd = download(id, bytes);
	pthread_mutex_unlock(&lock);
	return fd;
}
