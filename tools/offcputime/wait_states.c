// SPDX-License-Identifier: GPL-2.0-only
/* Parses --state, and adds waits to the metrics; see wait_states.h. */
#include <ctype.h>
#include <string.h>

#include "abi/waits.h"
#include "base/clock.h"
#include "base/msg.h"
#include "base/parse.h"
#include "modules/numbers.h"
#include "offcputime/wait_states.h"
#include "stacks/waits.h"

/* ---- wait metrics ---- */

static const struct metric seconds_metric = {
	.name = "tracelets_offcputime_seconds_total",
	.help = "Time that threads were off CPU, by state.",
	.divisor = NS_PER_S,
};

static void add_part(struct metrics *metrics, const struct sample *sample, const char *part,
		     uint64_t ns)
{
	const char state[] = { sample->state, 0 };

	metrics_add(metrics, &seconds_metric,
		    &(struct metric_labels){ { "state", "part" }, { state, part }, 2 }, ns);
}

/* Adds the parts of a sample. With --blocked or --runnable, the value is that part only. */
static void add_sample(struct run *run, const struct sample *sample)
{
	struct metrics *metrics = numbers_metrics(run);
	bool only_blocked = run_given(run, "blocked"), only_runnable = run_given(run, "runnable");
	uint64_t runnable_ns = only_runnable ? sample->value : sample->columns[0];
	bool is_throttled = sample->remark && !strcmp(sample->remark, wait_remarks[WAIT_THROTTLED]);

	if (!only_runnable)
		add_part(metrics, sample, "blocked", sample->value - runnable_ns);
	if (!only_blocked)
		add_part(metrics, sample, is_throttled ? "throttled" : "runnable", runnable_ns);
}

void wait_metrics_add(struct run *run, const struct profile *profile)
{
	for (size_t i = 0; i < profile_count(profile); i++)
		add_sample(run, profile_sample(profile, i));
	numbers_end(run);
}

/* ---- wait states ---- */

static int parse_mask(const char *what, const char *text, struct wait_states *states)
{
	uint64_t mask;

	if (!isdigit((unsigned char)*text))
		return msg_error("%s: '%s' is neither letters of " STATE_LETTERS
				 " (as in ps) nor a mask",
				 what, text);
	if (parse_uint(what, text, 0, UINT32_MAX, &mask))
		return -1;
	*states = (struct wait_states){ mask ? UINT32_MAX : 1, (uint32_t)mask };
	return 0;
}

int wait_states_parse(const char *what, const char *text, void *dest)
{
	struct wait_states *states = dest;

	if (strspn(text, STATE_LETTERS) < strlen(text) || !*text)
		return parse_mask(what, text, states);
	states->letters = 0;
	for (; *text; text++)
		states->letters |= 1U << (strchr(STATE_LETTERS, *text) - STATE_LETTERS);
	return 0;
}
