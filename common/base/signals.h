/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The signals that end a run: SIGINT, SIGTERM and, unless nohup(1) ignores it, SIGHUP. A signal
 * makes a descriptor readable. If another one comes a second or more later and the first was not
 * taken (a write blocks because its reader sleeps), it ends the process as if it were not caught.
 * timeout(1) sends each twice, at once.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/*
 * Catches the signals from now on. Returns a descriptor that is readable once one has come; -1 with
 * errno.
 */
int signals_catch(void);

/* Acknowledges the signals that came. */
void signals_take(void);

/* Returns true if a signal came that was not taken yet. For long waits elsewhere, in any thread. */
bool signals_are_pending(void);

/* Restores the former handling, in a child that will execute another program. */
void signals_restore(void);

#endif
