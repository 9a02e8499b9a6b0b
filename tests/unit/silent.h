/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of what is refused: the messages that come with it are expected and not shown. */
#ifndef SILENT_H
#define SILENT_H

#include <fcntl.h>
#include <unistd.h>

/* Returns what restore_stderr() needs. */
static inline int silence_stderr(void)
{
	int saved_fd = dup(STDERR_FILENO), null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null_fd, STDERR_FILENO);
	close(null_fd);
	return saved_fd;
}

static inline void restore_stderr(int saved_fd)
{
	dup2(saved_fd, STDERR_FILENO);
	close(saved_fd);
}

#endif
