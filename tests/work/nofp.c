// SPDX-License-Identifier: GPL-2.0-only
/*
 * nofp MODE MS [PATH]: a program without frame pointers, as distributions build them: nofp_outer()
 * calls nofp_middle(), which calls nofp_leaf(), which spins or naps for MS. MODE: spin, nap, signal
 * (in a handler), kids (in forked children), map (called from PATH, a copy of this program that is
 * mapped as by the dynamic linker), mapped (as map, but mapped before "@ready"), exec (executes
 * PATH, which spins), deep (below DEEP_FRAMES more frames), vfork (in a child, while the parent
 * waits), block (two threads, blocked until the go), coroutine (on another stack, whose first
 * function has the return address 0), moves (moves its code to anonymous memory at the same
 * addresses, as programs do for huge pages), moved (as moves, before "@ready").
 */
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "work.h"

#ifndef NOFP
#define NOFP(name) nofp_##name
#define NOFP_NAME  "nofp"
#define NOFP_BYTES 24
#endif

#define nofp_leaf   NOFP(leaf)
#define nofp_middle NOFP(middle)
#define nofp_outer  NOFP(outer)
#define nofp_mapped NOFP(mapped)

#define N_KIDS	    3
#define N_THREADS   2
#define DEEP_FRAMES 300

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static int stay_ms, is_nap, block_fds[2] = { -1, -1 };

WORK_FUNCTION long nofp_leaf(long x)
{
	volatile char room[NOFP_BYTES] = { (char)x };

	if (block_fds[0] >= 0)
		work_read(block_fds[0]);
	else if (is_nap)
		work_sleep((uint64_t)stay_ms * NS_PER_MS);
	else
		work_spin((uint64_t)stay_ms * NS_PER_MS);
	WORK_KEEP_FRAME();
	return room[0];
}

WORK_FUNCTION long nofp_middle(long x)
{
	volatile long room[NOFP_BYTES] = { x };

	return nofp_leaf(x + 1) + room[0];
}

WORK_FUNCTION long nofp_outer(long x)
{
	return nofp_middle(x + 1) + x;
}

/* Called in a copy without relocations: may use its arguments only. */
__attribute__((noinline)) static long nofp_mapped(long (*call)(long), long x)
{
	return call(x) + x;
}

/* ---- modes ---- */

