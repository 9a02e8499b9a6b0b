// SPDX-License-Identifier: GPL-2.0-only
/* Memory, page faults and threads of processes. */
#include <sys/mman.h>

#include "process/process_usage.h"
#include "child.h"
#include "unit.h"

#define PAGES 1000

/* The test touches new pages between the two moments. */
TEST(used_memory_and_faults_are_counted)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pid_t pid = getpid();
	struct process_usage before = process_usage_read(&pid, 1), now;
	char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	CHECK(memory != MAP_FAILED && !madvise(memory, PAGES * page, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	now = process_usage_read(&pid, 1);
	munmap(memory, PAGES * page);
	CHECK_EQ(now.n_processes, 1);
	CHECK_EQ(now.n_threads, 1);
	CHECK(now.minor_faults >= before.minor_faults + PAGES);
	CHECK(now.n_delays >= before.n_delays);
}

TEST(usage_is_described_in_two_lines)
{
	struct process_usage before = { 1, 3, 10 << 20, 100, 1, 5000000, 10 };
	struct process_usage now = { 1, 2, 11 << 20, 350, 3, 9000000, 14 };
	char *text = process_usage_describe(&before, &now);

	CHECK_STR(text, "resident: 11.0 MiB (+1.0), page faults: 252 (2 major)  \n"
			"threads: 2 (-1), their waits for a CPU: 4, average 1.000 ms");
	free(text);
}

/* Totals that shrink are of processes or threads that have ended. */
TEST(usage_of_ended_processes_is_unknown)
{
	struct process_usage before = { 2, 2, 10 << 20, 100, 1, 5000000, 10 }, now = before,
			     none = {};
	char *text;

	CHECK(!process_usage_describe(&before, &none));
	now.minor_faults--;
	CHECK(!process_usage_describe(&before, &now));
	now = before;
	now.n_delays--;
	text = process_usage_describe(&before, &now);
	CHECK_STR(text, "resident: 10.0 MiB (+0.0), page faults: 0 (0 major)  \n"
			"threads: 2 (+0)");
	free(text);
}
