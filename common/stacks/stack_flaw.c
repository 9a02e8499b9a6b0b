// SPDX-License-Identifier: GPL-2.0-only
/* Flaws of stacks; see stack_flaw.h. */
#include "abi/unwind_layout.h"
#include "base/clock.h"
#include "stacks/stack_flaw.h"

/* The walk stopped because of the code that it had reached. */
static bool is_cut(uint32_t reason)
{
	return reason == UNWIND_NO_RULE || reason == UNWIND_NO_MAPPING ||
	       reason == UNWIND_BAD_RULE || reason == UNWIND_FAULT || reason == UNWIND_NO_PROGRESS;
}

static const struct runtime *find_runtime(struct processes *processes, const struct stack_def *def)
{
	uint64_t time_ns = def->time_ns ? def->time_ns : clock_now_ns();
	struct maps *maps = processes_look(processes, (pid_t)def->tgid, def->generation, time_ns);
	const struct runtime *runtime = maps ? runtime_find(maps) : NULL;

	maps_release(maps);
	return runtime;
}

/* For a stack that ends in code of a file. */
static struct stack_flaw flaw_of_file(const struct stack_def *def, const struct location *last)
{
	struct stack_flaw flaw = {};

	if (def->reason != UNWIND_NO_RULE || !last->dso)
		return flaw;
	flaw.kind = FLAW_CUT;
	flaw.file = usyms_dso_name(last);
	flaw.err = usyms_error(last);
	return flaw;
}

struct stack_flaw stack_flaw_find(struct processes *processes, const struct stack_def *def,
				  const struct place *places, uint32_t n)
{
	bool has_made = false, has_unnamed = false;
	struct stack_flaw flaw = {};

	if (n && !usyms_is_made(&places[n - 1].location))
		flaw = flaw_of_file(def, &places[n - 1].location);
	for (uint32_t i = 0; i < n; i++) {
		has_made |= usyms_is_made(&places[i].location);
		has_unnamed |=
			usyms_is_made(&places[i].location) && !usyms_is_jit(&places[i].location);
	}
	if (!has_made || flaw.kind)
		return flaw;
	flaw.runtime = find_runtime(processes, def);
	flaw.has_names = !has_unnamed;
	if (is_cut(def->reason) && usyms_is_made(&places[n - 1].location))
		flaw.kind = FLAW_CUT;
	else if (has_unnamed)
		flaw.kind = FLAW_UNNAMED;
	return flaw;
}
