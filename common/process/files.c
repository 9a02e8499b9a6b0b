// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of files; see files.h. Device and inode don't identify a file for long: inode numbers
 * are reused as soon as a file is gone, and files are overwritten in place. So an entry is reused
 * only if its file is still open and has not changed, or has the same size and times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/epoch.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/msg.h"
#include "process/files.h"
#include "process/mapfile.h"
#include "process/roots.h"

#define VDSO_MAX_BYTES	 (64u << 10)
#define COPIES_BYTES	 (64u << 20)
#define TRY_AGAIN_NS	 (10 * NS_PER_S)
#define EPOCHS_EXPENSIVE 40 /* epochs of retention of a file that is expensive to read */
#define MANY		 256

struct files {
	struct hashtable table; /* hashed by device and inode */
	uint64_t last_serial;
	bool is_limit_reported;
	uint64_t copies_bytes;
	struct cache_age age;
};

/* Raises the soft limit, usually 1024, since each file takes a descriptor. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct files *files_new(void)
{
	raise_file_limit();
	return mem_zalloc(1, sizeof(struct files));
}

static void free_file(struct hashlink *link)
{
	struct file *file = container_of(link, struct file, link);

	for (size_t i = 0; i < FILE_USERS; i++)
		if (file->parts[i].free)
			file->parts[i].free(file->parts[i].data);
	if (file->fd >= 0)
		close(file->fd);
	if (file->pin_fd >= 0) {
		close(file->pin_fd);
		file->files->copies_bytes -= (uint64_t)file->st.st_size;
	}
	free(file->image);
	free(file->name);
	free(file);
}

void files_free(struct files *files)
{
	if (!files)
		return;
	hashtable_free(&files->table, free_file);
	free(files);
}

size_t file_path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path), m = strlen(deleted);

	return path[0] == '/' && n > m && !strcmp(path + n - m, deleted) ? n - m : n;
}

char *file_base_name(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	const char *base = slash ? slash + 1 : path;

	if (!*base)
		return mem_strdup("[anon]");
	return mem_strndup(base, file_path_length(path) - (size_t)(base - path));
}

/* ---- identity ---- */

static uint64_t hash_inode(dev_t dev, ino_t ino)
{
	return hash_add(hash_add(0, dev), ino);
}

static struct file *next_of(struct hashlink *link, const struct mapping *m)
{
	for (; link; link = hashtable_next(link)) {
		struct file *file = container_of(link, struct file, link);

		if (file->dev == m->dev && file->ino == m->ino)
			return file;
	}
	return NULL;
}

static struct file *first_of(const struct files *files, const struct mapping *m)
{
	return next_of(hashtable_first(&files->table, hash_inode(m->dev, m->ino)), m);
}

#define FOR_EACH_FILE(file, files, m)                      \
	for (struct file *file = first_of(files, m); file; \
	     file = next_of(hashtable_next(&file->link), m))

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Ignores the change time (ctime), which also changes when the file gets or loses a name. */
bool file_has_contents_of(int fd, const struct stat *st)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_size == st->st_size &&
	       is_same_time(&now.st_mtim, &st->st_mtim);
}

bool file_is_unchanged(const struct file *file)
{
	return file->pin_fd >= 0 || file_has_contents_of(file->fd, &file->st);
}

bool file_is_untouched(const struct file *file)
{
	struct stat st;

	return !fstat(file->fd, &st) && st.st_size == file->st.st_size &&
	       is_same_time(&st.st_mtim, &file->st.st_mtim) &&
	       (is_same_time(&st.st_ctim, &file->st.st_ctim) || st.st_nlink != file->st.st_nlink);
}

/* Returns the mapping's open file, whose inode number can't have been reused; NULL: none. */
static struct file *find_open(const struct files *files, const struct mapping *m)
{
	FOR_EACH_FILE(file, files, m)
	if (file->fd >= 0 && !file->is_elsewhere && file_is_untouched(file))
		return file;
	return NULL;
}

