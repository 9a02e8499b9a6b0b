// SPDX-License-Identifier: GPL-2.0-only
/*
 * mapper PROCESSES FILES: so many processes, each of which maps the text of some of so many files,
 * as if it had loaded these libraries: each file is mapped by someone. Tells how many files there
 * were.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../tests/work/work.h"

#define FOLDER	      "/usr/lib/x86_64-linux-gnu"
#define MAX_FILES     4096
#define MAX_PROCESSES 1024
#define MAX_SEGMENTS  32

static int files[MAX_FILES], n_files;
static pid_t pids[MAX_PROCESSES];

/* Counts the executable segments of a file, and maps them. */
static int find_text(int fd, bool map)
{
	Elf64_Phdr segments[MAX_SEGMENTS];
	int n_found = 0;
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_phnum > MAX_SEGMENTS)
		return 0;
	if (pread(fd, segments, header.e_phnum * sizeof(*segments), (off_t)header.e_phoff) < 0)
		return 0;
	for (int i = 0; i < header.e_phnum; i++) {
		uint64_t in_page = segments[i].p_vaddr & 4095;

		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		n_found++;
		if (map)
			mmap(NULL, segments[i].p_filesz + in_page, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE, fd, (off_t)(segments[i].p_offset - in_page));
	}
	return n_found;
}

static int is_library(const struct dirent *entry)
{
	return entry->d_type == DT_REG && strstr(entry->d_name, ".so");
}

/* In the order of their names, so that the same are taken each time. */
static void open_files(int wanted)
{
	struct dirent **entries;
	int n = scandir(FOLDER, &entries, is_library, alphasort);

	for (int i = 0; i < n && n_files < wanted && n_files < MAX_FILES; i++) {
		int folder = open(FOLDER, O_RDONLY | O_DIRECTORY);
		int fd = openat(folder, entries[i]->d_name, O_RDONLY | O_CLOEXEC);

		close(folder);
		if (fd >= 0 && find_text(fd, false) > 0)
			files[n_files++] = fd;
		else if (fd >= 0)
			close(fd);
	}
}

static void stay(int index, int n_processes)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = index; i < n_files; i += n_processes)
		find_text(files[i], true);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int n_processes = work_number(argc, argv, 1, 1), wanted = work_number(argc, argv, 2, 1);

	open_files(wanted);
	for (int i = 0; i < n_processes && i < MAX_PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			stay(i, n_processes);
	}
	usleep(300000); /* until all have mapped theirs */
	work_say("files", (uint64_t)n_files);
	work_wait_go();
	work_wait_end();
	for (int i = 0; i < n_processes && i < MAX_PROCESSES; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
