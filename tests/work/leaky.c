// SPDX-License-Identifier: GPL-2.0-only
/*
 * leaky [before MODE N] [MODE N]...: allocates memory and leaks some of it, in functions named
 * accordingly; leaky.h has numbers and sizes of the blocks. N is the number of blocks, moves,
 * threads, children, copies or pipes, or a program.
 */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "leaky.h"
#include "work.h"

#define MAX_KEPT (1 << 21)

static void *kept[MAX_KEPT];
static int n_kept;
static const char *text = "a text of 26 bytes in all";

/* Hides from the compiler that a block is unused. */
static void *volatile last;

static void keep(void *p)
{
	if (!p)
		abort();
	last = p;
	kept[__sync_fetch_and_add(&n_kept, 1)] = p;
}

static void drop(void *p)
{
	last = p;
	free(p);
}

static size_t hide(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

WORK_FUNCTION void leak_malloc(void)
{
	for (int i = 0; i < MALLOC_COUNT; i++)
		keep(malloc(MALLOC_BYTES));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_calloc(void)
{
	for (int i = 0; i < CALLOC_COUNT; i++)
		keep(calloc(CALLOC_N, CALLOC_BYTES));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_realloc(void)
{
	for (int i = 0; i < REALLOC_COUNT; i++)
		keep(realloc(malloc(hide(10)), REALLOC_BYTES));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_memalign(void)
{
	void *p;

	for (int i = 0; i < MEMALIGN_COUNT; i++) {
		if (posix_memalign(&p, 64, MEMALIGN_BYTES))
			abort();
		keep(p);
	}
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_aligned(void)
{
	for (int i = 0; i < ALIGNED_COUNT; i++)
		keep(aligned_alloc(128, ALIGNED_BYTES));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void *map(size_t bytes, int prot, int flags)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	WORK_KEEP_FRAME();
	return p;
}

WORK_FUNCTION void leak_mmap(void)
{
	for (int i = 0; i < MMAP_COUNT; i++)
		keep(map(MMAP_BYTES, PROT_READ | PROT_WRITE, 0));
	WORK_KEEP_FRAME();
}

/* Unmaps the first of three pages. */
WORK_FUNCTION void leak_rest_of_mapping(void)
{
	char *p = map(3 * 4096, PROT_READ | PROT_WRITE, 0);

	munmap(p, 4096);
	keep(p + 4096);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_strdup(void)
{
	for (int i = 0; i < STRDUP_COUNT; i++)
		keep(strdup(text));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leak_big(void)
{
	for (int i = 0; i < BIG_COUNT; i++)
		keep(malloc(BIG_BYTES));
	WORK_KEEP_FRAME();
}

/* Frees everything, or fails to allocate it. */
WORK_FUNCTION void leak_nothing(void)
{
	void *p;

	for (size_t i = 0; i < 1009; i++)
		drop(malloc(hide(i)));
	drop(calloc(hide(7), 11));
	drop(aligned_alloc(64, hide(128)));
	drop(realloc(malloc(hide(100)), 100000));
	drop(malloc(hide(BIG_BYTES)));
	last = calloc(hide(SIZE_MAX / 2), 3);
	last = malloc(hide(PTRDIFF_MAX));
	if (!posix_memalign(&p, 64, hide(PTRDIFF_MAX)))
		abort();
	p = map(4096, PROT_READ, 0);
	munmap(p, 4096);
	map(1 << 20, PROT_NONE, MAP_NORESERVE);
	WORK_KEEP_FRAME();
}

static void leak_all(void)
{
	leak_malloc();
	leak_calloc();
	leak_realloc();
	leak_memalign();
	leak_aligned();
	leak_mmap();
	leak_rest_of_mapping();
	leak_strdup();
	leak_big();
	leak_nothing();
}

/* ---- realloc ---- */

/* Leaks a block after a failed realloc(), which doesn't free it. */
WORK_FUNCTION void keep_after_failure(void)
{
	void *p = malloc(hide(FAILED_BYTES));

	if (realloc(p, hide(PTRDIFF_MAX)))
		abort();
	keep(p);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void free_by_realloc(void)
{
	last = realloc(malloc(hide(331)), hide(0));
	drop(last);
	WORK_KEEP_FRAME();
}

static void reallocate(void)
{
	for (int i = 0; i < FAILED_COUNT; i++) {
		keep_after_failure();
		free_by_realloc();
	}
}

/* ---- mappings ---- */

#define MB     (1UL << 20)
#define ACCESS (PROT_READ | PROT_WRITE)

static char *map_over(char *p, size_t bytes, int prot)
{
	return mmap(p, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Grows and shrinks a heap in reserved address space, by mmap(). */
WORK_FUNCTION void shrink_heap(void)
{
	char *heap = map(8 * MB, PROT_NONE, MAP_NORESERVE);

	map_over(heap, 4 * MB, ACCESS);
	map_over(heap + MB, 3 * MB, PROT_NONE);
	WORK_KEEP_FRAME();
}

/* Unmaps several mappings and the gaps between them in one call. */
WORK_FUNCTION void unmap_all(void)
{
	char *p = map(8 * MB, PROT_NONE, 0);

	map_over(p, MB, ACCESS);
	map_over(p + MB, MB, ACCESS);
	map_over(p + 5 * MB, MB, ACCESS);
	munmap(p, 8 * MB);
	WORK_KEEP_FRAME();
}

/* Unmaps both ends of a mapping, and more than there is: the kernel refuses that. */
WORK_FUNCTION void align_mapping(void)
{
	char *p = map(4 * MB, ACCESS, 0);

	munmap(p, MB);
	munmap(p + 3 * MB, MB);
	munmap(p + MB, hide(SIZE_MAX / 2)); /* fails */
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void protect_mapping(void)
{
	char *p = map(4 * MB, PROT_NONE, 0);

	mprotect(p + MB, 2 * MB, ACCESS);
	mprotect(p + MB, MB, PROT_READ | PROT_EXEC);
	mprotect(p + 2 * MB, MB, PROT_NONE);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void move_mapping(void)
{
	char *p = map(4 * MB, ACCESS, 0), *target = map(2 * MB, PROT_NONE, 0);

	mremap(p + MB, MB, 2 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	mremap(target, MB, hide(SIZE_MAX / 2), MREMAP_MAYMOVE);
	munmap(p, MB);
	WORK_KEEP_FRAME();
}

static void change_mappings(int n)
{
	for (int i = 0; i < n; i++) {
		shrink_heap();
		unmap_all();
		align_mapping();
		protect_mapping();
		move_mapping();
	}
}

static size_t mapped_with_access(const char *start, const char *end)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], *from, *to;
	size_t bytes = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%p-%p", (void **)&from, (void **)&to) != 2 ||
		    strstr(line, " ---"))
			continue;
		from = from > start ? from : (char *)start;
		to = to < end ? to : (char *)end;
		bytes += to > from ? (size_t)(to - from) : 0;
	}
	if (f)
		fclose(f);
	return bytes;
}

/* Changes parts of an area in all ways, and prints the kernel's size of the rest. */
WORK_FUNCTION void wander(int n)
{
	char *area = map(AREA_PAGES * 4096, PROT_NONE, 0);

	srand(38);
	for (int i = 0; i < n; i++) {
		size_t bytes = (size_t)(rand() % (i % 2 ? 8 : AREA_PAGES / 2) + 1) * 4096;
		char *p = area + (size_t)rand() % (AREA_PAGES - bytes / 4096) * 4096;
		char *to = area + (size_t)rand() % (AREA_PAGES - bytes / 4096) * 4096;

		switch (rand() % 7) {
		case 0:
			munmap(p, bytes);
			map_over(p, bytes / 2, PROT_NONE);
			break;
		case 1:
			map_over(p, bytes, PROT_NONE);
			break;
		case 2:
			mprotect(p, 4096, PROT_NONE);
			break;
		case 3:
			mprotect(p, 4096, ACCESS);
			break;
		case 4:
			map_over(p, bytes, rand() % 2 ? ACCESS : PROT_NONE);
			mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
			break;
		case 5:
			mremap(p, bytes, bytes / 8192 * 4096, 0);
			break;
		default:
			map_over(p, bytes, ACCESS);
		}
	}
	work_say("mapped", mapped_with_access(area, area + AREA_PAGES * 4096));
	WORK_KEEP_FRAME();
}

/* ---- newly mapped code ---- */

WORK_FUNCTION void *take_in_copy(void *(*take)(size_t))
{
	void *p = take(COPY_BYTES);

	WORK_KEEP_FRAME();
	return p;
}

/* Maps this program's code again, as if it was loaded as a library. */
static char *map_code(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char *at = (char *)take_in_copy, *start = NULL, *end = NULL, *from, line[512];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned long offset = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%p-%p r-xp %lx", (void **)&start, (void **)&end, &offset) == 3 &&
		    at >= start && at < end)
			break;
	from = mmap(NULL, (size_t)(end - start), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		    (off_t)offset);
	if (from == MAP_FAILED)
		abort();
	fclose(f);
	close(fd);
	return from + (at - start);
}

WORK_FUNCTION void take_in_copies(int n)
{
	for (int i = 0; i < n; i++) {
		void *(*take)(void *(*)(size_t)) = (void *(*)(void *(*)(size_t)))map_code();

		for (int k = 0; k < COPY_BLOCKS; k++)
			keep(take(malloc));
		work_sleep(10 * NS_PER_MS);
	}
	WORK_KEEP_FRAME();
}

/* ---- many blocks ---- */

WORK_FUNCTION void take_many(int n)
{
	for (int i = 0; i < n; i++)
		keep(malloc(MANY_BYTES));
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void take_empty(int n)
{
	for (int i = 0; i < n; i++)
		keep(malloc(hide(0)));
	WORK_KEEP_FRAME();
}

static void free_all(void)
{
	while (n_kept > 0)
		free(kept[--n_kept]);
}

/* ---- threads ---- */

WORK_FUNCTION void leak_in_thread(void)
{
	keep(malloc(hide(THREAD_BYTES)));
	WORK_KEEP_FRAME();
}

/* Exchanges blocks between threads: a thread may free another's block. */
static void *work_in_thread(void *arg)
{
	static void *hands[64];

	for (size_t i = 0; i < THREAD_ROUNDS; i++) {
		free(__atomic_exchange_n(&hands[i % 64], malloc(hide(i % 512)), __ATOMIC_ACQ_REL));
		if (i % (THREAD_ROUNDS / THREAD_LEAKS) == 0)
			leak_in_thread();
	}
	for (size_t i = 0; i < 64; i++)
		free(__atomic_exchange_n(&hands[i], NULL, __ATOMIC_ACQ_REL));
	return arg;
}

static void run_threads(int n)
{
	pthread_t threads[64];

	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work_in_thread, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- processes ---- */

WORK_FUNCTION void leak_in_child(void)
{
	for (int i = 0; i < CHILD_COUNT; i++)
		keep(malloc(CHILD_BYTES));
	WORK_KEEP_FRAME();
}

static void run_children(int n)
{
	for (int i = 0; i < n; i++)
		if (!fork()) {
			leak_in_child();
			work_sleep(CHILD_LIFE_MS * NS_PER_MS);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void execute(const char *path, const char *mode)
{
	leak_malloc();
	execl(path, "leaky", mode, "1009", NULL);
	exit(1);
}

static void *execute_again(void *n)
{
	leak_malloc();
	execl("/proc/self/exe", "leaky", "before", "relay", n, "all", "1", NULL);
	exit(1);
}

/* Executes this program n times, each time by a new thread, and then leaks all. */
static void relay(int n)
{
	char text_of_n[12];
	pthread_t thread;

	if (!n)
		return;
	snprintf(text_of_n, sizeof(text_of_n), "%d", n - 1);
	pthread_create(&thread, NULL, execute_again, text_of_n);
	pthread_join(thread, NULL);
}

/* Runs a program without stdin and stdout, since it would print "@ready" as we do. */
static void run_program(const char *path, const char *n)
{
	pid_t child = fork();

	if (!child) {
		int fd = open("/dev/null", O_RDWR);

		dup2(fd, STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		execl(path, "leaky", "grow", n, NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

/* Runs n copies of this program in turn, each from a new file that is then deleted. */
static void run_copies(int n)
{
	char path[] = "/tmp/leaky-XXXXXX";
	struct stat st = {};

	close(mkstemp(path));
	for (int i = 0; i < n; i++) {
		int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;

		unlink(path);
		to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		if (fstat(from, &st) || sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
			abort();
		close(from);
		close(to);
		run_program(path, "2");
	}
	unlink(path);
}

static void pause_work(void)
{
	printf("@paused\n");
	work_read(STDIN_FILENO);
}

/* ---- slow growth ---- */

WORK_FUNCTION void grow(void)
{
	keep(malloc(hide(GROW_BYTES)));
	WORK_KEEP_FRAME();
}

/* Allocates and frees a block by turns: of one, no two intervals show a growth, however slow. */
WORK_FUNCTION void use_cache(int i)
{
	static void *cache;

	if (i % 2)
		drop(cache);
	else
		cache = malloc(hide(1000));
	WORK_KEEP_FRAME();
}

static void grow_slowly(int n)
{
	for (int i = 0; i < n; i++) {
		grow();
		use_cache(i);
		work_sleep(10 * NS_PER_MS);
	}
	WORK_KEEP_FRAME();
}

/* Moves all blocks in another thread; every second realloc() fails. */
static void *move_blocks(void *arg)
{
	void *moved;

	pthread_setname_np(pthread_self(), "mover");
	for (int i = 0; i < n_kept; i++) {
		moved = realloc(kept[i], hide(i % 2 ? PTRDIFF_MAX : HANDED_MOVED));
		kept[i] = moved ? moved : kept[i];
	}
	return arg;
}

WORK_FUNCTION void take_for_others(int n)
{
	for (int i = 0; i < n; i++)
		keep(malloc(hide(HANDED_BYTES)));
	WORK_KEEP_FRAME();
}

static void hand_over(int n)
{
	pthread_t mover;

	take_for_others(n);
	pthread_create(&mover, NULL, move_blocks, NULL);
	pthread_join(mover, NULL);
}

static void *free_first(void *p)
{
	free(p);
	leak_in_thread();
	return NULL;
}

/* Starts n threads whose first call of the allocator is free(). */
static void run_consumers(int n)
{
	pthread_t consumer;

	for (int i = 0; i < n; i++) {
		pthread_create(&consumer, NULL, free_first, malloc(hide(HANDED_BYTES)));
		pthread_join(consumer, NULL);
	}
}

/* Allocates a block per millisecond, and moves each when it is STEADY_AGE turns old. */
WORK_FUNCTION void take_steadily(int n)
{
	for (int i = 0; i < n; i++) {
		keep(malloc(hide(STEADY_BYTES)));
		if (i >= STEADY_AGE)
			kept[i - STEADY_AGE] = realloc(kept[i - STEADY_AGE], hide(STEADY_MOVED));
		work_sleep(NS_PER_MS);
	}
	WORK_KEEP_FRAME();
}

/* Allocates and frees as fast as possible for ms milliseconds. */
WORK_FUNCTION void hurry(int ms)
{
	uint64_t end_ns = work_clock(CLOCK_MONOTONIC) + (uint64_t)ms * NS_PER_MS;

	while (work_clock(CLOCK_MONOTONIC) < end_ns)
		drop(malloc(hide(STEADY_BYTES)));
	WORK_KEEP_FRAME();
}

/* Moves one block n times, at a steady rate. */
WORK_FUNCTION void move_one(int n)
{
	void *p = malloc(hide(STEADY_BYTES));

	for (int i = 0; i < n; i++) {
		p = realloc(p, hide(i % 2 ? STEADY_BYTES : STEADY_MOVED));
		last = p;
		if (i % 10 == 0)
			work_sleep(NS_PER_MS);
	}
	keep(p);
	WORK_KEEP_FRAME();
}

/* ---- an allocator left by longjmp() ---- */

static jmp_buf left;

WORK_FUNCTION void *my_malloc(size_t n)
{
	if (!n)
		longjmp(left, 1);
	return malloc(n);
}

static void leave_calls(void)
{
	for (int i = 0; i < 300; i++) {
		if (!setjmp(left))
			my_malloc(hide(0));
		work_sleep(NS_PER_MS);
	}
}

/* Allocates in a frame that is lower on the stack. */
WORK_FUNCTION void take_below(int n)
{
	volatile char room[8192] = {};

	for (int i = 0; i < n; i++) {
		keep(my_malloc(hide(STEADY_BYTES)));
		room[i] = room[i / 2];
		work_sleep(5 * NS_PER_MS);
	}
	WORK_KEEP_FRAME();
}

static void *wait_for_end(void *arg)
{
	work_wait_end();
	exit(arg != NULL);
}

/* Exits the main thread only. */
static void leave_to_heir(int n)
{
	pthread_t heir;

	(void)n;
	pthread_create(&heir, NULL, wait_for_end, NULL);
	pthread_exit(NULL);
}

/* Makes n pipes: memory in the kernel. */
static void open_pipes(int n)
{
	int fds[2];

	for (int i = 0; i < n; i++)
		if (pipe(fds))
			abort();
}

static const struct {
	const char *name;
	void (*run)(int n);
} numbered_modes[] = {
	{ "many", take_many },	  { "threads", run_threads },	  { "children", run_children },
	{ "copies", run_copies }, { "grow", grow_slowly },	  { "steady", take_steadily },
	{ "hurry", hurry },	  { "move", move_one },		  { "hand", hand_over },
	{ "below", take_below },  { "pipes", open_pipes },	  { "mappings", change_mappings },
	{ "wander", wander },	  { "loaded", take_in_copies },	  { "heir", leave_to_heir },
	{ "empty", take_empty },  { "consumers", run_consumers }, { "relay", relay },
};

static void run_mode(const char *mode, int n, const char *arg)
{
	for (size_t i = 0; i < sizeof(numbered_modes) / sizeof(numbered_modes[0]); i++)
		if (!strcmp(mode, numbered_modes[i].name))
			numbered_modes[i].run(n);
	if (!strcmp(mode, "all"))
		leak_all();
	else if (!strcmp(mode, "realloc"))
		reallocate();
	else if (!strcmp(mode, "big"))
		leak_big();
	else if (!strcmp(mode, "exec"))
		execute(arg, "all");
	else if (!strcmp(mode, "exec_steady"))
		execute(arg, "steady");
	else if (!strcmp(mode, "program"))
		run_program(arg, PROGRAM_BLOCKS);
	else if (!strcmp(mode, "pause"))
		pause_work();
	else if (!strcmp(mode, "leave"))
		leave_calls();
	else if (!strcmp(mode, "free"))
		free_all();
}

/* Runs the modes, one after the other; the one after "before" runs before "@ready". */
static int run(int argc, char **argv)
{
	int i = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("@begin\n"); /* allocates stdout's buffer before tracing */
	if (argc > 3 && !strcmp(argv[1], "before")) {
		run_mode(argv[2], atoi(argv[3]), argv[3]);
		i = 4;
	}
	work_wait_go();
	for (; i < argc; i += 2)
		run_mode(argv[i], work_number(argc, argv, i + 1, 1),
			 i + 1 < argc ? argv[i + 1] : NULL);
	work_wait_end();
	return 0;
}

static int thread_argc;

static void *run_in_thread(void *argv)
{
	work_sleep(50 * NS_PER_MS); /* until the main thread has exited */
	exit(run(thread_argc, argv));
}

/* "leaderless" as first argument: everything runs in a thread, after the main thread has exited. */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2 || strcmp(argv[1], "leaderless"))
		return run(argc, argv);
	thread_argc = argc - 1;
	pthread_create(&thread, NULL, run_in_thread, argv + 1);
	pthread_exit(NULL);
}
