// SPDX-License-Identifier: GPL-2.0-only
/*
 * jit STYLE: makes code at run time and writes its name to /tmp/perf-PID.map, as JIT compilers do.
 * The code calls jit_wait(), which blocks until the go. STYLE: java (a name with blanks and signs),
 * 0x (numbers with this prefix), late (the name is written in jit_wait()), twice (the address has
 * an earlier, wrong name), silent (no name), stub (x86-64: code without frame pointer; jit_wait()
 * also sleeps), busy (no name, and jit_wait() spins, sleeps and leaks memory), lost (as busy, and
 * the code overwrites the frame pointer).
 */
#include <stdbool.h>
#include <string.h>

#include "work.h"

#define JIT_NAME   "Ljava/util/HashMap;::resize(I)[B interpreted"
#define KEPT_BYTES (1 << 20)

/*
 * Code that calls its argument: code[] with frame pointer, stub[] without, lost[] with a wrong one.
 */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
static const unsigned char stub[] = { 0x48, 0x83, 0xec, 0x28, 0xff, 0xd7,
				      0x48, 0x83, 0xc4, 0x28, 0xc3 };
static const unsigned char lost[] = { 0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char code[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,
				      0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };
static const unsigned char lost[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0x3d, 0x00, 0x80, 0xd2, 0x00, 0x00,
				      0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };
#define stub code
#endif

static const char *style;
static bool is_busy;
static void *made;

static void tell(const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "a");
	if (!f)
		exit(1);
	fprintf(f, strcmp(style, "0x") ? "%lx %zx %s\n" : "0x%lx 0x%zx %s\n", (unsigned long)made,
		sizeof(code), name);
	fclose(f);
}

/* Makes events for each tool. */
static void be_busy(void)
{
	char *kept = malloc(KEPT_BYTES);

	for (size_t i = 0; kept && i < KEPT_BYTES; i += 4096)
		*(volatile char *)&kept[i] = 1;
	work_spin(200 * NS_PER_MS);
	usleep(50000);
	work_wait_end();
}

WORK_FUNCTION void jit_wait(void)
{
	if (!strcmp(style, "late"))
		tell(JIT_NAME);
	work_wait_go();
	if (!strcmp(style, "stub"))
		usleep(1000);
	if (is_busy)
		be_busy();
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	void (*call)(void (*)(void));

	style = argc > 1 ? argv[1] : "java";
	is_busy = !strcmp(style, "busy") || !strcmp(style, "lost");
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return 1;
	if (!strcmp(style, "stub"))
		memcpy(made, stub, sizeof(stub));
	else if (!strcmp(style, "lost"))
		memcpy(made, lost, sizeof(lost));
	else
		memcpy(made, code, sizeof(code));
	if (mprotect(made, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache(made, (char *)made + 4096);
	if (!strcmp(style, "twice"))
		tell("wrong");
	if (strcmp(style, "late") && strcmp(style, "silent") && !is_busy)
		tell(JIT_NAME);
	memcpy(&call, &made, sizeof(call));
	call(jit_wait);
	return 0;
}
