/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DISKS_H
#define DISKS_H

#include <stdint.h>

/* A disk or partition. All zero: none. */
struct disk {
	uint32_t number;  /* the kernel's device number */
	const char *name; /* as on the command line; borrowed */
};

/* An opt_parse_fn: finds the device with this name ("sda1", "/dev/sda1"; dest: struct disk). */
int disks_parse(const char *what, const char *text, void *dest);

/* Checks that BPF sees requests of the device. 0 or -EINVAL, printed. */
int disks_require_requests(const struct disk *disk);

#endif
