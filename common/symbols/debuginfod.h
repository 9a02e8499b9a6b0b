/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug files by build-id from elfutils' debuginfod: debuginfod-client-config(7). */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file in the client's cache, open for reading; or -errno. */
int debuginfod_open_cached(const uint8_t *id, size_t bytes);

/*
 * Asks the servers of DEBUGINFOD_URLS; -ENOENT where none are set, or none has it. They are not
 * waited for when a signal is pending that ends a run, nor for long when nothing comes from them:
 * then they are not asked for some minutes, which is said once.
 */
int debuginfod_download(const uint8_t *id, size_t bytes);

/* No answer is needed any more, neither to what another thread asks now nor to what comes later. */
void debuginfod_stop(void);

/*
 * True if this was called with that build-id before. Servers are not asked twice, as each question
 * takes long where none answers; but after thousands of others, all are forgotten.
 */
bool debuginfod_was_asked(const uint8_t *id, size_t bytes);

#endif
