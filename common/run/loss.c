// SPDX-License-Identifier: GPL-2.0-only
/* Losses and their share of the whole; see loss.h. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "abi/loss_counters.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "base/msg.h"

static const char *size_option;
static const char *extra_what;
static uint64_t extra_value, divisor = 1;

void loss_set_hint(const char *option)
{
	size_option = option;
}

void loss_set_divisor(uint64_t value)
{
	divisor = value;
}

void loss_add(const char *what, uint64_t value)
{
	extra_what = what;
	extra_value += value;
}

static int read_losses(const struct run *run, struct loss losses[LOSS_REASONS])
{
	struct bpf_map *map = map_find(run, ".data.losses");
	uint32_t zero = 0;

	memset(losses, 0, LOSS_REASONS * sizeof(*losses));
	return map ? bpf_map_lookup_elem(bpf_map__fd(map), &zero, losses) : -ENOENT;
}

uint64_t loss_value(const struct run *run)
{
	struct loss losses[LOSS_REASONS];

	if (read_losses(run, losses))
		return extra_value;
	return losses[LOSS_MAP_FULL].value / divisor + extra_value;
}

/* Since 5.12; 0 before. */
static uint64_t count_misses(const struct run *run)
{
	struct bpf_program *prog;
	uint64_t misses = 0;

	bpf_object__for_each_program(prog, run->object) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
			misses += info.recursion_misses;
	}
	return misses;
}

static void print_share(const struct run *run, uint64_t lost, uint64_t seen, const char *why)
{
	double percent = seen ? 100.0 * (double)lost / (double)seen : 0;

	msg_warn("%.*f %% of %s %s", percent < 0.1 ? 4 : 1, percent, run->tool->unit, why);
}

void loss_print(const struct run *run)
{
	struct loss losses[LOSS_REASONS];
	uint64_t lost, seen, misses;

	if (read_losses(run, losses))
		return;
	lost = losses[LOSS_MAP_FULL].value / divisor;
	seen = run->recorded + lost;
	if (losses[LOSS_MAP_FULL].events) {
		print_share(run, lost, seen, "lost: map full");
		if (size_option)
			msg_hint("raise --%s", size_option);
	}
	if (losses[LOSS_RING_FULL].events)
		msg_warn("%llu events lost: ring buffer full",
			 (unsigned long long)losses[LOSS_RING_FULL].events);
	if (losses[LOSS_NO_STATE].events)
		msg_warn("%llu threads not traced: no memory for their state",
			 (unsigned long long)losses[LOSS_NO_STATE].events);
	misses = count_misses(run);
	if (misses)
		msg_warn("%llu events lost: the same program was under way on their CPU",
			 (unsigned long long)misses);
	if (extra_value)
		print_share(run, extra_value, seen, extra_what);
}
