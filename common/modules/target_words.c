// SPDX-License-Identifier: GPL-2.0-only
/* Completion of what is traced; see target_words.h. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/readfile.h"
#include "modules/target_words.h"
#include "process/cgroups.h"
#include "process/procstate.h"
#include "run/words.h"

#define CMDLINE_MAX_BYTES (4 << 20) /* what the kernel lets a command line have, at most */

/* ---- tasks ---- */

/* Calls visit for each folder of that one whose name is a number. */
static void visit_numbers(const char *folder,
			  void (*visit)(const char *number, struct words *words),
			  struct words *words)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			visit(entry->d_name, words);
	if (dir)
		closedir(dir);
}

/* Its arguments with blanks between. NULL: it has none, as the kernel's threads. To be freed. */
static char *read_command(const char *pid)
{
	char *path = mem_printf("/proc/%s/cmdline", pid);
	size_t n = 0;
	char *text = readfile(path, CMDLINE_MAX_BYTES, &n);

	free(path);
	for (size_t i = 0; text && i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	if (text && !*text) {
		free(text);
		text = NULL;
	}
	return text;
}

static void add_process(const char *pid, struct words *words)
{
	char *command = read_command(pid);

	if (command)
		words_add(words, pid, command);
	free(command);
}

static void add_thread(const char *tid, struct words *words)
{
	char comm[64];

	if (!process_comm((pid_t)atoi(tid), comm, sizeof(comm)))
		words_add(words, tid, comm);
}

static void add_name(const char *tid, struct words *words)
{
	char comm[64];

	if (!process_comm((pid_t)atoi(tid), comm, sizeof(comm)))
		words_add(words, comm, NULL);
}

static void add_threads(const char *pid, struct words *words)
{
	char *folder = mem_printf("/proc/%s/task", pid);

	visit_numbers(folder, add_thread, words);
	free(folder);
}

static void add_names(const char *pid, struct words *words)
{
	char *folder = mem_printf("/proc/%s/task", pid);

	visit_numbers(folder, add_name, words);
	free(folder);
}

void target_words_pids(const void *values, struct words *words)
{
	(void)values;
	visit_numbers("/proc", add_process, words);
}

void target_words_tids(const void *values, struct words *words)
{
	(void)values;
	visit_numbers("/proc", add_threads, words);
}

void target_words_comms(const void *values, struct words *words)
{
	(void)values;
	visit_numbers("/proc", add_names, words);
}

/* ---- cgroups ---- */

static void visit_cgroups(void (*visit)(const struct cgroup *cgroup, void *words),
			  struct words *words)
{
	struct cgroups *cgroups = cgroups_new(false);

	cgroups_visit(cgroups, visit, words);
	cgroups_free(cgroups);
}

static void add_cgroup(const struct cgroup *cgroup, void *words)
{
	char *path = mem_printf("%s%s", cgroups_root(), cgroup->path);

	words_add(words, path, NULL);
	free(path);
}

static void add_container(const struct cgroup *cgroup, void *words)
{
	words_add(words, cgroup->container.id, cgroup->container.runtime);
}

static void add_unit(const struct cgroup *cgroup, void *words)
{
	words_add(words, cgroup->container.unit, NULL);
}

void target_words_cgroups(const void *values, struct words *words)
{
	(void)values;
	visit_cgroups(add_cgroup, words);
}

void target_words_containers(const void *values, struct words *words)
{
	(void)values;
	visit_cgroups(add_container, words);
}

void target_words_units(const void *values, struct words *words)
{
	(void)values;
	visit_cgroups(add_unit, words);
}
