// SPDX-License-Identifier: GPL-2.0-only
/* The screen; see screen.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "output/screen.h"

/* The alternate screen, no cursor, and lines that are cut where they don't fit. */
#define OPEN_SCREEN  "\033[?1049h\033[?25l\033[?7l"
#define CLOSE_SCREEN "\033[?7h\033[?25h\033[?1049l"
#define HOME	     "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_BELOW  "\033[J"

#define USUAL_ROWS 24

static bool is_open, has_keys;
static struct termios usual_keys;

bool screen_is_there(void)
{
	return isatty(STDOUT_FILENO);
}

/* A tool that is stopped would leave the screen as it is: so no key does that. */
bool screen_take_keys(void)
{
	struct termios keys;

	if (tcgetattr(STDIN_FILENO, &usual_keys))
		return false;
	keys = usual_keys;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	keys.c_cc[VSUSP] = keys.c_cc[VQUIT] = _POSIX_VDISABLE;
	atexit(screen_close);
	has_keys = !tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	return has_keys;
}

unsigned int screen_rows(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? USUAL_ROWS : size.ws_row;
}

/* Each row is cleared before it is written: behind it, the cursor may stand on its last letter. */
void screen_draw(const char *text)
{
	unsigned int rows = screen_rows();

	if (!is_open) {
		atexit(screen_close);
		is_open = true;
		fputs(OPEN_SCREEN, stdout);
	}
	fputs(HOME, stdout);
	for (; *text && rows > 0; rows--) {
		size_t length = strcspn(text, "\n");

		printf(CLEAR_LINE "%.*s%s", (int)length, text, rows > 1 ? "\n" : "");
		text += length + (text[length] == '\n');
	}
	if (rows)
		fputs(CLEAR_BELOW, stdout);
	fflush(stdout);
}

void screen_close(void)
{
	if (has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &usual_keys);
	has_keys = false;
	if (!is_open)
		return;
	is_open = false;
	fputs(CLOSE_SCREEN, stdout);
	fflush(stdout);
}
