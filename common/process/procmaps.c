// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses /proc/PID/maps. Lines are
 *
 *	start-end perms offset major:minor inode path
 *
 * with everything but the inode in hex. The traced side chooses paths and can change its mappings
 * while they are read, so a line that makes no sense or overlaps an earlier one is left out. If
 * only code is needed, and the kernel has PROCMAP_QUERY, the kernel is queried for it instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/search.h"
#include "elf/elf64.h"
#include "process/procmaps.h"
#include "process/procstate.h"

/* Bounds the tool's memory: a million mappings with paths of 500 bytes. */
#define MAPS_MAX_BYTES (512u << 20)

static void free_below(struct mapping *m)
{
	if (m->below)
		free(m->below->path);
	free(m->below);
}

void mappings_free(struct mappings *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		free_below(&maps->items[i]);
		free(maps->items[i].path);
	}
	free(maps->items);
	memset(maps, 0, sizeof(*maps));
}

/* Parses a number and skips the delimiter after it. */
static bool take_number(const char **s, int base, char delimiter, uint64_t *value)
{
	char *end;

	if (!strchr("0123456789abcdef", **s) || !**s)
		return false;
	errno = 0;
	*value = strtoull(*s, &end, base);
	if (errno || *end != delimiter)
		return false;
	*s = end + 1;
	return true;
}

/* Parses permissions: "r-xp", or "rw-s" for shared mappings. */
static bool take_perms(const char **s, bool *executable, bool *is_shared)
{
	if (strnlen(*s, 5) < 5 || (*s)[4] != ' ')
		return false;
	*executable = (*s)[2] == 'x';
	*is_shared = (*s)[3] == 's';
	*s += 5;
	return true;
}

/* Parses the inode, which ends the line if there is no path. */
static bool take_inode(const char **s, ino_t *ino)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*ino = strtoull(*s, &end, 10);
	*s = end;
	return !errno && strchr(" \n", *end);
}

/*
 * Copies a path. Undoes escaped newlines only: the kernel doesn't escape backslashes, so undoing
 * other escapes would garble names.
 */
static char *copy_path(const char *s)
{
	size_t n = strcspn(s, "\n");
	char *path, *to;

	for (; *s == ' '; n--)
		s++;
	to = path = mem_strndup(s, n);
	for (const char *from = path; *from; from++) {
		bool newline = !strncmp(from, "\\012", 4);

		*to++ = newline ? '\n' : *from;
		from += newline ? 3 : 0;
	}
	*to = '\0';
	return path;
}

/* Parses a line except the path. Returns the start of the path; NULL: malformed line. */
static const char *parse_line(const char *s, bool *executable, struct mapping *m)
{
	uint64_t dev_major, dev_minor;

	if (!take_number(&s, 16, '-', &m->start) || !take_number(&s, 16, ' ', &m->end) ||
	    !take_perms(&s, executable, &m->is_shared) || !take_number(&s, 16, ' ', &m->offset) ||
	    !take_number(&s, 16, ':', &dev_major) || !take_number(&s, 16, ' ', &dev_minor) ||
	    !take_inode(&s, &m->ino))
		return NULL;
	m->dev = makedev(dev_major, dev_minor);
	return m->start < m->end ? s : NULL;
}

