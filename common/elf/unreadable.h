/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that could be read if there were no limit and no broken disk: names or tables are missing
 * then that ought to be there, which is said once. What is missing otherwise is no failure.
 */
#ifndef UNREADABLE_H
#define UNREADABLE_H

/* err: what opening or reading has returned, -errno. */
void unreadable_report(int err);

#endif
