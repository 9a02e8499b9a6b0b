/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares maps of n elements; a ring buffer has n bytes. */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include "lib/compat.bpf.h"

#define SET_BY_LOADER 1 /* n, if the loader sets it before load */

#define MAP_FIELDS(kind, key_type, value_type, n) \
	__uint(type, BPF_MAP_TYPE_##kind);        \
	__uint(max_entries, n);                   \
	__type(key, key_type);                    \
	__type(value, value_type)

#define MAP_OF(kind, name, key_type, value_type, n)        \
	struct {                                           \
		MAP_FIELDS(kind, key_type, value_type, n); \
	} name SEC(".maps")

#define MAP_ARRAY(name, value_type, n)		MAP_OF(ARRAY, name, __u32, value_type, n)
#define MAP_PERCPU_ARRAY(name, value_type, n)	MAP_OF(PERCPU_ARRAY, name, __u32, value_type, n)
#define MAP_HASH(name, key_type, value_type, n) MAP_OF(HASH, name, key_type, value_type, n)
#define MAP_LRU(name, key_type, value_type, n)	MAP_OF(LRU_HASH, name, key_type, value_type, n)

/* An array that the loader maps into its memory. */
#define MAP_SHARED_ARRAY(name, value_type, n)            \
	struct {                                         \
		MAP_FIELDS(ARRAY, __u32, value_type, n); \
		__uint(map_flags, BPF_F_MMAPABLE);       \
	} name SEC(".maps")

#define MAP_RINGBUF(name, n)                        \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, n);             \
	} name SEC(".maps")

#endif
