/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal as a screen that is redrawn, with the control sequences of ECMA-48 and xterm that
 * every terminal of today knows, the kernel's console too. The former contents return at the end,
 * however the process ends itself.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* True where standard output is a terminal. */
bool screen_is_there(void);

/* Delivers keys one by one from now on, without echo. False: standard input is not a terminal. */
bool screen_take_keys(void);

/* Shows as much of the text as fits, from its top; opens the screen the first time. */
void screen_draw(const char *text);
unsigned int screen_rows(void);
unsigned int screen_columns(void);

/*
 * Returns how many bytes of a line fit into N columns: letters of UTF-8 take one each, and a number
 * that doesn't fit is dropped as a whole.
 */
size_t screen_fit(const char *line, size_t length, unsigned int columns);

/* Restores the terminal, until the next screen_draw() or screen_take_keys(). Safe at any time. */
void screen_close(void);

#endif
