// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes two tiles, whose code has no unwind rules and overwrites the frame pointer. Two threads
 * call C functions through them: C, outer tile, C, inner tile, C. One thread sleeps often, the
 * other without end.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TILE	   256
#define HEAD	   64
#define WORDS	   5 /* words between sp and the saved rbp */
#define NEVER_TAIL __asm__ volatile("")

struct code {
	unsigned long low, high;
} tiles_code;

typedef void (*function)(void);
typedef void (*tile)(function);

/* push %rbp; sub $40,%rsp; mov $1,%ebp; call *%rdi; add $40,%rsp; pop %rbp; ret */
static const unsigned char instructions[] = { 0x55, 0x48, 0x83, 0xec,	   8 * WORDS, 0xbd,
					      1,    0,	  0,	0,	   0xff,      0xd7,
					      0x48, 0x83, 0xc4, 8 * WORDS, 0x5d,      0xc3 };

static tile call_outer, call_inner;

static tile make_tile(char *at, const char *name)
{
	*(unsigned long *)at = 8 * (WORDS + 2);
	strcpy(at + sizeof(unsigned long), name);
	memcpy(at + HEAD, instructions, sizeof(instructions));
	return (tile)(at + HEAD);
}

__attribute__((noinline)) void nap_often(void)
{
	for (;;)
		usleep(1000);
}

__attribute__((noinline)) void rest(void)
{
	for (;;)
		pause();
}

__attribute__((noinline)) void go_napping(void)
{
	call_inner(nap_often);
	NEVER_TAIL;
}

__attribute__((noinline)) void go_resting(void)
{
	call_inner(rest);
	NEVER_TAIL;
}

static void *rest_apart(void *arg)
{
	call_outer(go_resting);
	return arg;
}

int main(void)
{
	char *code = mmap(NULL, 2 * TILE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (code == MAP_FAILED)
		return 1;
	call_outer = make_tile(code, "Tiles.outer");
	call_inner = make_tile(code + TILE, "Tiles.inner");
	tiles_code = (struct code){ (unsigned long)code, (unsigned long)code + 2 * TILE };
	if (pthread_create(&thread, NULL, rest_apart, NULL) || write(1, "made\n", 5) != 5)
		return 1;
	call_outer(go_napping);
	return 0;
}
