/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DISKS_H
#define DISKS_H

/*
 * An opt_parse_fn: converts a disk or partition with requests ("sda1", "/dev/sda1") into the
 * kernel's device number (dest: uint32_t).
 */
int disks_parse(const char *what, const char *text, void *dest);

#endif
