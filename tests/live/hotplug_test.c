// SPDX-License-Identifier: GPL-2.0-only
/* A CPU that goes offline and comes back: what was opened for it has to be opened again. */
#include "live.h"

static int cpu; /* not the one that boots the machine, which has to stay */

static bool put_cpu(const char *state)
{
	return file_write(text_of("/sys/devices/system/cpu/cpu%d/online", cpu), state);
}

/* Checks that a CPU that was offline is measured again after its return. */
static void check_return(const char *name, const char *frames)
{
	struct proc *tool, *work;

	if (usable_cpus() < 2)
		SKIP("there is one CPU only");
	cpu = usable_cpu(1);
	tool = tool_launch(name, "-f", "-v");
	CHECK(proc_wait_for(tool, "tracing..."));
	if (!put_cpu("0"))
		SKIP("CPU %d can't be taken away", cpu);
	proc_linger(tool, 200);
	CHECK(put_cpu("1"));
	CHECK(proc_wait_for(tool, text_of("CPU %d: was offline", cpu)));
	work = work_start("spin", "-m", "300", "-c", text_of("%d", cpu));
	work_do(work);
	tool_stop(tool);
	proc_kill(work);
	CHECK(folded_sum(tool->out, "spin", frames) > 0);
}

TEST(profile_samples_a_cpu_that_came_back)
{
	check_return("profile", "spin_thread;spin_outer");
}

TEST(pagefaults_counts_on_a_cpu_that_came_back)
{
	check_return("pagefaults", NULL);
}
