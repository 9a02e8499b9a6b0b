// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a traced Go program: words of arbitrary values, many of which are pointers to one of
 * them or to code, read as records of the heap profile and as goroutines. One true goroutine proves
 * the layout.
 */
#include "../go/image.h"
#include "base/clock.h"
#include "fuzz.h"
#include "runtimes/go/goroutines.h"
#include "runtimes/go/heap.h"

#define N_WORDS 512
#define N_G	8
#define G_WORDS 46 /* of struct g, up to labels, in all layouts */

static uint64_t words[N_WORDS];
static uint64_t stack[2] = { GO_TEXT + 80, GO_TEXT + 8 }; /* main.F, called by goexit */
static uint64_t proof[G_WORDS], list[1 + N_G], slice[3] = { (uintptr_t)list, 1 + N_G, 1 + N_G };
static uint64_t rate = 1, reasons[8];

/* Places the bytes in memory: words that end in ff become pointers to words, in fe to code. */
static void place(const uint8_t *bytes, size_t size)
{
	memset(words, 0, sizeof(words));
	memcpy(words, bytes, size < sizeof(words) ? size : sizeof(words));
	for (size_t i = 0; i < N_WORDS; i++)
		if ((words[i] & 0xff) == 0xff)
			words[i] = (uintptr_t)&words[words[i] >> 8 & (N_WORDS - 1)];
		else if ((words[i] & 0xff) == 0xfe)
			words[i] = GO_TEXT + (words[i] >> 8 & 127);
}

static void read_heap(struct go_program *p, unsigned int release)
{
	struct go_heap heap;

	p->release = release;
	if (!go_heap_read(p, clock_thread_ns() + NS_PER_MS, &heap))
		for (size_t i = 0; i < heap.n; i++)
			if (go_heap_drop_inlined(p, heap.words + heap.records[i].at,
						 heap.records[i].n) > heap.records[i].n)
				abort();
	go_heap_free(&heap);
}

static void use_goroutine(const struct go_goroutine *g, void *arg)
{
	uint64_t sum = strlen(g->state);

	for (size_t i = 0; i < g->n; i++)
		sum += g->words[i];
	*(uint64_t *)arg += sum;
}

/* The layout of Go 1.24. */
static void make_proof(void)
{
	static const char *const texts[] = { "", "GC assist marking", "IO wait",
					     "force gc (idle)" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		reasons[2 * i] = (uintptr_t)texts[i];
		reasons[2 * i + 1] = strlen(texts[i]);
	}
	proof[0] = proof[7] = (uintptr_t)stack;
	proof[1] = (uintptr_t)(stack + ARRAY_SIZE(stack));
	proof[8] = stack[0];
	proof[9] = list[0] = (uintptr_t)proof;
	proof[19] = 4;
	proof[23] = 3;
	proof[38] = GO_TEXT + 64;
}

static void read_goroutines(struct go_program *p)
{
	const char *why;
	struct go_goroutines *g;
	struct go_sweep sweep;
	uint64_t sum = 0;

	p->release = 24;
	make_proof();
	for (size_t i = 0; i < N_G; i++)
		list[1 + i] = (uintptr_t)&words[i * (N_WORDS - G_WORDS) / N_G];
	g = go_goroutines_open(p, &why);
	if (g && go_goroutines_sweep(g, 10 * NS_PER_MS, N_G / 2, &sweep, use_goroutine, &sum))
		abort();
	go_goroutines_free(g);
}

FUZZ(bytes, size)
{
	struct go_program program = { .pid = getpid() };
	size_t image_bytes;
	struct go_image *image = go_image_new(GO_IMAGE_1_20, &image_bytes);

	place(bytes, size);
	image->segments[3] = (Elf64_Phdr){ .p_type = PT_LOAD,
					   .p_flags = PF_R | PF_W,
					   .p_vaddr = (uintptr_t)reasons,
					   .p_filesz = sizeof(reasons) };
	if (elf64_open_image(&program.elf, image, image_bytes) ||
	    gopclntab_open(&program.table, &program.elf))
		abort();
	program.elf.header.e_phnum = 4;
	program.variables[GO_ALLGS] = (uintptr_t)slice;
	program.variables[GO_MBUCKETS] = (uintptr_t)&words[0];
	program.variables[GO_CYCLE] = (uintptr_t)&words[1];
	program.variables[GO_RATE] = (uintptr_t)&rate;
	program.functions[GO_GOEXIT] = (struct go_func){ .start = GO_TEXT, .end = GO_TEXT + 64 };
	program.functions[GO_FORCE_GC] =
		(struct go_func){ .start = GO_TEXT + 64, .end = GO_TEXT + 128 };
	read_heap(&program, 15);
	read_heap(&program, 24);
	read_heap(&program, 27);
	read_goroutines(&program);
	gopclntab_close(&program.table);
	free(image);
	return 0;
}
