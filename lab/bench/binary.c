// SPDX-License-Identifier: GPL-2.0-only
/* Sizes of executables, measured on a copy without symbols; see binary.h. */
#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary.h"

/* An executable that names an interpreter is put together at run time. */
static bool has_interpreter(const char *path)
{
	FILE *f = fopen(path, "re");
	Elf64_Ehdr header = {};
	Elf64_Phdr segment;
	bool found = false;

	if (!f)
		return false;
	if (fread(&header, sizeof(header), 1, f) != 1 || fseek(f, (long)header.e_phoff, SEEK_SET))
		header.e_phnum = 0;
	for (int i = 0; !found && i < header.e_phnum; i++)
		found = fread(&segment, sizeof(segment), 1, f) == 1 && segment.p_type == PT_INTERP;
	fclose(f);
	return found;
}

static int run_strip(const char *path, const char *copy)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execlp("strip", "strip", "-o", copy, path, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

double binary_size_kb(const char *path, bool *is_dynamic)
{
	char copy[] = "/tmp/bench-stripped-XXXXXX";
	int fd = mkstemp(copy);
	struct stat st;
	double kb = NAN;

	*is_dynamic = has_interpreter(path);
	if (fd >= 0 && !run_strip(path, copy) && !stat(copy, &st))
		kb = (double)st.st_size / 1024;
	if (fd >= 0) {
		close(fd);
		unlink(copy);
	}
	return kb;
}
