/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints messages on stderr: "runqlat: subject: problem (remedy)". The function that detects a
 * failure prints it, once, and returns a negative errno.
 */
#ifndef MSG_H
#define MSG_H

#include <stdbool.h>

extern bool msg_verbose; /* -v: msg_debug() prints */
extern bool msg_quiet;	 /* --quiet: msg_info() doesn't print */

/* Sets the name that starts each line (borrowed; must stay valid). */
void msg_set_name(const char *name);

/* Prints a failure. Returns -EINVAL, so that a parser can return msg_error(...). */
int msg_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints a failure with its errno's text appended, and a hint if a limit was reached (limits.h).
 * Returns err, a negative errno.
 */
int msg_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints a hint, after msg_errno(), if a sysctl may have refused perf_event_open(2). */
void msg_hint_of_perf(int err);

/* Prints a warning: something is missing or lost, but the run continues. */
void msg_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints the remedy for the failure just printed: "hint: ...". */
void msg_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints, except with --quiet. */
void msg_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints only with --verbose. */
void msg_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
