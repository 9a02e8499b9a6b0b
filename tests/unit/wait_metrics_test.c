// SPDX-License-Identifier: GPL-2.0-only
/* Waits as metrics: each part of a wait is named for what it was. */
#include <bpf/libbpf.h>

#include "modules/numbers.h"
#include "offcputime/wait_states.h"
#include "run/command_line.h"
#include "stacks/waits.h"
#include "unit.h"

struct options {
	bool blocked, runnable;
};

static const struct options defaults;
static const struct opt opts[] = {
	{ 0, "blocked", NULL, OPT_FLAG(struct options, blocked), "" },
	{ 0, "runnable", NULL, OPT_FLAG(struct options, runnable), "" },
	{},
};
static const struct column columns[] = { { .name = "runnable", .rest = "blocked" }, {} };
static const struct tool tool = {
	.name = "offcputime",
	.unit = "microseconds",
	.sums = true,
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &numbers_module } },
};

/* 5 s in all, of which 2 s runnable, as BPF counts them by the option; and 1 s throttled. */
static struct profile *waits_of(uint64_t runnable_part_s)
{
	struct profile *p = profile_new("microseconds", columns, NULL);
	struct sample s = { .comm = "a", .cpu = -1, .state = 'S' };

	s.value = 5 * NS_PER_S;
	s.columns[0] = runnable_part_s * NS_PER_S;
	profile_add(p, &s);
	s.remark = wait_remarks[WAIT_THROTTLED];
	s.value = NS_PER_S;
	s.columns[0] = runnable_part_s ? NS_PER_S : 0;
	profile_add(p, &s);
	return p;
}

/* The metrics of a run with that option. */
static char *metrics_with(const char *option, uint64_t runnable_part_s)
{
	const char *argv[] = { "offcputime", "--format", "prometheus", option, NULL };
	struct profile *p = waits_of(runnable_part_s);
	struct run run;
	char *text;
	size_t size;

	run_init(&run, &tool);
	CHECK_EQ(command_line_parse(&run, option ? 4 : 3, (char **)argv), 0);
	run.object = bpf_object__open_file(BPF_OBJECT, NULL); /* none is loaded: no losses */
	run.out = open_memstream(&text, &size);
	if (!run.object || !run.out)
		abort();
	wait_metrics_add(&run, p);
	fclose(run.out);
	numbers_module.finish(&run);
	bpf_object__close(run.object);
	run_free(&run);
	profile_free(p);
	return until_end(text);
}

TEST(what_a_quota_causes_is_a_part_of_its_own)
{
	char *text = metrics_with(NULL, 2);

	CHECK_HAS(text, "{state=\"S\",part=\"blocked\"} 3\n", "{state=\"S\",part=\"runnable\"} 2\n",
		  "{state=\"S\",part=\"throttled\"} 1\n");
}

/* Then values have no parts. */
TEST(one_part_alone_has_its_name)
{
	char *text = metrics_with("--runnable", 0);

	CHECK(!strstr(text, "blocked"));
	CHECK_HAS(text, "{state=\"S\",part=\"runnable\"} 5\n",
		  "{state=\"S\",part=\"throttled\"} 1\n");
	text = metrics_with("--blocked", 0);
	CHECK_HAS(text, "{state=\"S\",part=\"blocked\"} ");
	CHECK(!strstr(text, "runnable"));
}