bool file_is_same_version(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

static struct file *find_version(const struct files *files, const struct mapping *m,
				 const struct stat *st)
{
	FOR_EACH_FILE(file, files, m)
	if (file_is_same_version(&file->st, st))
		return file;
	return NULL;
}

static struct file *add_file(struct files *files, const struct mapping *m, const struct stat *st)
{
	struct file *file = mem_zalloc(1, sizeof(*file));

	file->files = files;
	file->serial = ++files->last_serial;
	file->dev = m->dev;
	file->ino = m->ino;
	file->name = file_base_name(m->path);
	file->st = *st;
	file->fd = file->pin_fd = -1;
	hashtable_add(&files->table, &file->link, hash_inode(m->dev, m->ino));
	return file;
}

/* ---- files on disk ---- */

/*
 * Returns the one entry for files of that inode and name that can't be opened: their contents are
 * unknown.
 */
static struct file *get_unopened(struct files *files, const struct mapping *m)
{
	static const struct stat never;
	struct file *found = NULL;
	char *name = file_base_name(m->path);

	FOR_EACH_FILE(file, files, m)
	if (!file->st.st_mode && !strcmp(file->name, name))
		found = file;
	free(name);
	return found ? found : add_file(files, m, &never);
}

static void report_limit(struct files *files, int err)
{
	if ((err != -EMFILE && err != -ENFILE) || files->is_limit_reported)
		return;
	files->is_limit_reported = true;
	msg_warn("symbols: too many open files, some functions have no names (raise ulimit -n)");
}

static void read_segments(struct file *file)
{
	file->is_elf = !elfsegs_read_elf(&file->segs, &file->elf);
}

/* Takes ownership of fd. */
static void open_elf(struct file *file, int fd)
{
	file->fd = fd;
	file->open_error = 0;
	if (!elf64_open(&file->elf, fd))
		read_segments(file);
}

static struct file *get_opened(struct files *files, const struct mapping *m, const struct stat *st,
			       int path_fd)
{
	struct file *file = find_version(files, m, st);
	int fd = file && file->fd >= 0 ? file->fd : root_reopen(path_fd);

	if (fd < 0) {
		report_limit(files, fd);
		file = file ? file : get_unopened(files, m);
		file->open_error = fd;
		return file;
	}
	if (!file)
		file = add_file(files, m, st);
	file->is_elsewhere = st->st_dev != m->dev || st->st_ino != m->ino;
	if (file->fd < 0)
		open_elf(file, fd);
	return file;
}

/* Copies a file that the process may read, but the tracer may not. */
static struct file *get_copy(struct files *files, pid_t pid, const struct mapping *m)
{
	struct file *file = get_unopened(files, m);
	struct stat st;
	int pin_fd, fd;

	if (file->tried_ns && clock_now_ns() - file->tried_ns < TRY_AGAIN_NS)
		return file;
	fd = mapfile_copy(pid, m, COPIES_BYTES - files->copies_bytes, &st, &pin_fd);
	if (fd < 0) {
		file->tried_ns = clock_now_ns(); /* after the attempt, which may have taken long */
		file->open_error = fd;
		return file;
	}
	file->tried_ns = 0;
	file = add_file(files, m, &st);
	file->pin_fd = pin_fd;
	files->copies_bytes += (uint64_t)st.st_size;
	open_elf(file, fd);
	return file;
}

static struct file *get_regular(struct files *files, pid_t pid, const struct mapping *m,
				const struct timespec *read_time)
{
	struct file *file = find_open(files, m);
	struct stat st;
	int path_fd;

	if (file)
		return file;
	path_fd = mapfile_open(pid, m, read_time, &st);
	if (path_fd == -EACCES)
		return get_copy(files, pid, m);
	if (path_fd < 0) {
		report_limit(files, path_fd);
		file = get_unopened(files, m);
		file->open_error = path_fd;
		return file;
	}
	file = get_opened(files, m, &st, path_fd);
	close(path_fd);
	return file;
}

/* ---- the vdso ---- */

/* Finds a vdso with these contents; image NULL: any vdso of 64-bit programs of that size. */
static struct file *find_image(const struct files *files, const struct mapping *m,
			       const void *image, size_t bytes)
{
	FOR_EACH_FILE(file, files, m)
	if (file->image && file->elf.size == bytes &&
	    (image ? !memcmp(file->image, image, bytes) : file->is_native_image))
		return file;
	return NULL;
}

/* Returns true for the vdso of a 64-bit program; 32-bit programs have nothing above 4 GiB. */
static bool is_native_vdso(const struct mapping *m)
{
	return m->start > UINT32_MAX;
}

/* Takes ownership of image. */
static struct file *add_image(struct files *files, const struct mapping *m, void *image,
			      size_t bytes)
{
	const struct stat st = { .st_mode = S_IFREG, .st_size = (off_t)bytes };
	struct file *file = add_file(files, m, &st);

	file->image = image;
	file->is_native_image = is_native_vdso(m);
	if (!elf64_open_image(&file->elf, image, bytes))
		read_segments(file);
	file->elf.size = bytes;
	return file;
}

static struct file *read_vdso(struct files *files, pid_t pid, const struct mapping *m)
{
	size_t bytes = m->end - m->start;
	void *image = bytes <= VDSO_MAX_BYTES ? mem_zalloc(1, bytes) : NULL;
	struct file *file;

	if (!image || mapfile_read_vdso(pid, m, image)) {
		free(image);
		return get_unopened(files, m);
	}
	file = find_image(files, m, image, bytes);
	if (!file)
		return add_image(files, m, image, bytes);
	free(image);
	return file;
}

/* Returns the vdso. All 64-bit programs have the same one, so it is read once. */
static struct file *get_vdso(struct files *files, pid_t pid, const struct mapping *m)
{
	struct file *file = NULL;

	if (is_native_vdso(m))
		file = find_image(files, m, NULL, m->end - m->start);
	return file ? file : read_vdso(files, pid, m);
}

/* Returns true for JIT code: .NET and Erlang use memfds to avoid writable executable mappings. */
static bool is_code_in_memfd(const struct file *file, const char *path)
{
	return !file->is_elf && !strncmp(path, "/memfd:", strlen("/memfd:"));
}

struct file *files_get(struct files *files, pid_t pid, const struct mapping *m,
		       const struct timespec *read_time)
{
	struct file *file;

	if (!m->ino)
		return strcmp(m->path, "[vdso]") ? NULL : get_vdso(files, pid, m);
	if (mapping_is_memory(m))
		return NULL;
	file = get_regular(files, pid, m, read_time);
	file->used = files->age.epoch;
	return is_code_in_memfd(file, m->path) ? NULL : file;
}

static bool is_expensive(const struct file *file)
{
	for (size_t i = 0; i < FILE_USERS; i++)
		if (file->parts[i].is_expensive)
			return true;
	return false;
}

static bool lets_go(const struct cache_age *age, const struct file *file)
{
	if (file->parts[FILE_SYMBOLS].data)
		return false;
	if (is_expensive(file) && !age->is_full)
		return age->epoch - file->used >= EPOCHS_EXPENSIVE;
	return cache_lets_go(age, file->used);
}

static void age_file(struct files *files, struct file *file)
{
	if (file->n_users || file->image)
		file->used = files->age.epoch;
	else if (lets_go(&files->age, file)) {
		for (size_t i = 0; i < FILE_USERS; i++)
			if (file->parts[i].release)
				file->parts[i].release(file->parts[i].data);
		hashtable_remove(&files->table, &file->link);
		free_file(&file->link);
	}
}

void files_age(struct files *files, uint32_t epoch)
{
	cache_begin_age(&files->age, epoch, cache_is_full(&files->age, files->table.count, MANY));
	for_each_element(struct file, file, next, link, &files->table)
		age_file(files, file);
	cache_end_age(&files->age, files->table.count);
}

bool files_are_many(const struct files *files)
{
	return cache_is_full(&files->age, files->table.count, MANY);
}

size_t files_count(const struct files *files)
{
	return files->table.count;
}
