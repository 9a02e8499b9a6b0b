// SPDX-License-Identifier: GPL-2.0-only
/* Hooks of modules; see hooks.h. */
#include "run/hooks.h"

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
