// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each tool with something that fails under it: the nth allocation, open, read, mmap, call of bpf()
 * or perf_event_open() (tests/faults/inject.c). It may give up, if it says why; it may go on
 * without, if it says so or if nothing is missing in the result. It must not crash, hang, leave
 * anything behind, or be wrong without a word.
 *
 * FAULTS=full takes every n; FAULTS=KIND those of a kind; without, a few of each kind.
 * FAULTS=stacks takes every n too, but for allocations: of those that the same callers ask for, the
 * first, one in the middle and the last, as the code that bears the others is the same.
 * FAULTS_JOBS (4) runs go on at a time, as most of a run is waiting for the kernel.
 */
#include <sys/personality.h>

#include "../work/leaky.h"
#include "live.h"

#define POINTS	  9 /* of each kind */
#define LIMIT_MS  120000
#define MAX_WORDS 16
#define MAX_JOBS  16

struct victim {
	const char *words[MAX_WORDS]; /* the tool and its options; then "--" and a workload */
	const char *work[MAX_WORDS];
	const char *comm; /* of folded stacks, whose sum it is, or else what is measured */
	uint64_t (*measure)(const char *out);
	uint64_t least; /* what it measures without any fault, at least */
};

static uint64_t measure_waits(const char *out)
{
	return hist_count_of(out, NULL);
}

static uint64_t measure_calls(const char *out)
{
	const char *at = strstr(out, "\ngetppid ");

	return at ? strtoull(at + strlen("\ngetppid "), NULL, 10) : 0;
}

/* In per cent of what the kernel has counted for the workload itself. */
static uint64_t measure_samples(const char *out)
{
	uint64_t all = work_value(out, "spin", "samples");

	return all ? 100 * folded_sum(out, "spin", NULL) / all : 0;
}

/* Values may not be absent; names may be, as [FILE+0xADDRESS] shows, if that is said. */
static uint64_t measure(const struct victim *v, const char *out)
{
	return v->measure ? v->measure(out) : folded_sum(out, v->comm, NULL);
}

static const struct victim profile = { { "profile", "-U", "-F", "499" },
				       { "spin", "-r", "-m", "60", "-s", "499" },
				       NULL,
				       measure_samples,
				       50 };

static const struct victim offcputime = {
	{ "offcputime", "-f" }, { "plan", "1", "5", "10", "1" }, "plan-0", NULL, 30000
};

static const struct victim runqlat = {
	{ "runqlat" }, { "plan", "1", "31", "1", "0" }, NULL, measure_waits, 25
};

static const struct victim memleak = {
	{ "memleak", "--format", "folded" },  { "leaky", "all", "1" }, "leaky", NULL,
	(uint64_t)MALLOC_COUNT *MALLOC_BYTES,
};

static const struct victim syscount = {
	{ "syscount", "-T", "99" }, { "calls", "plain", "1009" }, NULL, measure_calls, 1009
};

static const struct victim pagefaults = {
	{ "pagefaults", "-f" }, { "faults", "anon:1009" }, "faults", NULL, 1009
};

/* ---- one run ---- */

struct injection {
	const char *library;
	const char *fault; /* "KIND:N" or "KIND:STACK/N"; NULL: none */
	/* Paths of files: what may fail, what did. */
	const char *counts, *stacks, *done;
};

/* All addresses are those of the other runs, for stacks to be found again. */
static bool inject(void *arg)
{
	const struct injection *injection = arg;

	if (personality(ADDR_NO_RANDOMIZE) < 0 || setenv("LD_PRELOAD", injection->library, 1))
		return false;
	if (injection->fault)
		return !setenv("FAULT", injection->fault, 1) &&
		       !setenv("FAULT_DONE", injection->done, 1);
	return !setenv("FAULT_COUNTS", injection->counts, 1) &&
	       !setenv("FAULT_STACKS", injection->stacks, 1);
}

static size_t list_words(const char *const *words, const char **list, size_t n)
{
	for (; *words; words++)
		list[n++] = *words;
	return n;
}

static struct proc *launch_victim(const struct victim *v, struct injection *injection)
{
	const char *list[2 * MAX_WORDS + 3];
	size_t n = list_words(v->words, list, 0);

	list[n++] = "--";
	list[n] = work_path(v->work[0]);
	n = list_words(v->work + 1, list, n + 1);
	list[n] = NULL;
	return tool_launch_in(inject, injection, list);
}

