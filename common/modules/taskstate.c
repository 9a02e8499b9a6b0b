// SPDX-License-Identifier: GPL-2.0-only
/* Per-task state from the loader's side; see taskstate.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "run/bpfmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/taskstate.h"

#define ITER_BUFFER_BYTES (64 << 10)

#define STATE_ITERATOR "task_state_iter"

void taskiter_configure(const struct run *run, const char *program)
{
	bpf_program__set_autoattach(bpf_object__find_program_by_name(run->object, program), false);
}

int taskstate_configure(const struct run *run)
{
	bool has_storage = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						   BPF_FUNC_task_storage_get, NULL) == 1;

	msg_debug("state of tasks: %s", has_storage ? "task storage" : "hash table");
	map_leave_out(run, has_storage ? "task_states_by_tid" : "task_states");
	if (has_storage)
		program_leave_out(run, "task_state_exit");
	taskiter_configure(run, STATE_ITERATOR);
	return map_set_settings(run, ".rodata.task_state", &has_storage, sizeof(has_storage));
}

void taskstate_leave_out(const struct run *run)
{
	program_leave_out(run, "task_state_fork");
	program_leave_out(run, "task_state_exit");
	program_leave_out(run, "task_state_iter");
	map_leave_out(run, "task_states");
	map_leave_out(run, "task_states_by_tid");
}

/* Reads the iterator to its end. Records may be cut by a read(); the rest comes with the next. */
static int read_records(int fd, size_t size, void (*visit)(const void *record, void *arg),
			void *arg)
{
	char *buffer = mem_zalloc(1, ITER_BUFFER_BYTES);
	size_t filled = 0, used;
	ssize_t n;

	while ((n = read(fd, buffer + filled, ITER_BUFFER_BYTES - filled)) > 0) {
		filled += (size_t)n;
		for (used = 0; visit && used + size <= filled; used += size)
			visit(buffer + used, arg);
		used = visit ? used : filled;
		memmove(buffer, buffer + used, filled - used);
		filled -= used;
	}
	free(buffer);
	return n < 0 ? -errno : 0;
}

int taskiter_visit(const struct run *run, const char *program, size_t size,
		   void (*visit)(const void *record, void *arg), void *arg)
{
	struct bpf_link *link;
	int fd, err;

	link = bpf_program__attach_iter(bpf_object__find_program_by_name(run->object, program),
					NULL);
	if (!link)
		return msg_errno(errno, "attaching the task iterator");
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? fd : read_records(fd, size, visit, arg);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err ? msg_errno(err, "visiting the tasks") : 0;
}

int taskstate_visit(const struct run *run, size_t size,
		    void (*visit)(const void *record, void *arg), void *arg)
{
	return taskiter_visit(run, STATE_ITERATOR, size, visit, arg);
}
