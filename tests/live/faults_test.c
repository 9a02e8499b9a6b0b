// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each tool with something that fails under it: the nth allocation, open, read, mmap, call of bpf()
 * or perf_event_open() (tests/faults/inject.c). It may give up, if it says why; it may go on
 * without, if it says so or if nothing is missing in the result. It must not crash, hang, leave
 * anything behind, or be wrong without a word.
 *
 * FAULTS=full takes every n; FAULTS=KIND those of a kind; without, a few of each kind.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../work/leaky.h"
#include "live.h"

#define POINTS	  9 /* of each kind */
#define LIMIT_MS  20000
#define MAX_WORDS 16

struct victim {
	const char *words[MAX_WORDS]; /* the tool and its options; then "--" and a workload */
	const char *work[MAX_WORDS];
	uint64_t (*measure)(const char *out);
	uint64_t least; /* what it measures without any fault, at least */
};

/* Values may not be absent; names may be, as [FILE+0xADDRESS] shows, if that is said. */
static uint64_t measure_spin(const char *out)
{
	return folded_sum(out, "spin", NULL);
}

static uint64_t measure_naps(const char *out)
{
	return folded_sum(out, "plan-0", NULL);
}

static uint64_t measure_waits(const char *out)
{
	return hist_count_of(out, NULL);
}

static uint64_t measure_leaks(const char *out)
{
	return folded_sum(out, "leaky", NULL);
}

static uint64_t measure_faults(const char *out)
{
	return folded_sum(out, "faults", NULL);
}

static uint64_t measure_calls(const char *out)
{
	const char *at = strstr(out, "\ngetppid ");

	return at ? strtoull(at + strlen("\ngetppid "), NULL, 10) : 0;
}

static const struct victim profile = {
	{ "profile", "-U", "-F", "499" }, { "spin", "-r", "-m", "60" }, measure_spin, 15
};

static const struct victim offcputime = {
	{ "offcputime", "-f" }, { "plan", "1", "5", "10", "1" }, measure_naps, 30000
};

static const struct victim runqlat = {
	{ "runqlat" }, { "plan", "1", "31", "1", "0" }, measure_waits, 25
};

static const struct victim memleak = {
	{ "memleak", "--format", "folded" },
	{ "leaky", "all", "1" },
	measure_leaks,
	(uint64_t)MALLOC_COUNT *MALLOC_BYTES,
};

static const struct victim syscount = {
	{ "syscount", "-T", "99" }, { "calls", "plain", "1009" }, measure_calls, 1009
};

static const struct victim pagefaults = {
	{ "pagefaults", "-f" }, { "faults", "anon:1009" }, measure_faults, 1009
};

/* ---- one run ---- */

struct injection {
	const char *library, *counts_path;
	const char *fault;  /* "KIND:N"; NULL: none */
	const char *usual;  /* what the tool says without one */
	bool has_all_names; /* without one */
};

static bool inject(void *arg)
{
	const struct injection *injection = arg;

	if (injection->fault && setenv("FAULT", injection->fault, 1))
		return false;
	return !setenv("FAULT_COUNTS", injection->counts_path, 1) &&
	       !setenv("LD_PRELOAD", injection->library, 1);
}

static size_t list_words(const char *const *words, const char **list, size_t n)
{
	for (; *words; words++)
		list[n++] = *words;
	return n;
}

/* To its end, or to where it hangs. */
static struct proc *run_victim(const struct victim *v, struct injection *injection)
{
	const char *list[2 * MAX_WORDS + 3];
	struct proc *p;
	size_t n = list_words(v->words, list, 0);

	list[n++] = "--";
	list[n] = work_path(v->work[0]);
	n = list_words(v->work + 1, list, n + 1);
	list[n] = NULL;
	p = tool_launch_in(inject, injection, list);
	proc_linger(p, LIMIT_MS);
	return p;
}

/* Its children became ours when it ended. */
static bool leaves_children(void)
{
	pid_t pid;

	for (int tries = 0; tries < 50; tries++) {
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return false;
		usleep(10000);
	}
	return true;
}

static bool is_end(char c)
{
	return !c || c == '\n';
}

