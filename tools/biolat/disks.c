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

/* Reads device numbers: of a name from sysfs ("8:1"), of a path from the device file. */
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

/* Returns true if the disk, also of a partition, has requests; stacked devices have none. */
static bool has_requests(unsigned int major_number, unsigned int minor_number)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/mq", major_number, minor_number);
	if (!access(path, F_OK))
		return true;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../mq", major_number, minor_number);
	return !access(path, F_OK);
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
	*(uint32_t *)dest = major_number << KERNEL_MINOR_BITS | minor_number;
	return 0;
}
