// SPDX-License-Identifier: GPL-2.0-only
/* The state of a run; see run.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "output/table.h"
#include "run/run.h"
#include "run/series.h"

static void *copy_defaults(const struct defaults *defaults)
{
	void *value = mem_zalloc(1, defaults->n_bytes + 1);

	if (defaults->value)
		memcpy(value, defaults->value, defaults->n_bytes);
	return value;
}

void run_init(struct run *run, const struct tool *tool)
{
	*run = (struct run){ .tool = tool, .capture = CAPTURE_DEFAULT };
	uname(&run->system);
	run->options = copy_defaults(&tool->options);
	for_each_module(use, run)
		run->module_states[use - tool->modules] = copy_defaults(&use->module->state);
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < RUN_MAX_MODULES; i++)
		free(run->module_states[i]);
	free(run->options);
}

void run_choose_tool(struct run *run)
{
	if (run->tool->other && run->tool->wants_other(run))
		run->tool = run->tool->other;
}

static const struct module_use *find_use(const struct run *run, const struct module *module)
{
	for_each_module(use, run)
		if (use->module == module)
			return use;
	return NULL;
}

void *run_state(const struct run *run, const struct module *module)
{
	const struct module_use *use = find_use(run, module);

	return use ? run->module_states[use - run->tool->modules] : NULL;
}

const void *run_spec(const struct run *run, const struct module *module)
{
	const struct module_use *use = find_use(run, module);

	return use ? use->spec : NULL;
}

bool run_wants(const struct run *run, const struct module *module)
{
	const struct module_use *use = find_use(run, module);

	return use && (!use->is_wanted || use->is_wanted(run));
}

bool run_makes_series(const struct run *run)
{
	return run->output_path && (run->interval_ns || series_is_timed(run->output_path));
}

bool run_given(const struct run *run, const char *name)
{
	return opts_given(&run->opts, name);
}

int run_refuse(const struct run *run, const char *const options[], const char *where)
{
	return opts_refuse(&run->opts, options, where);
}

int run_refuse_but_in_text(const struct run *run, const char *const options[])
{
	char where[32];

	if (run->table_format == &text_table)
		return 0;
	snprintf(where, sizeof(where), "on --format %s", run->table_format->name);
	return run_refuse(run, options, where);
}

int run_refuse_in_metrics(const struct run *run, const char *const options[])
{
	return run->is_metrics ? run_refuse_but_in_text(run, options) : 0;
}

bool run_begins_file(const struct run *run, unsigned int *n_begun)
{
	bool is_new = *n_begun < run->n_files;

	*n_begun = run->n_files;
	return is_new;
}
