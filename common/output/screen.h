/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal as a screen that is drawn again and again, with the control sequences of ECMA-48 and
 * xterm that every terminal of today knows, the kernel's console too. What was on it comes back at
 * the end, however the process ends itself.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* True where standard output is a terminal. */
bool screen_is_there(void);

/* Keys come one by one from now on, unseen. False: standard input is no terminal. */
bool screen_take_keys(void);

/* Shows the text from the top on, as much of it as has room; opens the screen the first time. */
void screen_draw(const char *text);
unsigned int screen_rows(void);
unsigned int screen_columns(void);

/*
 * How many bytes of a line are shown in so many columns: letters of UTF-8 take one each, and a
 * number that doesn't fit is left out as a whole.
 */
size_t screen_fit(const char *line, size_t length, unsigned int columns);

/* Gives all back, until the next screen_draw() or screen_take_keys(). Safe at any time. */
void screen_close(void);

#endif
