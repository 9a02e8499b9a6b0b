// SPDX-License-Identifier: GPL-2.0-only
/*
 * pretend MS: looks like Python 3.11 from outside, and lies. It exports Python's names and keeps
 * threads' states, frames and code objects where Python does. One thread computes and sleeps below
 * such frames, another waits below them. For the first half of the time the frames are as they
 * should be, with names that are not; then a third thread writes over all of it, again and again.
 */
#include <pthread.h>
#include <string.h>

#include "work.h"

#define VERSION	    0x030b02f0
#define N_FRAMES    40
#define N_TEXTS	    8
#define N_CODES	    N_TEXTS
#define FRAME_WORDS 12
#define CODE_WORDS  24
#define TEXT_WORDS  32
#define STATE_WORDS 24
#define PAGE_BYTES  4096
#define STR_ASCII   (1 << 6 | 1 << 5 | 1 << 2) /* compact, one byte a character */
#define STR_COMPACT (1 << 5)

/* As include/internal/pycore_frame.h and others of 3.11 have them, in words. */
static struct {
	uint64_t interpreter[4];
	uint64_t states[2][STATE_WORDS];
	uint64_t frames[N_FRAMES][FRAME_WORDS];
	uint64_t codes[N_CODES][CODE_WORDS];
	uint64_t texts[N_TEXTS][TEXT_WORDS];
	uint64_t lines[16];
} python, truth;

extern uint64_t _PyRuntime[512], PyCode_Type[64];
extern const uint32_t Py_Version;
uint64_t _PyRuntime[512], PyCode_Type[64];
const uint32_t Py_Version = VERSION;

static pthread_key_t key;
static uint64_t truth_ns, end_ns; /* when each ends; before: how long all of it takes */
static uint64_t edge;		  /* the last words of a page without a next one */

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

/* ---- what is there ---- */

static void put_text(int i, uint32_t state, uint64_t length, const void *text, size_t n_bytes)
{
	uint64_t *str = python.texts[i];

	str[2] = length;
	str[4] = state;
	memcpy(str + (state & 1 << 6 ? 6 : 9), text, n_bytes);
}

static void put_texts(void)
{
	static const uint16_t halves[] = { 'w', 0xd800, 0xdfff, 0x9b, 0x202e, 'w' };
	static const uint32_t words[] = { 'q', 0x110000, 0xffffffff, 0x1b, 'q' };

	put_text(0, STR_ASCII, 5, "plain", 5);
	put_text(1, STR_ASCII, 12, "evil\033[2J;\n\a\177", 12);
	put_text(2, STR_ASCII, 10, "raw\377\376\300\200\355\240\200", 10);
	put_text(3, STR_COMPACT | 2 << 2, 6, halves, sizeof(halves));
	put_text(4, STR_COMPACT | 4 << 2, 5, words, sizeof(words));
	put_text(5, STR_ASCII, 1ULL << 62, "endless", 7);
	put_text(6, STR_COMPACT | 3 << 2, 100, "kind", 4);
	put_text(7, STR_ASCII, 21, "\033]0;owned\a/../lies.py", 20);
}

static void put_codes(void)
{
	for (int i = 0; i < N_CODES; i++) {
		uint64_t *code = python.codes[i];

		code[1] = address(PyCode_Type);
		code[9] = (uint64_t)i << 30 | 7;
		code[14] = address(python.texts[7]);
		code[15] = code[16] = address(python.texts[i % N_TEXTS]);
		code[17] = address(python.lines);
	}
	python.lines[2] = sizeof(uint64_t) * 8;
	memset(&python.lines[4], 0xff, sizeof(uint64_t) * 8);
}

static void put_frames(void)
{
	for (int i = 0; i < N_FRAMES; i++) {
		uint64_t *frame = python.frames[i];

		frame[4] = address(python.codes[i % N_CODES]);
		frame[6] = i + 1 < N_FRAMES ? address(python.frames[i + 1]) : 0;
		frame[7] = frame[4] + 184 + (uint64_t)i * 0x1000001;
		frame[8] = i + 1 < N_FRAMES ? 0 : 1ULL << 32; /* is_entry */
	}
}

