/* SPDX-License-Identifier: GPL-2.0-only */
/* What the running kernel offers to the tools: "tracelets check". */
#ifndef OFFERS_H
#define OFFERS_H

#include <stdio.h>

/*
 * Tries every feature that some tool uses, by loading a program or making a map, an event or a
 * probe that does nothing, and prints a table of them. Returns 0, or -ENOENT if something that all
 * tools need is missing, -EPERM if that can't be told without more capabilities.
 */
int offers_print(FILE *f);

#endif
