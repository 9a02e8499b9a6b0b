/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stddef.h>

/* The struct that holds the member which the pointer points to. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
