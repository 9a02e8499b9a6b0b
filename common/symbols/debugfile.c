// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds separate debug files; see debugfile.h. The traced side may have put any file where one is
 * expected, so the cheap checks come first, and the bytes read for CRCs are bounded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/dynlib.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/rate_limit.h"
#include "base/signals.h"
#include "elf/unreadable.h"
#include "process/files.h"
#include "process/roots.h"
#include "symbols/debugfile.h"

/* ---- debuginfod's cache and client ---- */

/*
 * The client's library brings curl and TLS with it, so it is loaded only when servers are set and a
 * file is missing (dynlib.h).
 */
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

/*
 * Opens the debug file in the client's cache for reading: in the directory named by the environment
 * or, if none is, in all default ones. Returns -errno on failure.
 */
static int debuginfod_open_cached(const uint8_t *id, size_t bytes)
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

/* ---- what is searched for ---- */

#define DEBUG_FOLDER	 "/usr/lib/debug"
#define CHUNK_BYTES	 (256u << 10)
#define CRC_MAX_BYTES	 (1ull << 30) /* limit per file; that of libLLVM has 0.3 GiB */
#define CRC_HOURLY_BYTES (8ull << 30) /* limit of all files per hour */
#define SUMS_KEPT	 64

/* Identity of the debug file that is searched for. */
struct wanted {
	const struct elffile *f;
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	size_t id_bytes;
	char link[256];
	uint32_t crc;
	bool has_link;
	/* shared by other debug files: only the build-id identifies it */
	bool is_shared;
};

static struct wanted describe(const struct elffile *f)
{
	struct wanted w = { .f = f };

	w.id_bytes = elffile_build_id(f, w.id);
	w.has_link = elffile_debuglink(f, w.link, &w.crc);
	return w;
}

/* ---- checks ---- */

/* Compares build-ids. 1: equal, 0: different, -1: one of the files has none. */
static int compare_build_id(const struct wanted *w, const struct elffile *debug)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	size_t n = elffile_build_id(debug, id);

	if (!n || !w->id_bytes)
		return -1;
	return n == w->id_bytes && !memcmp(id, w->id, n);
}

static Elf_Scn *next_code_section(Elf *elf, Elf_Scn *scn, GElf_Shdr *sh)
{
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, sh) && (sh->sh_flags & SHF_ALLOC) &&
		    (sh->sh_flags & SHF_EXECINSTR))
			return scn;
	return NULL;
}

/* Compares code sections: prelink may have moved the file to other addresses than its symbols. */
static bool has_same_code(const struct elffile *a, const struct elffile *b)
{
	Elf_Scn *x = NULL, *y = NULL;
	GElf_Shdr xh, yh;

	do {
		x = next_code_section(a->elf, x, &xh);
		y = next_code_section(b->elf, y, &yh);
		if (x && y && (xh.sh_addr != yh.sh_addr || xh.sh_size != yh.sh_size))
			return false;
	} while (x && y);
	return !x && !y;
}

/* Checksums of recent files, for evicted symbol tables that are read again. */
static struct {
	struct sum {
		struct stat file;
		uint32_t crc;
	} sums[SUMS_KEPT];
	size_t n; /* number of checksums stored so far: a ring of the latest SUMS_KEPT */
	struct rate_limit bytes;
	bool has_said_spent;
} known = { .bytes = { .amount = CRC_HOURLY_BYTES, .period_ns = 3600 * NS_PER_S } };

static bool recall_crc(const struct stat *file, uint32_t *crc)
{
	bool found = false;

	for (size_t i = 0; i < SUMS_KEPT && i < known.n && !found; i++) {
		found = file_is_same_version(&known.sums[i].file, file);
		*crc = known.sums[i].crc;
	}
	return found;
}

static void keep_crc(const struct stat *file, uint32_t crc)
{
	known.sums[known.n++ % SUMS_KEPT] = (struct sum){ *file, crc };
}

static bool may_read(uint64_t bytes)
{
	bool may = rate_limit_take(&known.bytes, bytes, clock_now_ns());

	if (!may && !known.has_said_spent)
		msg_warn("debug files: rate limit of %llu GiB per hour reached, files found only "
			 "by .gnu_debuglink are skipped (symbols may be missing)",
			 CRC_HOURLY_BYTES >> 30);
	known.has_said_spent |= !may;
	return may;
}

static uint32_t compute_crc(int fd, uint64_t bytes)
{
	uint8_t *chunk;
	uLong crc = 0;
	ssize_t n;

	chunk = mem_zalloc(1, CHUNK_BYTES);
	for (uint64_t at = 0; at < bytes; at += (uint64_t)n) {
		n = pread(fd, chunk, CHUNK_BYTES, (off_t)at);
		if (n <= 0)
			break;
		crc = crc32(crc, chunk, (uInt)n);
	}
	free(chunk);
	return (uint32_t)crc;
}

static bool has_crc(int fd, uint64_t bytes, uint32_t wanted)
{
	struct stat file;
	uint32_t crc;

	if (bytes > CRC_MAX_BYTES || fstat(fd, &file))
		return false;
	if (recall_crc(&file, &crc))
		return crc == wanted;
	if (!may_read(bytes))
		return false;
	crc = compute_crc(fd, bytes);
	keep_crc(&file, crc);
	return crc == wanted;
}

