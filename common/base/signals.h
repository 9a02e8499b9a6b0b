/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The signals that end a run: SIGINT, SIGTERM and, unless nohup(1) has it ignored, SIGHUP. One that
 * comes makes a descriptor readable. If nobody has noticed it when another comes a second later or
 * more, as where a write blocks since nobody reads, that one ends the process as if it were not
 * caught. timeout(1) sends each twice, at once.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* From now on. A descriptor that can be read when one has come, or -1 with errno. */
int signals_catch(void);

/* What came has been noticed. */
void signals_take(void);

/* Whether one has come that was not taken, for who waits for long elsewhere. In any thread. */
bool signals_are_pending(void);

/* In a child that becomes another program: as it was before. */
void signals_restore(void);

#endif
