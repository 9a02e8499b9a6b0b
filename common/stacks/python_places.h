/* SPDX-License-Identifier: GPL-2.0-only */
/* Python frames (bpf/abi/python.h) among the places of a stack. */
#ifndef PYTHON_PLACES_H
#define PYTHON_PLACES_H

#include "abi/stack.h"
#include "runtimes/python_codes.h"
#include "stacks/place.h"

/* How many of a stack's words are native ones: these come first. */
uint32_t python_places_native(const struct stack_def *def);

/*
 * Replaces native frames that run Python functions by the Python frames of the stack. Locations of
 * the native frames are given, leaf first. out has space for as many locations as the stack has
 * words. Returns how many there are.
 */
uint32_t python_places_merge(const struct python_codes *codes, const struct stack_def *def,
			     const struct place *native, struct place *out);

#endif
