// SPDX-License-Identifier: GPL-2.0-only
/* The state of a run; see run.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/run.h"
#include "run/series.h"

/* ---- hooks ---- */

typedef int hook_fn(struct run *run);
typedef void quiet_hook_fn(struct run *run);

#define for_each_wanted(use, run) \
	for_each_module(use, run) \
		if (run_wants(run, use->module))

int hooks_configure(struct run *run)
{
	hook_fn *hook;
	int err = 0;

	for_each_module(use, run) {
		hook = run_wants(run, use->module) ? use->module->configure
						   : use->module->leave_out;
		err = !err && hook ? hook(run) : err;
	}
	return err;
}

int hooks_start(struct run *run)
{
	int err = 0;

	for_each_wanted(use, run)
		err = !err && use->module->start ? use->module->start(run) : err;
	return err;
}

int hooks_attach(struct run *run)
{
	int err = 0;

	for_each_wanted(use, run)
		err = !err && use->module->attach ? use->module->attach(run) : err;
	return err;
}

static void call(quiet_hook_fn *hook, struct run *run)
{
	if (hook)
		hook(run);
}

void hooks_begin(struct run *run)
{
	for_each_wanted(use, run)
		call(use->module->begin, run);
}

void hooks_loaded(struct run *run)
{
	for_each_wanted(use, run)
		call(use->module->loaded, run);
}

void hooks_stop(struct run *run)
{
	for_each_wanted(use, run)
		call(use->module->stop, run);
}

void hooks_finish(struct run *run)
{
	for_each_wanted(use, run)
		call(use->module->finish, run);
}

/* ---- run ---- */

static void *copy_defaults(const struct defaults *defaults)
{
	void *value = mem_zalloc(1, defaults->n_bytes + 1);

	if (defaults->n_bytes)
		memcpy(value, defaults->value, defaults->n_bytes);
	return value;
}

void run_init(struct run *run, const struct tool *tool)
{
	*run = (struct run){ .tool = tool };
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

int run_refuse_in_metrics(const struct run *run, const char *const options[])
{
	return run->is_metrics ? run_refuse(run, options, "on --format prometheus") : 0;
}

bool run_begins_file(const struct run *run, unsigned int *n_begun)
{
	bool is_new = *n_begun < run->n_files;

	*n_begun = run->n_files;
	return is_new;
}
