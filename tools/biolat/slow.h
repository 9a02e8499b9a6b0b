/* SPDX-License-Identifier: GPL-2.0-only */
/* --slower: a line for each slow request, printed when it is completed. */
#ifndef SLOW_H
#define SLOW_H

#include "modules/events.h"

extern const struct events_spec slow_events;

/* Names of the requests' cgroups. */
extern const struct module slow_module;

#endif
