/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal as a screen that is redrawn, by control sequences of ECMA-48 and xterm that all
 * current terminals support, including the kernel's console. Its previous contents are restored
 * when the process calls exit(3) or screen_close().
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if standard output is a terminal. */
bool screen_is_there(void);

/* Makes the terminal deliver keys at once, without echo. False: stdin is not a terminal. */
bool screen_take_keys(void);

/* Shows the beginning of the text, as much as fits; opens the screen at the first call. */
void screen_draw(const char *text);
unsigned int screen_rows(void);
unsigned int screen_columns(void);

/*
 * Returns the number of bytes of a line that fit into the columns. A UTF-8 character takes one
 * column; a word that is a number is cut off as a whole.
 */
size_t screen_fit(const char *line, size_t length, unsigned int columns);

/* Restores the terminal, until the next screen_draw() or screen_take_keys(). Safe at any time. */
void screen_close(void);

#endif
