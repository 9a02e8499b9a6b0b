// SPDX-License-Identifier: GPL-2.0-only
/*
 * odd MODE SECONDS [PLUGIN...]: a program whose frames are odd, to be run with the oracle's library
 * in it, which takes a stack at each malloc() and free() and when SIGPROF comes. A precise timer
 * sends that at any instruction, every ODD_TICK_US (0: never), which must leave the program time to
 * go on. Built without frame pointers and with lazily bound PLT entries.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define REALIGNED	 force_align_arg_pointer
#define OTHER_CONVENTION ms_abi
#define FAULT		 "ud2"
#define FAULT_BYTES	 2
#define PROGRAM_COUNTER	 gregs[REG_RIP]
#else /* arm64, where stacks are always aligned and there is one convention */
#define REALIGNED	 noinline
#define OTHER_CONVENTION noinline
#define FAULT		 "udf #0"
#define FAULT_BYTES	 4
#define PROGRAM_COUNTER	 pc
#endif

#define ODD	  __attribute__((noinline)) static
#define N_THREADS 16
#define TICK_US	  "70"

static double end_s;
static char **plugins;
static int n_plugins;

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Takes a stack; x keeps callers from being merged or left by a jump. */
ODD long take(long x)
{
	void *p = malloc((size_t)(x & 255) + 1);

	__asm__ volatile("" : "+r"(p)::"memory");
	free(p);
	__asm__ volatile("" : "+r"(x)::"memory");
	return x + 1;
}

/* ---- frames ---- */

ODD long with_alloca(long x)
{
	char *room = alloca((size_t)(x & 1023) + 1);

	memset(room, (int)x, (size_t)(x & 1023) + 1);
	return take(x) + room[0];
}

ODD long with_aligned_local(long x)
{
	long vector[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		vector[i] = x + i;
	__asm__ volatile("" : : "r"(vector) : "memory");
	return with_alloca(vector[x & 7]) + vector[1];
}

/* Arguments on the stack and a realigned frame: the CFA is kept in a register, then in memory. */
ODD long with_aligned_alloca(long x, long a, long b, long c, long d, long e, long f, long g)
{
	double lanes[16] __attribute__((aligned(32)));
	char *room = alloca((size_t)(x & 511) + 8);

	for (int i = 0; i < 16; i++)
		lanes[i] = (double)(x + a * i);
	__asm__ volatile("" : : "r"(lanes), "r"(room) : "memory");
	x = with_aligned_local(x + b + c + d + e + f + g);
	return x + (long)lanes[x & 15] + room[0];
}

__attribute__((noinline, REALIGNED)) static long with_realigned_stack(long x)
{
	return with_aligned_alloca(x, 1, 2, 3, 4, 5, 6, 7) + take(x);
}

__attribute__((noinline, OTHER_CONVENTION)) static long with_other_convention(long x, long y)
{
	return with_realigned_stack(x + y) + take(y);
}

/* Uses rbp for something else, and all that must be saved. */
ODD long with_many_registers(long x)
{
	long a = take(x), b = take(a), c = take(b), d = take(c), e = take(d), f = take(e);

	for (int i = 0; i < 4; i++) {
		a += take(b ^ c);
		b += take(c ^ d);
		c += take(d ^ e);
		d += take(e ^ f);
	}
	return a + b + c + d + e + f;
}

ODD long with_big_frame(long x)
{
	volatile char room[100000];

	room[x & 0xffff] = 1;
	return with_many_registers(x) + room[x & 0xffff];
}

static long (*volatile next_frame[])(long) = { with_alloca, with_aligned_local,
					       with_realigned_stack, with_many_registers,
					       with_big_frame };

ODD long with_tail_call(long x)
{
	return next_frame[(unsigned long)x % 5](x);
}

ODD long jump_out(long x)
{
	jmp_buf buffer;

	if (setjmp(buffer))
		return take(x);
	take(x);
	longjmp(buffer, 1); /* the last instruction of the function is a call */
}

ODD void frames(void)
{
	static long x;

	x += with_other_convention(x, 3) & 0xff;
	x += with_tail_call(x) & 0xff;
	x += jump_out(x) & 1;
}

/* ---- recursion ---- */

ODD long dive(long depth)
{
	char *room = depth & 1 ? alloca((size_t)depth) : NULL;

	if (room)
		room[0] = 1;
	take(depth);
	return depth ? dive(depth - 1) + depth + (room ? room[0] : 0) : 0;
}

ODD void recursion(void)
{
	dive(20);
	dive(90);
	dive(300);
}

/* ---- signals ---- */

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number;
	(void)info;
	with_aligned_local(3);
	c->uc_mcontext.PROGRAM_COUNTER += FAULT_BYTES;
}

