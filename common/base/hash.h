/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hashes word by word, for tables in memory: a multiplication by 2^64 over the golden ratio, and a
 * shift that moves the well mixed high bits down.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

static inline uint64_t hash_pid(pid_t pid)
{
	return hash_add(0, (uint64_t)pid);
}

static inline uint64_t hash_words(const uint64_t *words, size_t n)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++)
		hash = hash_add(hash, words[i]);
	return hash;
}

/* Returns the FNV-1a hash of n bytes: http://www.isthe.com/chongo/tech/comp/fnv/ */
static inline uint64_t hash_bytes(const void *data, size_t n)
{
	const unsigned char *bytes = data;
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

static inline uint64_t hash_text(const char *s)
{
	return hash_bytes(s, strlen(s));
}

#endif
