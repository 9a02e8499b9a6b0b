// SPDX-License-Identifier: GPL-2.0-only
/* Watching the BPF programs of another process; see programs.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "programs.h"

void programs_init(struct programs *programs)
{
	memset(programs, 0, sizeof(*programs));
	while (!bpf_prog_get_next_id(programs->last_id, &programs->last_id))
		;
}

void programs_close(struct programs *programs)
{
	for (int i = 0; i < programs->count; i++)
		close(programs->items[i].fd);
	programs->count = 0;
}

static void add_program(struct programs *programs, uint32_t id)
{
	struct program *program = &programs->items[programs->count];
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0 || programs->count == PROGRAMS_MAX)
		return;
	*program = (struct program){ .id = id, .fd = fd };
	programs->count++;
}

static void read_counters(struct program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program->fd, &info, &size))
		return;
	program->type = info.type;
	program->run_ns = info.run_time_ns;
	program->n_runs = info.run_cnt;
}

bool programs_poll(struct programs *programs)
{
	int count = programs->count;
	bool is_news;

	while (!bpf_prog_get_next_id(programs->last_id, &programs->last_id))
		add_program(programs, programs->last_id);
	is_news = programs->count > count;
	for (int i = 0; i < programs->count; i++) {
		struct program *program = &programs->items[i];

		if (program->first_run_ns)
			continue;
		read_counters(program);
		if (!program->n_runs)
			continue;
		program->first_run_ns = clock_now_ns();
		is_news = true;
	}
	return is_news;
}

/* The program behind a file descriptor; 0: it is something else. */
static uint32_t fd_program_id(pid_t pid, const char *fd)
{
	char path[320], line[256];
	unsigned int id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!id && fgets(line, sizeof(line), f))
		if (sscanf(line, "prog_id: %u", &id) != 1)
			id = 0;
	fclose(f);
	return id;
}

static void mark_own(struct programs *programs, uint32_t id)
{
	for (int i = 0; i < programs->count; i++)
		if (programs->items[i].id == id)
			programs->items[i].is_own = true;
}

int programs_find_owner(struct programs *programs, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		mark_own(programs, fd_program_id(pid, entry->d_name));
	if (dir)
		closedir(dir);
	for (int i = 0; i < programs->count; i++)
		n += programs->items[i].is_own;
	return n;
}

void programs_mark(struct programs *programs)
{
	for (int i = 0; i < programs->count; i++) {
		struct program *program = &programs->items[i];
		uint64_t run_ns = program->mark_ns, n_runs = program->n_mark_runs;

		read_counters(program);
		program->window_ns = program->run_ns - run_ns;
		program->n_window_runs = program->n_runs - n_runs;
		program->mark_ns = program->run_ns;
		program->n_mark_runs = program->n_runs;
	}
}

const struct program *programs_busiest(const struct programs *programs)
{
	const struct program *best = NULL;

	for (int i = 0; i < programs->count; i++)
		if (programs->items[i].is_own &&
		    (!best || programs->items[i].n_runs > best->n_runs))
			best = &programs->items[i];
	return best;
}

bool child_has_ended(pid_t pid)
{
	siginfo_t info = {};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

int process_perf_events(pid_t pid)
{
	char path[320], target[64];
	struct dirent *entry;
	ssize_t length;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = 0;
		n += !strcmp(target, "anon_inode:[perf_event]");
	}
	if (dir)
		closedir(dir);
	return n;
}

uint64_t process_cpu_ns(pid_t pid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

uint64_t machine_switches(void)
{
	unsigned long long n = 0;
	char line[4096];
	FILE *f = fopen("/proc/stat", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ctxt %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}