static void on_user_signal(int number)
{
	with_alloca(number);
	if (number == SIGUSR1)
		raise(SIGUSR2);
	with_many_registers(number);
}

ODD void fault(long x)
{
	take(x);
	__asm__ volatile(FAULT : : : "memory");
	take(x);
}

ODD void signals(void)
{
	static long x;

	fault(x++);
	raise(SIGUSR1);
	frames();
}

static void catch_signals(int flags)
{
	struct sigaction fault_action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO | flags };
	struct sigaction action = { .sa_handler = on_user_signal, .sa_flags = SA_RESTART | flags };
	stack_t alt = { .ss_size = 1 << 20 };

	alt.ss_sp = malloc(alt.ss_size);
	if (flags)
		sigaltstack(&alt, NULL);
	sigaction(SIGILL, &fault_action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
}

/* ---- coroutines ---- */

static ucontext_t scheduler, coroutine;

static void coroutine_main(void)
{
	for (int i = 0; i < 20; i++) {
		with_many_registers(i);
		swapcontext(&coroutine, &scheduler);
	}
}

ODD void contexts(void)
{
	static char stack[256 << 10];

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &scheduler;
	makecontext(&coroutine, coroutine_main, 0);
	for (int i = 0; i <= 20; i++) {
		swapcontext(&scheduler, &coroutine);
		take(i);
	}
}

/* ---- libraries ---- */

typedef long plugin_fn(long (*call)(long), long x);

static void *open_plugin(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);

	if (!library)
		exit(3);
	return library;
}

/* Bound lazily: the first call of each function goes through the dynamic linker. */
ODD void use_plugin(void *library)
{
	plugin_fn *run = (plugin_fn *)dlsym(library, "plugin_run");

	for (int i = 0; run && i < 200; i++)
		run(take, i);
}

/* All of them, each at the address where it always is. */
ODD void libraries(void)
{
	void *opened[8] = {};

	for (int i = 0; i < n_plugins; i++)
		opened[i] = open_plugin(plugins[i]);
	for (int i = 0; i < n_plugins; i++)
		use_plugin(opened[i]);
	for (int i = 0; i < n_plugins; i++)
		dlclose(opened[i]);
}

/* One after the other, most likely at the same address. */
ODD void reloads(void)
{
	for (int i = 0; i < n_plugins; i++) {
		void *library = open_plugin(plugins[i]);

		use_plugin(library);
		dlclose(library);
	}
}

/* ---- code that takes another's place ---- */

#if defined(__x86_64__)

#define PAGE 4096

/*
 * Each in a page of its own, which is mapped elsewhere: only the sizes of their frames differ, not
 * those of their instructions.
 */
#define FRAME_FUNCTION(f, size)                                                              \
	__asm__(".pushsection .text." #f ",\"ax\",@progbits\n.p2align 12\n.globl " #f        \
		"\n.type " #f ",@function\n" #f ":\n.cfi_startproc\n"                        \
		".byte 0x48, 0x81, 0xec\n.long " #size "\n.cfi_adjust_cfa_offset " #size     \
		"\ncall *%rdi\n.byte 0x48, 0x81, 0xc4\n.long " #size                         \
		"\n.cfi_adjust_cfa_offset -" #size "\nret\n.cfi_endproc\n.size " #f ",.-" #f \
		"\n.p2align 12\n.popsection");                                               \
	void f(void (*call)(void))

FRAME_FUNCTION(frame_near, 8);
FRAME_FUNCTION(frame_far, 1000);

static uint64_t frame_bytes; /* of the one that is there */

/*
 * Unwind rows of the page, registered with libgcc once, for that must not be interrupted: one
 * function, whose frame has frame_bytes between its first instruction and its last but one (DWARF
 * 5, section 6.4).
 */