static void put_all(void)
{
	_PyRuntime[5] = address(python.interpreter);
	python.interpreter[2] = address(python.states[0]);
	python.states[0][1] = address(python.states[1]);
	put_texts();
	put_codes();
	put_frames();
}

/* ---- lies ---- */

static uint64_t draw(void)
{
	static uint64_t state = 0x853c49e6748fea9bULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t draw_lie(void)
{
	uint64_t inside = address(&python) + draw() % sizeof(python), drawn = draw();

	switch (drawn >> 32 & 7) {
	case 0:
		return 0;
	case 1:
		return ~0ULL >> (drawn & 63);
	case 2:
		return 0xffff888000000000ULL + (drawn & 0xfffff);
	case 3:
		return drawn;
	case 4:
		return edge + (drawn & 63);
	case 5:
		return inside;
	default:
		return inside & ~7ULL;
	}
}

static void *lie(void *arg)
{
	volatile uint64_t *words = (void *)&python;

	while (work_clock(CLOCK_MONOTONIC) < truth_ns)
		work_sleep(NS_PER_MS);
	while (work_clock(CLOCK_MONOTONIC) < end_ns) {
		for (int i = 0; i < 40; i++) {
			words[draw() % (sizeof(python) / sizeof(*words))] = draw_lie();
			for (volatile int turns = 0; turns < 2000; turns++)
				;
		}
		memcpy(&python, &truth, sizeof(python));
	}
	return arg;
}

/* ---- threads below frames ---- */

WORK_FUNCTION void compute(void)
{
	for (volatile int i = 0; i < 200000; i++)
		;
}

WORK_FUNCTION void compute_and_sleep(void)
{
	while (work_clock(CLOCK_MONOTONIC) < end_ns) {
		compute();
		work_sleep(NS_PER_MS / 2);
	}
	WORK_KEEP_FRAME();
}

/* On the stack there is what marks the native frame that runs the frames: a struct _PyCFrame. */
WORK_FUNCTION void evaluate(int i, void (*run)(void))
{
	uint64_t cframe[4] = { 0, address(python.frames[0]), 0, 0 };

	python.states[i][7] = address(cframe);
	python.states[i][19] = (uint64_t)pthread_self();
	pthread_setspecific(key, python.states[i]);
	run();
	__asm__ volatile("" : : "r"(cframe) : "memory");
}

WORK_FUNCTION void wait_for_end(void)
{
	static pthread_barrier_t never;

	pthread_barrier_init(&never, NULL, 2);
	pthread_barrier_wait(&never);
	WORK_KEEP_FRAME();
}

static void *wait_below(void *arg)
{
	evaluate(1, wait_for_end);
	return arg;
}

WORK_FUNCTION void begin_and_compute(void)
{
	pthread_t liar;
	uint64_t now_ns;

	work_wait_go();
	memcpy(&truth, &python, sizeof(python));
	now_ns = work_clock(CLOCK_MONOTONIC);
	truth_ns = now_ns + end_ns / 2;
	end_ns += now_ns;
	pthread_create(&liar, NULL, lie, NULL);
	compute_and_sleep();
	pthread_join(liar, NULL);
}

static uint64_t make_edge(void)
{
	char *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + PAGE_BYTES, PAGE_BYTES);
	return address(pages + PAGE_BYTES - 64);
}

int main(int argc, char **argv)
{
	pthread_t waiter;

	end_ns = (uint64_t)work_number(argc, argv, 1, 1000) * NS_PER_MS;
	edge = make_edge();
	pthread_key_create(&key, NULL);
	put_all();
	pthread_create(&waiter, NULL, wait_below, NULL);
	evaluate(0, begin_and_compute);
	work_wait_end();
	return 0;
}
