// SPDX-License-Identifier: GPL-2.0-only
/*
 * swap HOW ROUNDS: two functions are alternately at one address. In each round swap_first()
 * performs its deed three times, swap_second() five times: it touches a new page, leaks SWAP_BYTES,
 * sleeps, and computes for 1 ms. HOW: unmap (the kernel chooses the same address again), fixed
 * (MAP_FIXED over the other function), move (mremap(2) over it), made (writes the code there, and
 * its name into a perf map).
 */
#include <stdbool.h>
#include <string.h>

#include "work.h"

#define PAGE	   4096
#define SWAP_BYTES 1009
#define CODE_BYTES 256

extern char __executable_start;

typedef void swap_fn(void (*deed)(void), int n);

static uint64_t cpu_ns, slept_ns;
static char *pages;

/* Functions in separate pages, position-independent, since they are mapped elsewhere. */
#define SWAPPED(name)                                                                             \
	__attribute__((noinline, used, section(".text." #name), aligned(PAGE))) static void name( \
		void (*deed)(void), int n)                                                        \
	{                                                                                         \
		for (int i = 0; i < n; i++)                                                       \
			deed();                                                                   \
		WORK_KEEP_FRAME();                                                                \
	}

SWAPPED(swap_first)
SWAPPED(swap_second)

/* Begins the page after swap_second(), so that nothing else is in its page. */
__attribute__((noinline, used, section(".text.swap_third"), aligned(PAGE))) static void
end_of_page(void)
{
}

WORK_FUNCTION void swap_touch(void)
{
	*(volatile char *)pages = 1;
	pages += PAGE;
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void swap_keep(void)
{
	*(volatile char *)malloc(SWAP_BYTES) = 1;
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void swap_deed(void)
{
	uint64_t begin_ns = work_clock(CLOCK_MONOTONIC), end_ns;

	work_sleep(NS_PER_MS / 4);
	slept_ns += work_clock(CLOCK_MONOTONIC) - begin_ns;
	swap_touch();
	swap_keep();
	end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + NS_PER_MS;
	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
	WORK_KEEP_FRAME();
}

static void *map_function(swap_fn *function, void *at, bool is_fixed)
{
	static int fd = -1;
	off_t offset = (char *)function - &__executable_start;

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (is_fixed ? MAP_FIXED : 0), fd,
		    offset);
}

/* Writes the function's code to memory, like a JIT compiler, and its name into the perf map. */
static void *write_function(swap_fn *function, void *at)
{
	static FILE *map;
	char path[64];

	if (!map) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "w");
		setlinebuf(map);
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	memcpy(at, (void *)function, CODE_BYTES);
	__builtin___clear_cache(at, (char *)at + CODE_BYTES);
	fprintf(map, "%lx %x %s\n", (unsigned long)at, CODE_BYTES,
		function == swap_first ? "swap_first" : "swap_second");
	return at;
}

/* Puts the function at the address of the previous one. Returns the address. */
static void *place(const char *how, void *at, swap_fn *function)
{
	if (!strcmp(how, "made"))
		return write_function(function, at);
	if (at && !strcmp(how, "fixed"))
		return map_function(function, at, true);
	if (at && !strcmp(how, "move"))
		return mremap(map_function(function, NULL, false), PAGE, PAGE,
			      MREMAP_MAYMOVE | MREMAP_FIXED, at);
	if (at)
		munmap(at, PAGE);
	return map_function(function, NULL, false);
}

static void call(void *at, int n)
{
	swap_fn *function;

	memcpy(&function, &at, sizeof(function));
	function(swap_deed, n);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "unmap";
	int n_rounds = work_number(argc, argv, 2, 100);
	uint64_t cpu[2] = {}, slept[2] = {};
	void *at = NULL, *first = NULL;
	bool is_same = true;

	pages = mmap(NULL, (size_t)n_rounds * 8 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, (size_t)n_rounds * 8 * PAGE, MADV_NOHUGEPAGE);
	work_wait_go();
	for (int i = 0; i < 2 * n_rounds; i++) {
		at = place(how, at, i % 2 ? swap_second : swap_first);
		if (at == MAP_FAILED)
			return 1;
		first = first ? first : at;
		is_same &= at == first;
		cpu_ns = work_clock(CLOCK_THREAD_CPUTIME_ID);
		slept_ns = 0;
		call(at, i % 2 ? 5 : 3);
		cpu[i % 2] += work_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		slept[i % 2] += slept_ns;
	}
	work_say("same", is_same);
	work_say("first_cpu_us", cpu[0] / 1000);
	work_say("second_cpu_us", cpu[1] / 1000);
	work_say("first_slept_us", slept[0] / 1000);
	work_say("second_slept_us", slept[1] / 1000);
	work_wait_end();
	return 0;
}
