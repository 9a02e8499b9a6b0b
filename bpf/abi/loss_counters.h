/* SPDX-License-Identifier: GPL-2.0-only */
/* Losses by reason: counted in BPF, reported by run/loss.c in this order. */
#ifndef ABI_LOSS_COUNTERS_H
#define ABI_LOSS_COUNTERS_H

#include "abi/types.h"

/* Number, name in metrics, unit (NULL: the tool's unit), message. */
#define FOR_EACH_LOSS(X)                                                                  \
	X(LOSS_MAP_FULL, "map_full", NULL, "lost: map full")                              \
	X(LOSS_RING_FULL, "ring_full", "events", "lost: ring buffer full")                \
	X(LOSS_NO_ELEMENT, "no_element", "requests",                                      \
	  "lost: table of requests full (raise --entries)")                               \
	X(LOSS_NO_COMPLETION, "no_completion", "requests", "lost: no completion event")   \
	X(LOSS_MANY_BIOS, "many_bios", "requests", "not counted whole: too many bios")    \
	X(LOSS_NO_STATE, "no_state", "threads",                                           \
	  "traced late or not at all: task-storage allocation failed")                    \
	X(LOSS_NO_CALL, "no_call", "calls", "lost: task-storage allocation failed")       \
	X(LOSS_NO_ROOM, "no_room", "processes", "not followed: too many processes alive") \
	X(LOSS_NO_SWITCH, "no_switch", "waits", "lost: no switch-in event")               \
	X(LOSS_NO_SLOT, "no_slot", "stacks", "not taken: too many walks at once")         \
	X(LOSS_NESTED, "nested", "waits",                                                 \
	  "for kernel locks not counted: ended while others were being counted")          \
	X(LOSS_BUSY, "busy", "events", "lost: the same BPF program was already running on that CPU")

#define LOSS_NUMBER(number, name, unit, text) number,

enum loss_reason {
	FOR_EACH_LOSS(LOSS_NUMBER) LOSS_REASONS,
};

struct loss {
	__u64 events;
	__u64 value; /* total of the lost values in the tool's unit; 0 if it has none */
};

#endif
