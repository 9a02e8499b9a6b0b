/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes do, told by the kernel without BPF: one software event per CPU that counts nothing
 * and carries fork, exit, exec and executable mappings (perf_event_open(2), PERF_COUNT_SW_DUMMY).
 */
#ifndef SIDEBAND_H
#define SIDEBAND_H

#include <sys/types.h>

#include "base/loop.h"
#include "process/mapslog.h"

struct sideband;

struct sideband_handlers {
	void (*forked)(pid_t parent, pid_t child, void *arg); /* processes, not threads */
	void (*changed)(pid_t pid, void *arg);		      /* executed or mapped code */
	void (*exited)(pid_t pid, void *arg);
	void (*lost)(void *arg);    /* events were lost: look at everything again */
	void (*drained)(void *arg); /* after a batch of events */
	void *arg;
	struct mapslog *log; /* NULL, or where all of it is put down before anybody is called */
};

/*
 * Opens the events on all CPUs that are online. NULL, printed, if that fails. The log is asked to
 * refresh itself from here on, which calls none of the handlers.
 */
struct sideband *sideband_open(const struct sideband_handlers *handlers);
void sideband_close(struct sideband *sb);

/*
 * Reads the events in the loop, a few milliseconds after the first, so that they come in batches.
 */
int sideband_watch(struct sideband *sb, struct loop *loop);

/* Reads what there is now. */
void sideband_read(struct sideband *sb);

#endif
