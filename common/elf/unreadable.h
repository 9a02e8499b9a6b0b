/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports, once, that symbols or tables are missing because a file can't be read, due to a limit or
 * a broken disk. Other missing files are not failures.
 */
#ifndef UNREADABLE_H
#define UNREADABLE_H

/* Reports err, the -errno of opening or reading, if it is such a failure. */
void unreadable_report(int err);

#endif
