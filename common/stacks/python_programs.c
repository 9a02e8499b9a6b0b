// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kinds of programs, by the behaviour of their processes; see python_programs.h. Libraries are
 * mapped after a program has begun: for some milliseconds, all events are handled at once.
 */
#include <stdint.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "abi/python.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "stacks/python_programs.h"

#define HURRY_NS (5 * NS_PER_MS)

struct python_programs {
	struct ringbuf *begins;
	int kinds_fd;
	struct loop *loop;
	struct watch *watch;
	bool (*has_python)(pid_t pid, void *arg);
	void *arg;
	struct python_begin latest[64]; /* that were no Python yet */
	size_t n_latest;		/* all that there have been */
};

static void learn(const struct python_programs *programs, const struct python_program *program,
		  uint32_t kind)
{
	bpf_map_update_elem(programs->kinds_fd, program, &kind,
			    kind == PYTHON_NEVER ? BPF_NOEXIST : BPF_ANY);
}

static int on_begin(void *ctx, void *data, size_t size)
{
	struct python_programs *programs = ctx;
	const struct python_begin *begin = data;

	(void)size;
	loop_hurry(programs->loop, HURRY_NS);
	watch_read(programs->watch);
	if (programs->has_python((pid_t)begin->tgid, programs->arg)) {
		learn(programs, &begin->program, PYTHON_SOME);
		return 0;
	}
	learn(programs, &begin->program, PYTHON_NEVER);
	programs->latest[programs->n_latest++ % ARRAY_SIZE(programs->latest)] = *begin;
	return 0;
}

void python_programs_found(struct python_programs *programs, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs->latest); i++)
		if (programs->latest[i].tgid == (uint64_t)pid)
			learn(programs, &programs->latest[i].program, PYTHON_SOME);
}

struct python_programs *python_programs_watch(struct run *run, struct watch *watch,
					      bool (*has_python)(pid_t pid, void *arg), void *arg)
{
	struct python_programs *programs = mem_zalloc(1, sizeof(*programs));

	programs->kinds_fd = bpf_map__fd(map_find(run, "python_programs"));
	programs->loop = run->loop;
	programs->watch = watch;
	programs->has_python = has_python;
	programs->arg = arg;
	programs->begins = ringbuf_watch(run, "python_begins", on_begin, programs);
	if (programs->begins && !ringbuf_make_urgent(programs->begins))
		return programs;
	python_programs_close(programs);
	return NULL;
}

void python_programs_close(struct python_programs *programs)
{
	if (!programs)
		return;
	ringbuf_close(programs->begins);
	free(programs);
}
