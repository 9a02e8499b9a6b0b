/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stddef.h>

/* Returns the struct that contains the member at the given pointer. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
