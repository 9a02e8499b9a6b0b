// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the BPF maps that this process holds open, as reported by the kernel, and the process's
 * anonymous memory (Pss_Anon in proc(5)).
 */
#include <ctype.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/readfile.h"
#include "run/footprint.h"

#define FILE_MAX_BYTES 4096

/* Returns the number after a word at the beginning of a line; 0: not found. */
static uint64_t find_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at && (at == text || at[-1] == '\n') ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint64_t map_bytes(const char *fd)
{
	char path[64], *text;
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.16s", fd);
	text = readfile(path, FILE_MAX_BYTES, NULL);
	if (text && find_number(text, "map_id:"))
		bytes = find_number(text, "memlock:");
	free(text);
	return bytes;
}

static uint64_t all_maps_bytes(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			bytes += map_bytes(entry->d_name);
	if (dir)
		closedir(dir);
	return bytes;
}

/* Returns the anonymous memory, which excludes files and BPF maps. */
static uint64_t own_bytes(void)
{
	char *text = readfile("/proc/self/smaps_rollup", FILE_MAX_BYTES, NULL);
	uint64_t kb = text ? find_number(text, "Pss_Anon:") : 0;

	free(text);
	return kb << 10;
}

void footprint_print(const char *when)
{
	double maps, own;

	if (!msg_verbose)
		return;
	maps = (double)all_maps_bytes() / (1 << 20);
	own = (double)own_bytes() / (1 << 20);
	msg_debug("memory %s: BPF maps %.1f MB, loader %.1f MB, total %.1f MB", when, maps, own,
		  maps + own);
}
