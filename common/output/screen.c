// SPDX-License-Identifier: GPL-2.0-only
/* The screen; see screen.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "output/screen.h"

/* Switches to the alternate screen, hides the cursor and turns line wrapping off. */
#define OPEN_SCREEN  "\033[?1049h\033[?25l\033[?7l"
#define CLOSE_SCREEN "\033[?7h\033[?25h\033[?1049l"
#define HOME	     "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_BELOW  "\033[J"

#define USUAL_ROWS    24
#define USUAL_COLUMNS 80

/* State of the one terminal, which is restored also at exit (atexit(3)). */
static struct {
	bool is_open, has_keys, closes_at_exit;
	struct termios usual_keys;
} screen;

static void close_at_exit(void)
{
	if (!screen.closes_at_exit)
		atexit(screen_close);
	screen.closes_at_exit = true;
}

bool screen_is_there(void)
{
	return isatty(STDOUT_FILENO);
}

bool screen_take_keys(void)
{
	struct termios keys;

	if (tcgetattr(STDIN_FILENO, &screen.usual_keys))
		return false;
	keys = screen.usual_keys;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	keys.c_cc[VQUIT] = _POSIX_VDISABLE; /* SIGQUIT would not restore the screen */
	close_at_exit();
	screen.has_keys = !tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	return screen.has_keys;
}

static struct winsize read_size(void)
{
	struct winsize size = {};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return size;
}

unsigned int screen_rows(void)
{
	struct winsize size = read_size();

	return size.ws_row ? size.ws_row : USUAL_ROWS;
}

unsigned int screen_columns(void)
{
	struct winsize size = read_size();

	return size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

/* Returns true for a character's first byte; bytes 10xxxxxx continue a character (RFC 3629, 3). */
static bool begins_letter(char byte)
{
	return (byte & 0xc0) != 0x80;
}

size_t screen_fit(const char *line, size_t length, unsigned int columns)
{
	size_t end = 0, word;

	for (; end < length && (columns || !begins_letter(line[end])); end++)
		columns -= begins_letter(line[end]);
	if (end == length || line[end] == ' ')
		return end;
	for (word = end; word && line[word - 1] != ' '; word--)
		;
	return isdigit((unsigned char)line[word]) ? word : end;
}

/* Clears each row before writing it: afterwards, the cursor may be on the row's last character. */
void screen_draw(const char *text)
{
	unsigned int rows = screen_rows(), columns = screen_columns();

	if (!screen.is_open) {
		close_at_exit();
		screen.is_open = true;
		fputs(OPEN_SCREEN, stdout);
	}
	fputs(HOME, stdout);
	for (; *text && rows > 0; rows--) {
		size_t length = strcspn(text, "\n");

		printf(CLEAR_LINE "%.*s%s", (int)screen_fit(text, length, columns), text,
		       rows > 1 ? "\n" : "");
		text += length + (text[length] == '\n');
	}
	if (rows)
		fputs(CLEAR_BELOW, stdout);
	fflush(stdout);
}

void screen_close(void)
{
	if (screen.has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen.usual_keys);
	screen.has_keys = false;
	if (!screen.is_open)
		return;
	screen.is_open = false;
	fputs(CLOSE_SCREEN, stdout);
	fflush(stdout);
}