static struct page_frames {
	uint32_t cie_bytes, cie_id;
	uint8_t version, augmentation, code_align, data_align, return_register;
	uint8_t cie_code[7]; /* CFA: rsp + 8, return address at CFA - 8 */
	uint32_t fde_bytes, cie_distance;
	uint64_t start, range;
	uint8_t code[6]; /* from byte 7 on, CFA: rsp + 8 + ... */
	uint64_t bytes_at;
	uint8_t rest[10]; /* ... what is there; from byte 16 on again rsp + 8 */
	uint32_t end;
} __attribute__((packed)) page_frames = {
	.cie_bytes = 16,
	.version = 1,
	.code_align = 1,
	.data_align = 0x78,
	.return_register = 16,
	.cie_code = { 0x0c, 7, 8, 0x90, 1 },
	.fde_bytes = 44,
	.cie_distance = offsetof(struct page_frames, cie_distance),
	.range = PAGE,
	.code = { 0x47, 0x0f, 13, 0x77, 8, 0x03 },
	.rest = { 0x06, 0x22, 0x49, 0x0c, 7, 8 },
};

void __register_frame(void *frames);

static void *put_page(void *page, void (*function)(void (*)(void)), int way)
{
	extern char __executable_start;
	off_t offset = (char *)function - &__executable_start;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int flags = MAP_PRIVATE | (page && way == 1 ? MAP_FIXED : 0);
	void *at;

	if (page && way == 0)
		munmap(page, PAGE);
	at = mmap(flags & MAP_FIXED ? page : NULL, PAGE, PROT_READ | PROT_EXEC, flags, fd, offset);
	close(fd);
	if (page && way == 2)
		at = mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page);
	return at;
}

static void take_some(void)
{
	for (int i = 0; i < 5000; i++)
		take(i);
}

static void describe_page(void *page)
{
	page_frames.start = (uintptr_t)page;
	page_frames.bytes_at = (uintptr_t)&frame_bytes;
	__register_frame(&page_frames);
}

/* By munmap() and mmap(), MAP_FIXED, and mremap(), in turn; signals come while it is there. */
ODD void overlays(void)
{
	static void *page;
	static int n;
	void (*call)(void (*)(void));
	sigset_t prof, before;
	bool is_first = !page;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	sigprocmask(SIG_BLOCK, &prof, &before);
	page = put_page(page, n % 2 ? frame_far : frame_near, n % 3);
	frame_bytes = n++ % 2 ? 1000 : 8;
	if (is_first)
		describe_page(page);
	sigprocmask(SIG_SETMASK, &before, NULL);
	memcpy(&call, &page, sizeof(call));
	call(take_some);
}

#else
#define overlays reloads
#endif

/* ---- the program ---- */

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "frames", frames },	    { "recursion", recursion }, { "signals", signals },
	{ "alt-signals", signals }, { "contexts", contexts },	{ "libraries", libraries },
	{ "reloads", reloads },	    { "overlays", overlays },	{ "threads", frames },
};

static void *run_mode(void *arg)
{
	const struct mode *mode = arg;

	while (now_s() < end_s)
		mode->run();
	return NULL;
}

static void run_threads(const struct mode *mode)
{
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, run_mode, (void *)mode);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void start_ticks(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	const char *us = getenv("ODD_TICK_US");
	struct timespec tick = { 0, atol(us ? us : TICK_US) * 1000 };
	struct itimerspec spec = { tick, tick };
	struct sigaction action;
	timer_t timer;

	sigaction(SIGPROF, NULL, &action);
	if (action.sa_handler != SIG_DFL && !timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &spec, NULL);
}

int main(int argc, char **argv)
{
	const struct mode *mode = modes;

	if (argc < 3)
		return 2;
	while (strcmp(mode->name, argv[1]))
		if (++mode == modes + sizeof(modes) / sizeof(*modes))
			return 2;
	end_s = now_s() + atof(argv[2]);
	plugins = argv + 3;
	n_plugins = argc - 3 < 8 ? argc - 3 : 8;
	catch_signals(!strcmp(mode->name, "alt-signals") ? SA_ONSTACK : 0);
	start_ticks();
	if (!strcmp(mode->name, "threads"))
		run_threads(mode);
	else
		run_mode((void *)mode);
	return 0;
}
