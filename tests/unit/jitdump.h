/* SPDX-License-Identifier: GPL-2.0-only */
/* Jitdumps to be read: their records, one after the other. */
#ifndef TEST_JITDUMP_H
#define TEST_JITDUMP_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct dump_image {
	uint8_t bytes[65536];
	size_t n;
};

static inline void put(struct dump_image *d, const void *what, size_t n)
{
	memcpy(d->bytes + d->n, what, n);
	d->n += n;
}

static inline void put_word(struct dump_image *d, uint64_t word, size_t n)
{
	put(d, &word, n);
}

#ifdef __x86_64__
#define DUMP_MACHINE EM_X86_64
#else
#define DUMP_MACHINE EM_AARCH64
#endif

static inline void put_header(struct dump_image *d, uint32_t machine, uint32_t pid)
{
	put(d, "DTiJ", 4);
	put_word(d, 1, 4);
	put_word(d, 40, 4);
	put_word(d, machine, 4);
	put_word(d, 0, 4);
	put_word(d, pid, 4);
	put_word(d, 7, 8);
	put_word(d, 0, 8);
}

static inline void put_record(struct dump_image *d, uint32_t kind, size_t payload)
{
	put_word(d, kind, 4);
	put_word(d, 16 + payload, 4);
	put_word(d, 9, 8);
}

/* With as many bytes of code as it has. */
static inline void put_load(struct dump_image *d, uint64_t addr, uint64_t size, uint64_t index,
			    const char *name)
{
	static const uint8_t code[256];

	put_record(d, 0, 40 + strlen(name) + 1 + size);
	put_word(d, 1, 4);
	put_word(d, 1, 4);
	put_word(d, addr, 8);
	put_word(d, addr, 8);
	put_word(d, size, 8);
	put_word(d, index, 8);
	put(d, name, strlen(name) + 1);
	put(d, code, size);
}

static inline void put_move(struct dump_image *d, uint64_t from, uint64_t to, uint64_t size,
			    uint64_t index)
{
	put_record(d, 1, 48);
	put_word(d, 1, 4);
	put_word(d, 1, 4);
	put_word(d, to, 8);
	put_word(d, from, 8);
	put_word(d, to, 8);
	put_word(d, size, 8);
	put_word(d, index, 8);
}

/* Two lines, the first at that distance from the code, the second 16 bytes further. */
static inline void put_lines(struct dump_image *d, uint64_t addr, uint64_t distance,
			     const char *file, const char *second)
{
	put_record(d, 2, 16 + 2 * 16 + strlen(file) + strlen(second) + 2);
	put_word(d, addr, 8);
	put_word(d, 2, 8);
	put_word(d, addr + distance, 8);
	put_word(d, 10, 4);
	put_word(d, 0, 4);
	put(d, file, strlen(file) + 1);
	put_word(d, addr + distance + 16, 8);
	put_word(d, 11, 4);
	put_word(d, 0, 4);
	put(d, second, strlen(second) + 1);
}

#endif
