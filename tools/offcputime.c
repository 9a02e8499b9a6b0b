// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where do threads wait, and for how long? Measures from a thread's switch-out to its switch-in,
 * splits the time at its wake-up into blocked and runnable, and sums it by stack.
 */
#include <string.h>

#include "abi/offcputime.h"
#include "base/msg.h"
#include "base/parse.h"
#include "stacks/stacks.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/tool.h"
#include "stacks/user_stacks.h"

#include "offcputime.skel.h"

static bool user_threads, kernel_threads, blocked, runnable, waker;
static uint64_t min_ns, max_ns = UINT64_MAX;
static uint32_t states = UINT32_MAX, state_mask;

/* Letters, as ps(1) shows them, or a mask of the kernel's state bits; 0: runnable. */
static int parse_state(const char *what, const char *text, void *dest)
{
	uint64_t mask;
	const char *letter;

	(void)dest;
	if (strspn(text, STATE_LETTERS) < strlen(text) || !*text) {
		if (parse_uint(what, text, 0, UINT32_MAX, &mask))
			return -1;
		state_mask = (uint32_t)mask;
		states = mask ? UINT32_MAX : 1;
		return 0;
	}
	states = 0;
	for (; *text; text++) {
		letter = strchr(STATE_LETTERS, *text);
		states |= 1U << (letter - STATE_LETTERS);
	}
	return 0;
}

static const struct opt opts[] = {
	{ 'u', "user-threads-only", NULL, OPT_FLAG(&user_threads), "no kernel threads",
	  "kernel-threads-only" },
	{ 'k', "kernel-threads-only", NULL, OPT_FLAG(&kernel_threads), "no user threads" },
	{ 'm', "min-block-time", "USEC", OPT_DURATION(&min_ns, NS_PER_US), "only waits this long" },
	{ 'M', "max-block-time", "USEC", OPT_DURATION(&max_ns, NS_PER_US),
	  "no waits longer than this" },
	{ 0, "state", "LETTERS|MASK", OPT_PARSED(parse_state, NULL),
	  "only waits in those states: letters of ps (D, S, R: preempted), or bits" },
	{ 0, "blocked", NULL, OPT_FLAG(&blocked), "only the time until the wake-up", "runnable" },
	{ 0, "runnable", NULL, OPT_FLAG(&runnable), "only the time from the wake-up on" },
	{ 0, "waker", NULL, OPT_FLAG(&waker), "with the stack of who woke the thread up" },
	{},
};

static int check(struct run *run)
{
	(void)run;
	if (min_ns > max_ns)
		return msg_error("--min-block-time is longer than --max-block-time");
	if (user_threads || kernel_threads)
		target_set_threads(user_threads ? THREADS_USER : THREADS_KERNEL);
	return 0;
}

static int configure(struct run *run)
{
	struct offcputime_bpf *skel = run->skeleton;

	skel->rodata->settings.min_ns = min_ns;
	skel->rodata->settings.max_ns = max_ns;
	skel->rodata->settings.states = states;
	skel->rodata->settings.state_mask = state_mask;
	skel->rodata->settings.waker = waker;
	skel->rodata->settings.part = blocked ? PART_BLOCKED : runnable ? PART_RUNNABLE : PART_ALL;
	stacks_set_raw_unit("nanoseconds", NS_PER_US);
	return taskstate_configure(run);
}

/* The user stack of a thread that was off CPU before tracing began. */
static void define_stack(const void *record, void *arg)
{
	const struct unwind_thread *thread = record;
	struct stack_def def = { .id = STACK_ID_AT_START | thread->tid, .kind = STACK_USER };
	uint64_t words[STACK_DEPTH];
	int reason;

	(void)arg;
	def.tgid = thread->tgid;
	def.generation = (__u32)thread->generation;
	def.n_words = (__u16)unwind_remote(thread, words, STACK_DEPTH, &reason);
	def.reason = (__u16)reason;
	for (size_t i = 0; i < def.n_words; i++)
		def.words[i] = words[i];
	stacks_define(&def);
}

static int start(struct run *run)
{
	struct offcputime_bpf *skel = run->skeleton;

	skel->data_window->window.start_ns = run->start_ns;
	return taskstate_visit(run, sizeof(struct unwind_thread), define_stack, NULL);
}

/* Threads that are off CPU now have waited until now. */
static int report(struct run *run)
{
	struct offcputime_bpf *skel = run->skeleton;
	int err = 0;

	if (!run->is_peek) {
		skel->data_window->window.end_ns = run->end_ns;
		err = taskstate_visit(run, 0, NULL, NULL);
	}
	return err ? err : stacks_report(run);
}

DEFINE_SKELETON(offcputime);

static const struct tool offcputime = {
	.name = "offcputime",
	.summary = "Sums the time that threads are off CPU by stack, to show where they wait.",
	.examples = "  offcputime -p 185 10 | flamegraph.pl   # one process, as a flame graph\n"
		    "  offcputime -f 5                        # the whole system, folded\n"
		    "  offcputime --state D 10                # only uninterruptible waits\n"
		    "  offcputime --waker -p 185 10           # and who ended them\n",
	.unit = "microseconds",
	.operands = OPERANDS_DURATION,
	.tid_letter = 't',
	.opts = opts,
	.modules = { &target_module, &stacks_module, &stacks_top_module, &unwind_module },
	.skeleton = &skeleton,
	.check = check,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&offcputime, argc, argv);
}
