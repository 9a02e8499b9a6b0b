/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that can't be read because of a limit or a broken disk: symbols or tables are missing that
 * should be there, which is reported once. Other missing files are not failures.
 */
#ifndef UNREADABLE_H
#define UNREADABLE_H

/* err: the -errno of opening or reading. */
void unreadable_report(int err);

#endif
