/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of Java's methods, as their programmers know them. */
#ifndef HOTSPOT_NAMES_H
#define HOTSPOT_NAMES_H

#include <stddef.h>

/*
 * Joins the names of a class and of a method, as in the class file, to "package.Class.method".
 * Names of hidden classes lose their address. Lengths beyond the arrays of struct hotspot_def mean
 * that a name was cut off, which "..." shows. Freed with free().
 */
char *hotspot_join_name(const char *class_name, size_t class_bytes, const char *method_name,
			size_t method_bytes);

#endif
