// SPDX-License-Identifier: GPL-2.0-only
/* Disks and partitions on the command line; see disks.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/msg.h"
#include "base/readfile.h"
#include "biolat/disks.h"

#define KERNEL_MINOR_BITS 20 /* MINORBITS, include/linux/kdev_t.h */

/* Reads the device numbers of a name, from sysfs ("8:1"), or of a device file's path. */
static bool read_device(const char *name, unsigned int *major_number, unsigned int *minor_number)
{
	char path[256], *text;
	struct stat st;
	bool is_found;

	if (*name == '/') {
		if (stat(name, &st) || !S_ISBLK(st.st_mode))
			return false;
		*major_number = major(st.st_rdev);
		*minor_number = minor(st.st_rdev);
		return true;
	}
	snprintf(path, sizeof(path), "/sys/class/block/%s/dev", name);
	text = readfile(path, 64, NULL);
	is_found = text && sscanf(text, "%u:%u", major_number, minor_number) == 2;
	free(text);
	return is_found;
}

/* Sets the path of a file in the device's sysfs folder; a partition's ".." is the disk's folder. */
static const char *path_of(const struct disk *disk, const char *name, char path[64])
{
	snprintf(path, 64, "/sys/dev/block/%u:%u/%s", disk->number >> KERNEL_MINOR_BITS,
		 disk->number & ((1U << KERNEL_MINOR_BITS) - 1), name);
	return path;
}

static bool has_file(const struct disk *disk, const char *name)
{
	char path[64];

	return !access(path_of(disk, name, path), F_OK);
}

/* Returns true for a partition without statistics: its requests don't refer to it. */
static bool is_unknown_partition(const struct disk *disk)
{
	char path[64], *text;
	bool is_off;

	if (!has_file(disk, "partition"))
		return false;
	text = readfile(path_of(disk, "../queue/iostats", path), sizeof(path), NULL);
	is_off = text && *text == '0';
	free(text);
	return is_off;
}

int disks_parse(const char *what, const char *text, void *dest)
{
	unsigned int major_number, minor_number;

	if (!read_device(text, &major_number, &minor_number))
		return msg_error("%s %s: no such block device", what, text);
	*(struct disk *)dest =
		(struct disk){ major_number << KERNEL_MINOR_BITS | minor_number, text };
	return 0;
}

int disks_require_requests(const struct disk *disk)
{
	if (disk->number && !has_file(disk, "mq") && !has_file(disk, "../mq"))
		return msg_error("-d %s: has no requests of its own (use --layer top, or a disk "
				 "below it, see lsblk)",
				 disk->name);
	if (disk->number && is_unknown_partition(disk))
		return msg_error("-d %s: partition unknown while statistics are off (write 1 to "
				 "the disk's queue/iostats, or use --layer top)",
				 disk->name);
	return 0;
}