/* Checks the file by build-id or else by CRC, which requires reading the whole file. */
static bool is_wanted(const struct wanted *w, int fd, const struct elffile *debug, bool by_name)
{
	int same_id = compare_build_id(w, debug);

	if (by_name ? same_id == 0 : same_id != 1)
		return false;
	if (w->is_shared)
		return true;
	return elffile_has_symtab(debug) && has_same_code(w->f, debug) &&
	       (same_id == 1 || has_crc(fd, debug->bytes, w->crc));
}

/* Returns fd if it is the wanted file; else closes it and returns -ENOENT. */
static int check_file(const struct wanted *w, int fd, bool by_name, struct elffile *debug)
{
	if (fd < 0) {
		unreadable_report(fd);
		return -ENOENT;
	}
	if (!(w->is_shared ? elffile_open_codeless : elffile_open)(debug, fd)) {
		if (is_wanted(w, fd, debug, by_name))
			return fd;
		elffile_close(debug);
	}
	close(fd);
	return -ENOENT;
}

/* ---- places ---- */

bool debug_place_find(struct debug_place *place, struct roots *roots, pid_t pid, const char *path)
{
	place->root_fd = roots_of(roots, pid);
	place->own_root_fd = roots_own(roots);
	place->gone_pid = place->root_fd == -ENOENT ? pid : 0;
	if (path[0] == '/' && !(place->gone_pid && place->path)) {
		debug_place_free(place);
		place->path = root_path(pid, path, file_path_length(path));
	}
	return !place->gone_pid;
}

void debug_place_free(struct debug_place *place)
{
	free((char *)place->path);
	place->path = NULL;
}

static int open_by_id(const struct wanted *w, int root_fd, struct elffile *debug)
{
	char path[sizeof(DEBUG_FOLDER) + 32 + 2 * ELFFILE_BUILD_ID_MAX];
	int at;

	if (!w->id_bytes)
		return -ENOENT;
	at = snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%02x/", w->id[0]);
	for (size_t i = 1; i < w->id_bytes; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", w->id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
	return check_file(w, root_open_file(root_fd, path), false, debug);
}

static int open_by_link(const struct wanted *w, int root_fd, const char *path,
			struct elffile *debug)
{
	static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG_FOLDER "%.*s/%s" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	char name[2 * PATH_MAX];
	int fd = -ENOENT;

	if (!w->has_link || !slash || strlen(path) >= PATH_MAX)
		return -ENOENT;
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(forms); i++) {
		snprintf(name, sizeof(name), forms[i], (int)(slash - path), path, w->link);
		fd = check_file(w, root_open_file(root_fd, name), true, debug);
	}
	return fd;
}

int debugfile_open(const struct elffile *f, const struct debug_place *place, struct elffile *debug)
{
	int roots[] = { place->root_fd, place->own_root_fd }, fd = -ENOENT;
	struct wanted w = describe(f);

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(roots); i++)
		fd = open_by_id(&w, roots[i], debug);
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(roots); i++)
		fd = open_by_link(&w, roots[i], place->path, debug);
	return fd;
}

int debugfile_fetch(const struct elffile *f, struct elffile *debug)
{
	struct wanted w = describe(f);
	int fd;

	if (!w.id_bytes)
		return -ENOENT;
	fd = check_file(&w, debuginfod_open_cached(w.id, w.id_bytes), false, debug);
	if (fd < 0)
		fd = check_file(&w, debuginfod_download(w.id, w.id_bytes), false, debug);
	return fd;
}

/* ---- files shared by debug files (dwz) ---- */

/* Reads a name, terminated by 0, and the build-id after it. False: one of them is missing. */
static bool describe_shared(const Elf_Data *data, struct wanted *w, char name[PATH_MAX])
{
	size_t n = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;

	if (!n || n >= PATH_MAX || data->d_size - n - 1 > sizeof(w->id))
		return false;
	memcpy(name, data->d_buf, n + 1);
	w->id_bytes = data->d_size - n - 1;
	memcpy(w->id, (const char *)data->d_buf + n + 1, w->id_bytes);
	return w->id_bytes > 0;
}

static int open_by_name(const struct wanted *w, int root_fd, const char *path, const char *name,
			struct elffile *shared)
{
	const char *slash = path && name[0] != '/' ? strrchr(path, '/') : NULL;
	char whole[2 * PATH_MAX];
	int fd;

	if (name[0] != '/' && (!slash || strlen(path) >= PATH_MAX))
		return -ENOENT;
	snprintf(whole, sizeof(whole), "%.*s%s", slash ? (int)(slash + 1 - path) : 0,
		 slash ? path : "", name);
	fd = root_open_file(root_fd, whole);
	return check_file(w, fd, false, shared);
}

int debugfile_open_shared(const struct elffile *f, const struct debug_place *place,
			  struct elffile *shared)
{
	struct wanted w = { .f = f, .is_shared = true };
	int roots[] = { place->root_fd, place->own_root_fd }, fd = -ENOENT;
	char name[PATH_MAX];
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(f, ".gnu_debugaltlink", &sh);

	if (!scn)
		return -ENODATA;
	if (!describe_shared(elffile_data(f, scn), &w, name))
		return -ENOENT;
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(roots); i++)
		fd = open_by_id(&w, roots[i], shared);
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(roots); i++)
		fd = open_by_name(&w, roots[i], place->path, name, shared);
	return fd;
}
