// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks along frame pointers, live: of a running thread, of one that blocks, and of one that
 * was blocked before. The workloads keep frame pointers in all of their functions; on arm64 their
 * return addresses are signed where the CPU does that. Then what is said of unwind tables where
 * there are none for the architecture.
 */
#include "live.h"

#define SPIN_FRAMES "main;spin_thread;spin_outer;spin_hot"
#define WAIT_FRAMES "main;work_wait_go" /* on x86-64, libc's read() hides its caller */
#define N_LEAVES    4096

static struct proc *trace_spin(const char *unwind)
{
	struct proc *work = work_start("spin", "-m", "700");

	return trace_pid(work, "profile", "-U", "-F", "199", unwind);
}

/* Checks that the stacks with a function are of known code; libc's have no frame pointers. */
static void check_known(const struct proc *tool, const char *function)
{
	const char *line;

	for (const char *rest = tool->out; (line = line_with(&rest, function, ""));) {
		CHECK_LACKS(line, ";0x");
		CHECK_LACKS(line, ";[unknown]");
	}
}

/* Half is enough: when the work has been done, the clock is asked from libc and the vdso. */
static void check_spin(const struct proc *tool)
{
	uint64_t all = folded_sum(tool->out, "spin", NULL);
	uint64_t whole = folded_sum(tool->out, "spin", SPIN_FRAMES);

	CHECK(all > 0);
	if (whole < all / 2)
		UNIT_FAIL("%llu of %llu go through %s: %s", (unsigned long long)whole,
			  (unsigned long long)all, SPIN_FRAMES, tool->out);
	check_known(tool, ";spin_hot");
	CHECK_HAS(tool->err, "user stacks: 100.00 % walked by frame pointers\n");
}

TEST(samples_lead_to_main)
{
	check_spin(trace_spin("--unwind=fp"));
}

TEST(waits_lead_to_main)
{
	struct proc *work = work_start("tree", "12", "nap", "100");
	struct proc *tool = trace_pid(work, "offcputime", "-U", "--unwind=fp");

	CHECK(folded_count(tool->out, "tree", "leaf;leaf_nap") >= N_LEAVES - N_LEAVES / 50);
	check_known(tool, ";leaf_nap");
}

TEST(a_thread_blocked_before_the_start_leads_to_main)
{
	struct proc *work = work_start("spin");
	struct proc *tool = tool_run_on(work, "offcputime", "-U", "--unwind=fp", "300ms");

	CHECK(folded_sum(tool->out, "spin", WAIT_FRAMES) >= 300000);
	CHECK_EQ(folded_sum(tool->out, "spin", WAIT_FRAMES), folded_sum(tool->out, "spin", NULL));
}
