/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests: one program per module, one TEST per behaviour. A failed CHECK is printed with its
 * location and fails the test, which continues. Each test prints one line, "PASS name", "FAIL name"
 * or, after SKIP(why), "SKIP name: why"; tests/run counts them, and treats "needs package" as a
 * failure if CI is set.
 * A file may define UNIT_BEFORE and UNIT_AFTER before it includes this one: they run around each
 * test, and the value of UNIT_AFTER counts as failed checks. Otherwise, a test that leaves a
 * descriptor open fails. If UNIT_TIMES is set in the environment, a line "@TIME MS name" precedes a
 * test's line.
 *
 *	BEFORE_EACH()			runs before each test
 *	{
 *		parser = parser_new();
 *	}
 *
 *	AFTER_EACH()			runs after each test
 *	{
 *		parser_free(parser);
 *	}
 *
 *	TEST(parses_seconds)
 *	{
 *		CHECK_EQ(parse(parser, "5"), 5);
 *	}
 */
#ifndef UNIT_H
#define UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"

struct unit_test {
	const char *name;
	void (*run)(void);
	const char *(*lacks)(void);
	struct unit_test *next;
};

static struct unit_test *unit_tests, **unit_tail = &unit_tests;
static int unit_failures;
static char unit_skipped[256];

#ifndef UNIT_BEFORE
static int unit_files_before;

static inline int unit_count_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static inline int unit_check_files(void)
{
	int n_left = unit_count_files() - unit_files_before;

	if (n_left > 0)
		printf("%d descriptors are left open\n", n_left);
	return n_left > 0;
}

#define UNIT_BEFORE() (unit_files_before = unit_count_files())
#define UNIT_AFTER()  unit_check_files()
#endif

/* Defines a test that is skipped if lacks() returns a reason; lacks NULL: never skipped. */
#define TEST_UNLESS(lacks, id)                                        \
	static void id(void);                                         \
	static struct unit_test id##_test = { #id, id, lacks, NULL }; \
	__attribute__((constructor)) static void id##_add(void)       \
	{                                                             \
		*unit_tail = &id##_test;                              \
		unit_tail = &id##_test.next;                          \
	}                                                             \
	static void id(void)

#define TEST(id) TEST_UNLESS(NULL, id)

__attribute__((weak)) void unit_before_each(void);
__attribute__((weak)) void unit_after_each(void);

#define BEFORE_EACH() void unit_before_each(void)
#define AFTER_EACH()  void unit_after_each(void)

#define UNIT_FAIL(...)                                 \
	do {                                           \
		unit_failures++;                       \
		printf("%s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                   \
		putchar('\n');                         \
	} while (0)

static void **unit_owned;
static size_t unit_n_owned;

/* Frees memory at the end of the test. Returns it. */
__attribute__((unused)) static void *until_end(void *memory)
{
	unit_owned = mem_realloc(unit_owned, unit_n_owned + 1, sizeof(*unit_owned));
	unit_owned[unit_n_owned++] = memory;
	return memory;
}

/* Called once at the end of the test; NULL: nothing. */
static void (*unit_at_end)(void);

/* Text that statements print to f, freed at the end of the test: PRINTED(f, puts_to(f)) */
#define PRINTED(f, ...)                                           \
	({                                                        \
		char *unit_text;                                  \
		size_t unit_size;                                 \
		FILE *f = open_memstream(&unit_text, &unit_size); \
		__VA_ARGS__;                                      \
		fclose(f);                                        \
		(char *)until_end(unit_text);                     \
	})

/* Returns the names at several addresses, joined: "a, b, -". NULL becomes "-". */
#define NAMES(name_at, ...)                                      \
	names_at_all(name_at, (const uint64_t[]){ __VA_ARGS__ }, \
		     ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })))

__attribute__((unused)) static char *names_at_all(const char *(*name_at)(uint64_t addr),
						  const uint64_t *addrs, size_t n)
{
	return PRINTED(f, {
		for (size_t i = 0; i < n; i++) {
			const char *name = name_at(addrs[i]);

			fprintf(f, "%s%s", i ? ", " : "", name ? name : "-");
		}
	});
}

/* Returns where something is in this process's own memory, which tests read as another's. */
static inline uint64_t address_of(const void *p)
{
	return (uintptr_t)p;
}

/* Returns the descriptor of a file in memory with these bytes. */
__attribute__((unused)) static int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

