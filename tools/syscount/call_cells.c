// SPDX-License-Identifier: GPL-2.0-only
/* Cells of counted calls; see call_cells.h. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/mem.h"
#include "base/msg.h"
#include "run/bpfmap.h"
#include "syscount/call_cells.h"

void call_cells_configure(const struct run *run, struct call_settings *settings, uint32_t entries)
{
	uint32_t halves = settings->has_turns ? 2 : 1;

	settings->cell_bits = 1;
	while (settings->cell_bits < CALL_MAX_CELL_BITS && 2U << settings->cell_bits < entries)
		settings->cell_bits++;
	bpf_map__set_max_entries(map_find(run, "call_cells"), halves << settings->cell_bits);
}

void call_cells_leave_out(const struct run *run)
{
	map_leave_out(run, "call_cells");
}

uint64_t call_cells_end_turn(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, ".data.turn"));
	uint64_t turn = CALL_FIRST_TURN, next;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &turn))
		msg_errno(-errno, "counts of calls: read failed");
	next = turn + 1;
	if (!run->is_last && !run->is_peek && bpf_map_update_elem(fd, &zero, &next, BPF_ANY))
		msg_errno(-errno, "counts of calls: buffer swap failed");
	return turn;
}

int call_cells_read(const struct run *run, uint64_t turn,
		    void (*visit)(const void *key, const void *times, void *arg), void *arg)
{
	uint32_t n = bpf_map__max_entries(map_find(run, "call_cells"));
	int n_cpus = libbpf_num_possible_cpus(), err = 0;
	struct call_cell *each = mem_zalloc((size_t)n_cpus, sizeof(*each));
	int fd = bpf_map__fd(map_find(run, "call_cells"));

	for (uint32_t i = 0; i < n && !err; i++) {
		err = bpf_map_lookup_elem(fd, &i, each);
		for (int cpu = 0; cpu < n_cpus && !err; cpu++)
			if (each[cpu].turn == turn)
				visit(&each[cpu].key, &each[cpu].times, arg);
	}
	free(each);
	return err ? msg_errno(-errno, "counts of calls: read failed") : 0;
}
