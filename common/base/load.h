/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads little-endian numbers from bytes at any address. */
#ifndef LOAD_H
#define LOAD_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const void *bytes)
{
	uint16_t number;

	memcpy(&number, bytes, sizeof(number));
	return le16toh(number);
}

static inline uint32_t load_u32(const void *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return le32toh(number);
}

static inline uint64_t load_u64(const void *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return le64toh(number);
}

#endif
