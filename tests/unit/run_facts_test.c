// SPDX-License-Identifier: GPL-2.0-only
/* Tests of a report's facts: its window is exact, however late the report is. */
#include <bpf/libbpf.h>

#include "run/loss.h"
#include "unit.h"

static const struct tool tool = { .name = "runqlat", .unit = "waits" };

/* Symbols of many files may take seconds to read. */
TEST(a_window_ends_before_its_report_is_made)
{
	struct run run;
	struct writer_facts facts;
	uint64_t wall_ns;

	run_init(&run, &tool);
	run.object = bpf_object__open_file(BPF_OBJECT, NULL); /* none is loaded: no losses */
	CHECK(run.object);
	run.end_ns = clock_now_ns() - 5 * NS_PER_S;
	run.report_start_ns = run.end_ns - 3 * NS_PER_S;
	facts = run_facts(&run);
	wall_ns = clock_wall_ns();
	CHECK_EQ(facts.duration_ns, 3 * NS_PER_S);
	CHECK(facts.end_unix_ns <= wall_ns - 5 * NS_PER_S);
	CHECK(facts.end_unix_ns > wall_ns - 60 * NS_PER_S);
	bpf_object__close(run.object);
	run_free(&run);
}