/* A line is how the other one begins, but for numbers. */
static bool begins_with(const char *line, const char *start)
{
	for (;; line++, start++) {
		line += strspn(line, "0123456789.");
		start += strspn(start, "0123456789.");
		if (is_end(*start) || *line != *start)
			return is_end(*start);
	}
}

static bool has_line(const char *text, const char *start)
{
	for (; text && *text; text = strchr(text, '\n'), text += text != NULL)
		if (begins_with(text, start))
			return true;
	return false;
}

/* It has said something that it does not usually say. */
static bool has_warned(const char *said, const char *usual)
{
	for (; said && *said; said = strchr(said, '\n'), said += said != NULL)
		if (!has_line(usual, said))
			return true;
	return false;
}

static bool has_all_names(const char *out)
{
	return !strstr(out, "+0x") && !strstr(out, "@0x");
}

/* What is wrong with an end; NULL: nothing. */
static const char *wrong_end(const struct victim *v, struct proc *p, const struct injection *how)
{
	bool has_word = has_warned(p->err, how->usual);

	if (!p->has_ended)
		return "it hangs";
	if (p->status < 0)
		return text_of("it died of signal %d", -p->status);
	if (p->status && !has_word)
		return text_of("status %d without a word", p->status);
	if (!p->status && !has_word && v->measure(p->out) < v->least)
		return text_of("%llu of %llu, without a word",
			       (unsigned long long)v->measure(p->out),
			       (unsigned long long)v->least);
	if (!p->status && !has_word && how->has_all_names && !strncmp(how->fault, "open:", 5) &&
	    !has_all_names(p->out)) /* of failed reads, libelf hides a few */
		return "names are missing without a word";
	return NULL;
}

static void try_fault(const struct victim *v, struct injection *injection)
{
	struct proc *p = run_victim(v, injection);
	const char *wrong = wrong_end(v, p, injection);

	proc_kill(p);
	if (leaves_children())
		wrong = "it left a process behind";
	if (wrong)
		UNIT_FAIL("%s with the fault %s: %s; status %d, it said: %.300s", v->words[0],
			  injection->fault, wrong, p->status, p->err);
	proc_free(p);
}

/* ---- all of them ---- */

static void try_kind(const struct victim *v, struct injection *injection, const char *kind, long n)
{
	const char *mode = getenv("FAULTS");
	bool is_full = mode && (!strcmp(mode, "full") || !strcmp(mode, kind));
	long points = is_full || n < POINTS ? n : POINTS;

	if (mode && !is_full)
		return;
	for (long i = 0; i < points; i++) {
		injection->fault =
			text_of("%s:%ld", kind, 1 + (points > 1 ? i * (n - 1) / (points - 1) : 0));
		try_fault(v, injection);
	}
}

static void try_all(const struct victim *v)
{
	const char *library = work_path("inject.so"), *counts;
	struct injection injection = {};
	struct proc *usual;
	char kind[16];
	long n;

	if (access(library, R_OK))
		SKIP("nothing can be preloaded: the tools are static, or sanitized");
	injection.library = realpath_of(library);
	injection.counts_path = text_of("%s/counts", folder_make());
	usual = run_victim(v, &injection);
	CHECK_STATUS(usual, 0);
	CHECK(v->measure(usual->out) >= v->least);
	injection.usual = usual->err;
	injection.has_all_names = has_all_names(usual->out);
	counts = file_read(injection.counts_path);
	CHECK(counts);
	for (int at = 0; counts && sscanf(counts, "%15s %ld\n%n", kind, &n, &at) == 2; counts += at)
		try_kind(v, &injection, kind, n);
}

TEST(profile_bears_faults)
{
	try_all(&profile);
}

TEST(offcputime_bears_faults)
{
	try_all(&offcputime);
}

TEST(runqlat_bears_faults)
{
	try_all(&runqlat);
}

TEST(memleak_bears_faults)
{
	try_all(&memleak);
}

TEST(syscount_bears_faults)
{
	try_all(&syscount);
}

TEST(pagefaults_bears_faults)
{
	try_all(&pagefaults);
}