/* Returns true if processes of the tool's group outlive it; they have become our children. */
static bool leaves_children(pid_t group)
{
	pid_t pid;

	for (int tries = 0; tries < 6000; tries++) {
		while ((pid = waitpid(-group, NULL, WNOHANG)) > 0)
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

/* A tool's output without any fault, and the runs in progress. */
struct trial {
	const struct victim *victim;
	struct injection injection;
	char *usual; /* what it says */
	bool has_all_names;
	struct job {
		struct proc *tool;
		char *fault;
	} jobs[MAX_JOBS]; /* in the order of their start */
	int count, most;
	long all;
};

/* Returns what is wrong with the end of a run, or NULL. */
static const char *wrong_end(const struct trial *t, const struct job *job)
{
	const struct proc *p = job->tool;
	bool has_word = has_warned(p->err, t->usual);
	uint64_t measured = measure(t->victim, p->out);

	if (!p->has_ended)
		return "it hangs";
	if (p->status < 0)
		return text_of("it died of signal %d", -p->status);
	if (has_word)
		return NULL;
	if (p->status)
		return text_of("status %d without a word", p->status);
	if (measured < t->victim->least)
		return text_of("%llu of %llu, without a word", (unsigned long long)measured,
			       (unsigned long long)t->victim->least);
	if (t->has_all_names && !strncmp(job->fault, "open:", 5) && !has_all_names(p->out))
		return "names are missing without a word"; /* of failed reads, libelf hides a few */
	return NULL;
}

/* ---- many of them ---- */

/* The oldest one, to its end or to where it hangs. */
static void end_job(struct trial *t)
{
	struct job job = t->jobs[0];
	const char *wrong;

	proc_linger(job.tool, LIMIT_MS);
	wrong = wrong_end(t, &job);
	proc_kill(job.tool);
	if (leaves_children(job.tool->pid))
		wrong = "it left a process behind";
	if (wrong)
		UNIT_FAIL("%s with the fault %s: %s; status %d, it said: %.300s", job.tool->name,
			  job.fault, wrong, job.tool->status, job.tool->err);
	proc_free(job.tool);
	free(job.fault);
	memmove(t->jobs, t->jobs + 1, sizeof(job) * (size_t)--t->count);
}

static void try_fault(struct trial *t, const char *kind, const char *stack, long n)
{
	struct job *job;

	if (t->count == t->most)
		end_job(t);
	job = &t->jobs[t->count++];
	if (asprintf(&job->fault, "%s:%s%s%ld", kind, stack, *stack ? "/" : "", n) < 0)
		abort();
	t->injection.fault = job->fault;
	job->tool = launch_victim(t->victim, &t->injection);
	t->all++;
}

static void try_kind(struct trial *t, const char *kind, long n, long points)
{
	if (points > n)
		points = n;
	for (long i = 0; i < points; i++)
		try_fault(t, kind, "", 1 + (points > 1 ? i * (n - 1) / (points - 1) : 0));
}

/* As the file has them: "STACK COUNT". */
static void try_stacks(struct trial *t, const char *list, long all)
{
	char stack[24];
	long n, sum = 0;

	for (int at = 0; sscanf(list, "%23s %ld\n%n", stack, &n, &at) == 2; list += at, sum += n) {
		try_fault(t, "alloc", stack, 1);
		if (n > 2)
			try_fault(t, "alloc", stack, (n + 1) / 2);
		if (n > 1)
			try_fault(t, "alloc", stack, n);
	}
	CHECK_EQ(sum, all);
}

static void choose_faults(struct trial *t, const char *kind, long n, const char *stacks)
{
	const char *mode = getenv("FAULTS");
	bool by_stacks = mode && !strcmp(mode, "stacks");

	if (by_stacks && !strcmp(kind, "alloc"))
		try_stacks(t, stacks, n);
	else if (by_stacks || (mode && (!strcmp(mode, "full") || !strcmp(mode, kind))))
		try_kind(t, kind, n, n);
	else if (!mode)
		try_kind(t, kind, n, POINTS);
}

static int count_jobs(void)
{
	const char *wanted = getenv("FAULTS_JOBS");
	int n = wanted ? atoi(wanted) : 4;

	return n > 0 && n <= MAX_JOBS ? n : 1;
}

static void begin_trial(struct trial *t)
{
	const char *folder = folder_make();
	struct injection *in = &t->injection;
	struct proc *usual;

	in->counts = text_of("%s/counts", folder);
	in->stacks = text_of("%s/stacks", folder);
	in->done = text_of("%s/done", folder);
	CHECK(!close(open(in->done, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
	usual = launch_victim(t->victim, in);
	tool_finish(usual);
	CHECK(measure(t->victim, usual->out) >= t->victim->least);
	t->usual = usual->err;
	t->has_all_names = has_all_names(usual->out);
}

/* Runs differ, as what else runs on the machine does: not every call comes as often as before. */
static void end_trial(struct trial *t)
{
	const char *done;

	while (t->count)
		end_job(t);
	done = file_read(t->injection.done);
	CHECK(done && (long)strlen(done) >= t->all / 2);
	if (getenv("FAULTS"))
		printf("%s: %zu of %ld faults came\n", t->victim->words[0], done ? strlen(done) : 0,
		       t->all);
}

static void try_all(const struct victim *v)
{
	const char *library = work_path("inject.so"), *counts, *stacks;
	struct trial trial = { .victim = v, .most = count_jobs() };
	char kind[16];
	long n;

	if (access(library, R_OK))
		SKIP("nothing can be preloaded: the tools are static, or sanitized");
	trial.injection.library = realpath_of(library);
	begin_trial(&trial);
	counts = file_read(trial.injection.counts);
	stacks = file_read(trial.injection.stacks);
	CHECK(counts && stacks);
	for (int at = 0; counts && sscanf(counts, "%15s %ld\n%n", kind, &n, &at) == 2; counts += at)
		choose_faults(&trial, kind, n, stacks);
	end_trial(&trial);
}

#define FAULTS_TEST(tool)         \
	TEST(tool##_bears_faults) \
	{                         \
		try_all(&tool);   \
	}

FAULTS_TEST(profile)
FAULTS_TEST(offcputime)
FAULTS_TEST(runqlat)
FAULTS_TEST(memleak)
FAULTS_TEST(syscount)
FAULTS_TEST(pagefaults)