/* Returns true for files that are memory: shared anonymous, System V shared memory, huge pages. */
static bool is_memory_file(const char *path)
{
	static const char *const beginnings[] = { "/dev/zero", "/SYSV", "/anon_hugepage" };

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(path, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* Includes names such as [anon:text], which the program sets. */
bool mapping_is_memory(const struct mapping *m)
{
	if (m->ino)
		return is_memory_file(m->path);
	return !*m->path || !strncmp(m->path, "[anon", strlen("[anon"));
}

/* The file mapping right below, with only anonymous code in between; line NULL: none. */
struct below {
	const char *line;
	uint64_t end;
};

static struct mapping *copy_below(const struct below *below)
{
	struct mapping *m = mem_zalloc(1, sizeof(*m));

	m->path = copy_path(parse_line(below->line, &(bool){ false }, m));
	return m;
}

static void note_below(struct below *below, const struct mapping *m, bool is_code, const char *line,
		       const char *path)
{
	if (m->start != below->end || !is_code)
		below->line = NULL;
	below->end = m->end;
	if (m->ino && !is_memory_file(path + strspn(path, " ")))
		below->line = line;
}

void mappings_parse(struct mappings *maps, const char *text, bool is_code_only)
{
	struct below below = {};
	size_t cap = 0;
	uint64_t end = 0;

	memset(maps, 0, sizeof(*maps));
	for (const char *next; *text; text = next) {
		struct mapping m = { 0 };
		bool is_code;
		const char *path = parse_line(text, &is_code, &m);

		next = strchrnul(text, '\n');
		next += *next == '\n';
		if (!path || m.start < end)
			continue;
		note_below(&below, &m, is_code, text, path);
		if (is_code_only && !is_code)
			continue;
		m.path = copy_path(path);
		if (is_code && mapping_is_memory(&m) && below.line)
			m.below = copy_below(&below);
		end = m.end;
		*MEM_APPEND(maps->items, maps->count, cap) = m;
	}
}

/*
 * ---- PROCMAP_QUERY ----
 *
 * PROCMAP_QUERY, since Linux 6.11: struct procmap_query of the kernel's linux/fs.h. Four of five
 * mappings hold no code, and the kernel takes several times as long to print one as to return it.
 */

/* struct procmap_query, defined here since the headers may be older than the kernel. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, ino;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id; /* addresses of buffers */
};

#define QUERY_MAPPING	 _IOWR('f', 17, struct query)
#define QUERY_EXECUTABLE 0x04
#define QUERY_SHARED	 0x08
#define QUERY_OR_NEXT	 0x10

/* x86-64's vsyscall page, which belongs to no process, and appears in the text only. */
#define VSYSCALL_START 0xffffffffff600000ULL
#define VSYSCALL_BYTES 4096

struct list {
	struct mappings *maps;
	size_t cap;
};

static void append(struct list *list, const struct mapping *m)
{
	struct mappings *maps = list->maps;

	*MEM_APPEND(maps->items, maps->count, list->cap) = *m;
}

static struct mapping as_mapping(const struct query *q, const char *name)
{
	return (struct mapping){
		.start = q->start,
		.end = q->end,
		.offset = q->offset,
		.dev = makedev(q->dev_major, q->dev_minor),
		.ino = q->ino,
		.is_shared = q->vma_flags & QUERY_SHARED,
		.path = mem_strdup(q->name_bytes ? name : ""),
	};
}

/* Queries the mapping at an address or, with QUERY_OR_NEXT, the next one. -ENOENT: none. */
static int ask(int fd, uint64_t addr, uint64_t flags, struct query *q, char *name)
{
	*q = (struct query){
		.size = sizeof(*q),
		.flags = flags,
		.addr = addr,
		.name_bytes = name ? PATH_MAX : 0,
		.name = (uintptr_t)name,
	};
	return ioctl(fd, QUERY_MAPPING, q) ? -errno : 0;
}

/* Returns the file mapping below a mapping that begins where `last` ends; NULL: none. */
static struct mapping *below_of(const struct mapping *last)
{
	const struct mapping *from = mapping_is_memory(last) ? last->below : last;
	struct mapping *below = from && from->ino ? mem_zalloc(1, sizeof(*below)) : NULL;

	if (!below)
		return NULL;
	*below = *from;
	below->path = mem_strdup(from->path);
	return below;
}

/* Finds the file mapping right below. Queries without the name first: most memory has no file. */
static struct mapping *find_below(int fd, const struct mapping *last, uint64_t start)
{
	struct mapping *below;
	char name[PATH_MAX];
	struct query q;

	if (last && last->end == start)
		return below_of(last);
	if (ask(fd, start - 1, 0, &q, NULL) || !q.ino || ask(fd, start - 1, 0, &q, name))
		return NULL;
	below = mem_zalloc(1, sizeof(*below));
	*below = as_mapping(&q, name);
	return below;
}

static void append_vsyscall(struct list *list)
{
	append(list, &(struct mapping){
			     .start = VSYSCALL_START,
			     .end = VSYSCALL_START + VSYSCALL_BYTES,
			     .path = mem_strdup("[vsyscall]"),
		     });
}

/*
 * Queries all executable mappings. 0; -ESRCH: the process has no memory, or none any more; other
 * errors: the text must be read (-ENOTTY before Linux 6.11).
 */
static int ask_for_all(struct mappings *maps, int fd)
{
	struct list list = { maps, 0 };
	char name[PATH_MAX];
	struct query q;
	uint64_t addr = 0;
	int err;

	memset(maps, 0, sizeof(*maps));
	while (!(err = ask(fd, addr, QUERY_EXECUTABLE | QUERY_OR_NEXT, &q, name)) && q.end > addr) {
		struct mapping m = as_mapping(&q, name);

		if (mapping_is_memory(&m))
			m.below = find_below(fd, maps->count ? &maps->items[maps->count - 1] : NULL,
					     m.start);
		append(&list, &m);
		addr = q.end;
	}
	if (err != -ENOENT) {
		mappings_free(maps);
		return err ? err : -EINVAL;
	}
	if (maps->count && elf64_own_machine() == EM_X86_64)
		append_vsyscall(&list);
	return 0;
}

/* ---- mappings of a process ---- */

static int read_lines(struct mappings *maps, int fd, bool is_code_only)
{
	char *text = readfile_fd(fd, MAPS_MAX_BYTES, NULL);

	if (!text)
		return -errno;
	mappings_parse(maps, text, is_code_only);
	free(text);
	return 0;
}

static int read_open(struct mappings *maps, int fd, bool is_code_only)
{
	int err = is_code_only ? ask_for_all(maps, fd) : -ENOTTY;

	return !err || err == -ESRCH ? 0 : read_lines(maps, fd, is_code_only);
}

static int read_task(struct mappings *maps, pid_t pid, bool is_code_only)
{
	char path[32];
	int fd, err;

	memset(maps, 0, sizeof(*maps));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_open(maps, fd, is_code_only);
	close(fd);
	return err;
}

/* Reads a live thread's mappings if the main thread has exited: /proc/PID then has none. */
static int read_process(struct mappings *maps, pid_t pid, bool is_code_only)
{
	int err = read_task(maps, pid, is_code_only);
	pid_t live = !err && !maps->count ? process_live_task(pid) : pid;

	return live == pid ? err : read_task(maps, live, is_code_only);
}

int mappings_read(struct mappings *maps, pid_t pid)
{
	return read_process(maps, pid, true);
}

int mappings_read_all(struct mappings *maps, pid_t pid)
{
	return read_process(maps, pid, false);
}

const struct mapping *mappings_find(const struct mappings *maps, uint64_t addr)
{
	size_t i = SEARCH_RANK(maps->items, maps->count, end, addr);

	return i < maps->count && maps->items[i].start <= addr ? &maps->items[i] : NULL;
}
