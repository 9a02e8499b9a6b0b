// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's unwind table; see kernel_tables.h. */
#include <errno.h>

#include <bpf/bpf.h>

#include "base/msg.h"
#include "modules/kernel_tables.h"
#include "run/bpfmap.h"
#include "run/features.h"

#define FINDER "kernel_tables_find"

static struct bpf_program *finder_of(const struct run *run)
{
	return bpf_object__find_program_by_name(run->object, FINDER);
}

/* Leaves out the program that finds the table if it would not load: it looks up kernel symbols. */
static int configure_tables(struct run *run)
{
	if (finder_of(run) && features_kallsyms_lookup())
		program_leave_out(run, FINDER);
	return 0;
}

static int find_tables(struct run *run)
{
	const struct bpf_program *finder = finder_of(run);
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = finder ? bpf_program__fd(finder) : -ENOENT, err = fd;

	if (fd >= 0)
		err = bpf_prog_test_run_opts(fd, &opts);
	msg_debug("kernel stacks: %s",
		  !err && opts.retval ? "walked by ORC tables in BPF" : "walked by the kernel");
	return 0;
}

const struct module kernel_tables_module = {
	.configure = configure_tables,
	.start = find_tables,
};
