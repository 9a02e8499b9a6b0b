/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DISKS_H
#define DISKS_H

/*
 * An opt_parse_fn: the kernel's number of a disk or partition ("sda1", "/dev/sda1") that has
 * requests (dest: uint32_t).
 */
int disks_parse(const char *what, const char *text, void *dest);

#endif
