/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handles the signals that end a run: SIGINT, SIGTERM and, unless nohup(1) ignores it, SIGHUP. A
 * signal makes a descriptor readable. If another signal comes a second or more later while the
 * first is still unacknowledged (a write blocks because its reader sleeps), it ends the process as
 * if uncaught. A second signal within that time is ignored: timeout(1) sends each twice.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/*
 * Starts catching the signals. Returns a descriptor that becomes readable once a signal comes; -1
 * with errno set.
 */
int signals_catch(void);

/* Acknowledges pending signals. */
void signals_take(void);

/*
 * Returns true if a signal is not yet acknowledged. For long waits outside of the loop, in any
 * thread.
 */
bool signals_are_pending(void);

/* Restores the original signal handling, in a child that will execute another program. */
void signals_restore(void);

#endif
