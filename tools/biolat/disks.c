// SPDX-License-Identifier: GPL-2.0-only
/* Disks and partitions on the command line; see disks.h. */
#include <stdbool.h>
#include <stdint.h>
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

/* Returns true if the device's sysfs folder has the file; ".." in a partition's is the disk's. */
static bool has_file(unsigned int major_number, unsigned int minor_number, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major_number, minor_number, name);
	return !access(path, F_OK);
}

/* Returns true if the disk, or the partition's disk, has requests: stacked devices have none. */
static bool has_requests(unsigned int major_number, unsigned int minor_number)
{
	return has_file(major_number, minor_number, "mq") ||
	       has_file(major_number, minor_number, "../mq");
}

/* Returns true for a partition without statistics: its requests don't refer to it. */
static bool is_unknown_partition(unsigned int major_number, unsigned int minor_number)
{
	char path[64], *text;
	bool is_off;

	if (!has_file(major_number, minor_number, "partition"))
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/iostats", major_number,
		 minor_number);
	text = readfile(path, sizeof(path), NULL);
	is_off = text && *text == '0';
	free(text);
	return is_off;
}

int disks_parse(const char *what, const char *text, void *dest)
{
	unsigned int major_number, minor_number;

	if (!read_device(text, &major_number, &minor_number))
		return msg_error("%s %s: no such block device", what, text);
	if (!has_requests(major_number, minor_number))
		return msg_error(
			"%s %s: has no requests of its own (use a disk below it, see lsblk)", what,
			text);
	if (is_unknown_partition(major_number, minor_number))
		return msg_error(
			"%s %s: partition unknown while statistics are off (write 1 to the "
			"disk's queue/iostats)",
			what, text);
	*(uint32_t *)dest = major_number << KERNEL_MINOR_BITS | minor_number;
	return 0;
}
