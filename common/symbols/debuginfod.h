/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug files by build-id from elfutils' debuginfod: debuginfod-client-config(7). */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the debug file in the client's cache for reading; returns -errno on failure. */
int debuginfod_open_cached(const uint8_t *id, size_t bytes);

/*
 * Queries the servers of DEBUGINFOD_URLS; -ENOENT if none are set or none has the file. Gives up
 * when a signal that ends the run is pending, or when no data arrives for 5 s: then the servers are
 * disabled for 5 minutes, which is reported once.
 */
int debuginfod_download(const uint8_t *id, size_t bytes);

/*
 * Returns true if this was called with that build-id before. Servers are not asked twice, since a
 * query takes long if none answers; the list is cleared after 4096 ids.
 */
bool debuginfod_was_asked(const uint8_t *id, size_t bytes);

#endif
