// SPDX-License-Identifier: GPL-2.0-only
/*
 * returns N: functions with return probes (perf events), as other tracers may leave them on
 * libraries. Of main, ret_outer, ret_jump, ret_leaf and ret_work, all but the first and the last
 * have one. ret_jump ends with a jump to ret_leaf, so its frame is gone. ret_work waits for input,
 * sleeps N times for 10 ms as "ret-nap" and spins N times for 10 ms as "ret-spin". Before,
 * longjmp() has left a probed call. Prints the number of probes: "@returns probes N".
 *
 * returns N calls: as "ret-call", ret_calls calls ret_push and ret_sub for N * 10 ms, and is nearly
 * always inside their probes.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <setjmp.h>

#include "work.h"

#define TURN_NS (10 * NS_PER_MS)
#define UPROBE	"/sys/bus/event_source/devices/uprobe"

static int n_turns;
static jmp_buf before;

static unsigned int read_number(const char *path, const char *format)
{
	unsigned int number = 0;
	FILE *file = fopen(path, "re");

	if (!file || fscanf(file, format, &number) != 1)
		return 0;
	fclose(file);
	return number;
}

/* Returns a function's offset in this program's file; 0: not found. */
static uint64_t file_offset(uintptr_t function)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end, offset;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    function >= start && function < end)
			return function - start + offset;
	return 0;
}

static int probe_return(void (*function)(int))
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = read_number(UPROBE "/type", "%u"),
		.config = 1ULL << read_number(UPROBE "/format/retprobe", "config:%u"),
		.uprobe_path = (uintptr_t) "/proc/self/exe",
		.probe_offset = file_offset((uintptr_t)function),
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

static void spin_for(uint64_t ns)
{
	uint64_t end = work_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

WORK_FUNCTION void ret_work(int turn)
{
	if (!turn) {
		work_wait_go();
		return;
	}
	work_set_comm(turn <= n_turns ? "ret-nap" : "ret-spin");
	if (turn <= n_turns)
		work_sleep(TURN_NS);
	else
		spin_for(TURN_NS);
	work_set_comm("returns");
}

WORK_FUNCTION void ret_leaf(int turn)
{
	ret_work(turn);
	WORK_KEEP_FRAME();
}

__attribute__((optimize("optimize-sibling-calls"))) WORK_FUNCTION void ret_jump(int turn)
{
	ret_leaf(turn);
}

WORK_FUNCTION void ret_outer(int turn)
{
	ret_jump(turn);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void ret_away(int turn)
{
	longjmp(before, turn);
}

/*
 * Functions that begin, on x86, with "push %rbp", which the kernel emulates under a probe, and "sub
 * $n,%rsp", of which the kernel executes a copy.
 */
WORK_FUNCTION void ret_push(int turn)
{
	volatile int here = turn;

	(void)here;
	WORK_KEEP_FRAME();
}

__attribute__((optimize("omit-frame-pointer"))) WORK_FUNCTION void ret_sub(int turn)
{
	volatile char here[256] = { (char)turn };

	(void)here[turn & 1];
}

WORK_FUNCTION void ret_calls(void)
{
	uint64_t end = work_clock(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)n_turns * TURN_NS;

	work_set_comm("ret-call");
	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 1000; i++) {
			ret_push(i);
			ret_sub(i);
		}
	work_set_comm("returns");
}

static int trace_calls(void)
{
	work_say("probes", (uint64_t)(probe_return(ret_push) + probe_return(ret_sub)));
	work_wait_go();
	ret_calls();
	work_wait_end();
	return 0;
}

int main(int argc, char **argv)
{
	int n_probes;

	n_turns = work_number(argc, argv, 1, 7);
	if (argc > 2)
		return trace_calls();
	n_probes = probe_return(ret_outer) + probe_return(ret_jump) + probe_return(ret_leaf) +
		   probe_return(ret_away);
	if (!setjmp(before))
		ret_away(1);
	work_say("probes", (uint64_t)n_probes);
	for (int turn = 0; turn <= 2 * n_turns; turn++)
		ret_outer(turn);
	work_wait_end();
	return 0;
}