__attribute__((noinline)) static void just_stay(const char *path)
{
	(void)path;
	nofp_outer(1);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION long go_deep(long n)
{
	volatile long room[2] = { n };

	return n ? go_deep(n - 1) + room[0] : nofp_outer(n);
}

static void stay_deep(const char *path)
{
	(void)path;
	if (go_deep(DEEP_FRAMES) < 0) /* uses the result, so that go_deep() is not specialized */
		abort();
}

/* Works in a vfork child, which runs on its parent's stack. */
static void stay_in_vfork(const char *path)
{
	pid_t pid = vfork();

	(void)path;
	if (!pid) {
		nofp_outer(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	WORK_KEEP_FRAME();
}

static void on_signal(int number)
{
	nofp_outer(number);
	WORK_KEEP_FRAME();
}

static void stay_in_handler(const char *path)
{
	(void)path;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	WORK_KEEP_FRAME();
}

static void stay_in_kids(const char *path)
{
	(void)path;
	for (int i = 0; i < N_KIDS; i++)
		if (!fork()) {
			work_set_comm(NOFP_NAME "-kid");
			nofp_outer(1);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

/* Maps a copy's segments as the dynamic linker does: first the whole size, from the file. */
static char *map_copy(const char *path)
{
	const Elf64_Ehdr *header = (const void *)__ehdr_start;
	const Elf64_Phdr *segments = (const void *)(__ehdr_start + header->e_phoff);
	uint64_t first = 0, n = header->e_phnum;
	int fd = open(path, O_RDONLY);
	char *base = mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE, fd, 0);

	while (segments[first].p_type != PT_LOAD)
		first++;
	for (uint64_t i = first; i < n; i++) {
		uint64_t in_page = segments[i].p_vaddr & 4095;

		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			mmap(base + segments[i].p_vaddr - in_page - segments[first].p_vaddr,
			     segments[i].p_filesz + in_page, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED, fd, (off_t)(segments[i].p_offset - in_page));
	}
	close(fd);
	return base;
}

static char *mapped_copy; /* made before "@ready"; NULL: none */

static void stay_in_copy(const char *path)
{
	char *base = mapped_copy ? mapped_copy : map_copy(path);
	long (*volatile mapped)(long (*)(long), long);

	mapped = (void *)(base + ((uintptr_t)nofp_mapped - (uintptr_t)__ehdr_start));
	mapped(nofp_outer, 2);
	WORK_KEEP_FRAME();
}

static void move(char *text, size_t bytes)
{
	char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, text, bytes);
	mprotect(copy, bytes, PROT_READ | PROT_EXEC);
	mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, text);
	mprotect(text, bytes, PROT_READ | PROT_WRITE | PROT_EXEC); /* causes a mapping event */
	mprotect(text, bytes, PROT_READ | PROT_EXEC);
}

/* Moves text, but not the first page of the file, as programs do that move it by huge pages. */
static void move_text(void)
{
	const Elf64_Ehdr *header = (const void *)__ehdr_start;
	const Elf64_Phdr *segments = (const void *)(__ehdr_start + header->e_phoff);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t base = header->e_type == ET_DYN ? (uintptr_t)__ehdr_start : 0;

	for (int i = 0; i < header->e_phnum; i++) {
		uint64_t start = segments[i].p_vaddr & -page;
		uint64_t end = (segments[i].p_vaddr + segments[i].p_filesz + page - 1) & -page;

		if (!segments[i].p_offset)
			start += page;
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			move((char *)(base + start), end - start);
	}
}

static void stay_after_move(const char *path)
{
	move_text();
	work_sleep(50 * NS_PER_MS); /* until the tracer has seen the event */
	just_stay(path);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void run_coroutine(void)
{
	just_stay(NULL);
	work_wait_end();
	_exit(0);
}

static void stay_in_coroutine(const char *path)
{
	static char stack[1 << 20] __attribute__((aligned(64)));
	char *end = stack + sizeof(stack);

	(void)path;
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp; push $0; jmp *%1" : : "r"(end), "r"(run_coroutine));
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0; mov x16, %1; mov x29, #0; mov x30, #0; br x16"
			 :
			 : "r"(end), "r"(run_coroutine)
			 : "x16");
#endif
	__builtin_unreachable();
}

static void execute(const char *path)
{
	char ms[16];

	snprintf(ms, sizeof(ms), "%d", stay_ms);
	execl(path, "executed", "run", ms, (char *)NULL);
}

static void *block_thread(void *arg)
{
	work_set_comm("blocked");
	nofp_outer((long)arg);
	WORK_KEEP_FRAME();
	return NULL;
}

/* ---- the program ---- */

static const struct mode {
	const char *name;
	void (*run)(const char *path);
} modes[] = {
	{ "spin", just_stay },	       { "nap", just_stay },
	{ "signal", stay_in_handler }, { "map", stay_in_copy },
	{ "kids", stay_in_kids },      { "exec", execute },
	{ "deep", stay_deep },	       { "vfork", stay_in_vfork },
	{ "mapped", stay_in_copy },    { "coroutine", stay_in_coroutine },
	{ "moves", stay_after_move },  { "moved", just_stay },
};

static int run_blocked(void)
{
	pthread_t threads[N_THREADS];

	if (pipe(block_fds))
		return 1;
	for (long i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, block_thread, (void *)i);
	work_wait_go();
	close(block_fds[1]);
	for (long i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}

/* Runs in the process's only thread, after the main thread has exited. */
static void *run_alone(void *arg)
{
	(void)arg;
	work_sleep(50 * NS_PER_MS);
	work_set_comm(NOFP_NAME);
	work_wait_go();
	just_stay(NULL);
	WORK_KEEP_FRAME();
	work_wait_end();
	exit(0);
}

static void leave_main_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_alone, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	stay_ms = atoi(argv[2]);
	is_nap = !strcmp(argv[1], "nap");
	if (!strcmp(argv[1], "block"))
		return run_blocked();
	if (!strcmp(argv[1], "leaderless"))
		leave_main_thread();
	if (!strcmp(argv[1], "run")) { /* executed by mode exec */
		work_set_comm("executed");
		just_stay(NULL);
		work_wait_end();
		return 0;
	}
	work_set_comm(NOFP_NAME);
	if (!strcmp(argv[1], "mapped") && argc > 3)
		mapped_copy = map_copy(argv[3]);
	if (!strcmp(argv[1], "moved"))
		move_text();
	work_wait_go();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, argv[1]))
			modes[i].run(argc > 3 ? argv[3] : NULL);
	work_wait_end();
	return 0;
}