/* Returns how often part occurs in text, including overlaps. */
static inline size_t count_in(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* Returns from the test, which can't run here; arguments: the reason, as for printf(). */
#define SKIP(...)                                                          \
	do {                                                               \
		snprintf(unit_skipped, sizeof(unit_skipped), __VA_ARGS__); \
		return;                                                    \
	} while (0)

/* Skips the test if a file of a package is missing. */
#define NEED_FILE(path, package)                        \
	do {                                            \
		if (access(path, R_OK))                 \
			SKIP("needs package " package); \
	} while (0)

#define CHECK(cond)                                       \
	do {                                              \
		if (!(cond))                              \
			UNIT_FAIL("not true: %s", #cond); \
	} while (0)

#define CHECK_EQ(a, b)                                                         \
	do {                                                                   \
		long long unit_a = (long long)(a), unit_b = (long long)(b);    \
		if (unit_a != unit_b)                                          \
			UNIT_FAIL("%s is %lld, not %lld", #a, unit_a, unit_b); \
	} while (0)

#define CHECK_STR(a, b)                                                                       \
	do {                                                                                  \
		const char *unit_a = (a), *unit_b = (b);                                      \
		if (!unit_a || !unit_b || strcmp(unit_a, unit_b))                             \
			UNIT_FAIL("%s is \"%s\", not \"%s\"", #a, unit_a ? unit_a : "(null)", \
				  unit_b ? unit_b : "(null)");                                \
	} while (0)

/* Compare like CHECK_EQ and CHECK_STR, for a test case with a name. */
#define CHECK_CASE(name, a, b)                                                               \
	do {                                                                                 \
		long long unit_a = (long long)(a), unit_b = (long long)(b);                  \
		if (unit_a != unit_b)                                                        \
			UNIT_FAIL("\"%s\": %s is %lld, not %lld", name, #a, unit_a, unit_b); \
	} while (0)

#define CHECK_CASE_STR(name, a, b)                                                               \
	do {                                                                                     \
		const char *unit_a = (a), *unit_b = (b);                                         \
		if (strcmp(unit_a, unit_b))                                                      \
			UNIT_FAIL("\"%s\": %s is \"%s\", not \"%s\"", name, #a, unit_a, unit_b); \
	} while (0)

/* Checks that the text contains each of the parts. */
#define CHECK_HAS(text, ...)                                                                     \
	do {                                                                                     \
		const char *unit_text = (text), *const unit_parts[] = { __VA_ARGS__ };           \
		for (size_t unit_i = 0; unit_i < ARRAY_SIZE(unit_parts); unit_i++)               \
			if (!strstr(unit_text, unit_parts[unit_i]))                              \
				UNIT_FAIL("%s lacks \"%s\": %.2000s", #text, unit_parts[unit_i], \
					  unit_text);                                            \
	} while (0)

static long long unit_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void unit_run_body(const struct unit_test *t)
{
	const char *lacking = t->lacks ? t->lacks() : NULL;

	if (lacking)
		SKIP("%s", lacking);
	if (unit_before_each)
		unit_before_each();
	t->run();
	if (unit_after_each)
		unit_after_each();
}

static void unit_clean_up(void)
{
	if (unit_at_end)
		unit_at_end();
	unit_at_end = NULL;
	while (unit_n_owned)
		free(unit_owned[--unit_n_owned]);
}

static int unit_run(const struct unit_test *t)
{
	long long start_ms = unit_now_ms();

	unit_failures = 0;
	unit_skipped[0] = '\0';
	UNIT_BEFORE();
	unit_run_body(t);
	unit_clean_up();
	unit_failures += UNIT_AFTER();
	if (getenv("UNIT_TIMES"))
		printf("@TIME %lld %s\n", unit_now_ms() - start_ms, t->name);
	if (unit_skipped[0] && !unit_failures)
		printf("SKIP %s: %s\n", t->name, unit_skipped);
	else
		printf("%s %s\n", unit_failures ? "FAIL" : "PASS", t->name);
	fflush(stdout);
	return unit_failures > 0;
}

/* Runs all tests; with arguments, only the named ones. */
int main(int argc, char **argv)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* so that a killed test has printed its failures */
	for (const struct unit_test *t = unit_tests; t; t = t->next) {
		int i = 1;

		while (i < argc && strcmp(argv[i], t->name))
			i++;
		if (argc == 1 || i < argc)
			failed += unit_run(t);
	}
	return failed > 0;
}

#endif
