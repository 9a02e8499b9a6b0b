// SPDX-License-Identifier: GPL-2.0-only
/* Tests of requests to debuginfod's servers and their limits. The client's library is made up. */
#include "../symbols/image.h"
#include "base/dynlib.h"
#include "base/signals.h"
#include "symbols/debugfile.h"
#include "symbols/debugfile.h"
#include "symbols/elfsyms.h"
#include "child.h"
#include "silent.h"
#include "unit.h"

#define MANY	    5000
#define MINUTE_NS   (60 * NS_PER_S)
#define STEPS_MAX   1000
#define CHUNK_BYTES 1000

typedef int progress_fn(void *client, long at, long all);

/* Events during a request, in steps of a second. */
enum event {
	NOTHING,
	SIGNAL,
};

static struct {
	int answer;
	int n_steps;  /* until the answer comes */
	int n_silent; /* of these, without any byte */
	enum event event;

	int n_asked, n_taken;
	progress_fn *progress;
	uint64_t now_ns;
} server = { .now_ns = NS_PER_S };

/* In the place of base/clock.c's. */
uint64_t clock_now_ns(void)
{
	return server.now_ns;
}

uint64_t clock_wall_ns(void)
{
	return server.now_ns;
}

static void happen(void)
{
	if (server.event == SIGNAL)
		kill(getpid(), SIGINT);
	server.event = NOTHING;
}

static int find(void *client, const unsigned char *id, int bytes, char **path)
{
	(void)id;
	(void)bytes;
	(void)path;
	server.n_asked++;
	server.n_taken = 0;
	for (long step = 1; step <= server.n_steps; step++) {
		long n_bytes = (step - server.n_silent) * CHUNK_BYTES;

		happen();
		server.now_ns += NS_PER_S;
		server.n_taken++;
		if (server.progress && server.progress(client, n_bytes > 0 ? n_bytes : step, 0))
			return -ENOENT;
	}
	errno = EIO; /* is of no meaning */
	return server.answer;
}

static void *begin(void)
{
	return &server;
}

static void set_progress(void *client, progress_fn *progress)
{
	(void)client;
	server.progress = progress;
}

void *dynlib_find(const char *library, const char *name)
{
	(void)library;
	if (!strcmp(name, "debuginfod_begin"))
		return (void *)begin;
	if (!strcmp(name, "debuginfod_set_progressfn"))
		return (void *)set_progress;
	return strcmp(name, "debuginfod_find_debuginfo") ? NULL : (void *)find;
}

static int ask(uint32_t id)
{
	setenv("DEBUGINFOD_URLS", "http://localhost", 1);
	return debuginfod_download((const uint8_t *)&id, sizeof(id));
}

static int said, saved;

BEFORE_EACH()
{
	saved = divert(stderr, &said);
}

AFTER_EACH()
{
	end_diversion(stderr, said, saved);
}

static void check_said(const char *wanted)
{
	CHECK_STR(read_diverted(stderr, said), wanted);
}

TEST_APART(servers_that_never_answer_are_left_alone)
{
	server.n_steps = STEPS_MAX;
	server.n_silent = STEPS_MAX;
	CHECK_EQ(ask(1), -ENOENT);
	CHECK_EQ(ask(2), -ENOENT);
	CHECK_EQ(server.n_asked, 1);
	CHECK_EQ(server.n_taken, 5);
	server.now_ns += 5 * MINUTE_NS;
	CHECK_EQ(ask(3), -ENOENT);
	CHECK_EQ(ask(4), -ENOENT);
	CHECK_EQ(server.n_asked, 2);
	check_said("tracelets: warning: debuginfod: Connection timed out: disabled for 5 "
		   "minutes (some functions may have no names)\n");
}

TEST_APART(what_comes_slowly_is_waited_for)
{
	server.n_steps = STEPS_MAX;
	server.n_silent = 3;
	server.answer = 7;
	CHECK_EQ(ask(1), 7);
	CHECK_EQ(ask(2), 7);
	CHECK_EQ(server.n_asked, 2);
}

TEST_APART(servers_that_cannot_be_reached_are_left_alone)
{
	server.answer = -ECONNREFUSED;
	CHECK_EQ(ask(1), -ENOENT);
	CHECK_EQ(ask(2), -ENOENT);
	CHECK_EQ(server.n_asked, 1);
	check_said("tracelets: warning: debuginfod: Connection refused: disabled for 5 "
		   "minutes (some functions may have no names)\n");
}

TEST_APART(servers_that_lack_a_file_are_asked_for_others)
{
	server.answer = -ENOENT;
	CHECK_EQ(ask(1), -ENOENT);
	server.answer = -EFBIG;
	CHECK_EQ(ask(2), -ENOENT);
	server.answer = 7;
	CHECK_EQ(ask(3), 7);
	CHECK_EQ(server.n_asked, 3);
	check_said("");
}

/* As tools do, which read it later. */
TEST_APART(a_signal_ends_a_question)
{
	CHECK(signals_catch() >= 0);
	server.n_steps = STEPS_MAX;
	server.event = SIGNAL;
	CHECK_EQ(ask(1), -ENOENT);
	CHECK_EQ(server.n_taken, 1);
	CHECK_EQ(ask(2), -ENOENT);
	CHECK_EQ(server.n_asked, 1);
	signals_take();
	server.answer = 7;
	CHECK_EQ(ask(3), 7);
	check_said("");
}

static const char note[] = "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\xef";
static const char code[64];

static int open_stripped(void)
{
	const struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, 0x1000, code, sizeof(code), 0 },
		{ ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, sizeof(note), 0 },
	};
	size_t size;
	uint8_t *image = image_make(sections, 2, EM_X86_64, &size);
	int fd = memory_file(image, size);

	free(image);
	return fd;
}

/* The traced file was read without any error. */
TEST_APART(errors_of_the_library_are_none_of_the_traced_file)
{
	const struct debug_place nowhere = { .root_fd = -1, .own_root_fd = -1 };
	int fd = open_stripped();
	struct elfsyms *es;

	setenv("DEBUGINFOD_URLS", "http://localhost", 1);
	setenv("DEBUGINFOD_CACHE_PATH", "/nowhere", 1);
	server.answer = -ENOENT;
	es = elfsyms_load(fd, &nowhere);
	CHECK(es != NULL);
	CHECK_EQ(server.n_asked, 1);
	check_said("");
	elfsyms_free(es);
}

static bool was_asked(uint32_t id)
{
	return debuginfod_was_asked((const uint8_t *)&id, sizeof(id));
}

TEST(nobody_is_asked_twice_but_after_thousands_of_others)
{
	int n = 0;

	CHECK(!was_asked(1));
	CHECK(was_asked(1));
	for (uint32_t id = 2; id < MANY; id++)
		n += was_asked(id);
	CHECK_EQ(n, 0);
	CHECK(was_asked(MANY - 1));
	CHECK(!was_asked(1));
	CHECK(was_asked(1));
}
