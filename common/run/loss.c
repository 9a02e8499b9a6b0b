// SPDX-License-Identifier: GPL-2.0-only
/* Losses and their share of the whole; see loss.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "abi/loss_counters.h"
#include "base/clock.h"
#include "base/msg.h"
#include "output/quantity.h"
#include "run/bpfmap.h"
#include "run/loss.h"

/* ---- run facts ---- */

/* Losses while a report is written belong to the next one. */
static uint64_t take_lost(struct run *run)
{
	run->losses.reported = loss_value(run);
	return run->losses.reported - run->losses.reported_before;
}

struct writer_facts run_facts(struct run *run)
{
	return (struct writer_facts){
		.tool = run->tool->name,
		.host = run->system.nodename,
		.kernel = run->system.release,
		.event = run->event,
		.period = run->period,
		.end_unix_ns = clock_wall_at(run->end_ns),
		.duration_ns = run->end_ns - run->report_start_ns,
		.lost = take_lost(run),
	};
}

void run_facts_print(struct run *run)
{
	struct writer_facts facts = run_facts(run);

	writer_print_facts(run->out, &facts, run->tool->unit);
}

/* ---- loss ---- */

void loss_name_option(struct run *run, const char *option)
{
	run->losses.size_option = option;
}

void loss_add(struct run *run, const char *what, uint64_t value)
{
	run->losses.more_text = what;
	run->losses.more += value;
}

static int read_losses(const struct run *run, struct loss losses[LOSS_REASONS])
{
	struct bpf_map *map = map_find(run, ".data.losses");
	uint32_t zero = 0;

	memset(losses, 0, LOSS_REASONS * sizeof(*losses));
	return map ? bpf_map_lookup_elem(bpf_map__fd(map), &zero, losses) : -ENOENT;
}

static uint64_t map_full_value(const struct run *run, const struct loss losses[LOSS_REASONS])
{
	uint64_t divisor = run->losses.divisor;

	return losses[LOSS_MAP_FULL].value / (divisor ? divisor : 1);
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

/* Lost events, for tools that count events. */
static uint64_t events_lost(const struct run *run, const struct loss losses[LOSS_REASONS])
{
	if (run->tool->sums)
		return 0;
	return losses[LOSS_RING_FULL].events + losses[LOSS_NO_SWITCH].events + count_misses(run) +
	       run->losses.missed;
}

uint64_t loss_value(const struct run *run)
{
	struct loss losses[LOSS_REASONS];

	if (read_losses(run, losses))
		return run->losses.more;
	return map_full_value(run, losses) + events_lost(run, losses) + run->losses.more;
}

void loss_visit(const struct run *run, void (*visit)(const char *reason, uint64_t value, void *arg),
		void *arg)
{
	struct loss losses[LOSS_REASONS];

	if (read_losses(run, losses))
		return;
	visit("map_full", map_full_value(run, losses), arg);
	visit("ring_full", losses[LOSS_RING_FULL].events, arg);
	visit("no_state", losses[LOSS_NO_STATE].events, arg);
	visit("no_room", losses[LOSS_NO_ROOM].events, arg);
	visit("no_switch", losses[LOSS_NO_SWITCH].events, arg);
	visit("no_slot", losses[LOSS_NO_SLOT].events, arg);
	visit("busy", count_misses(run) + run->losses.missed, arg);
}

static void print_share(const struct run *run, uint64_t lost, uint64_t seen, const char *why)
{
	double percent = seen ? 100.0 * (double)lost / (double)seen : 0;

	msg_warn("%.*f %% of %s %s", percent < 0.1 ? 4 : 1, percent, run->tool->unit, why);
}

static void print_number(uint64_t n, const char *of, const char *why)
{
	char text[QUANTITY_MAX];

	if (n)
		msg_warn("%llu %s %s", (unsigned long long)n, quantity_unit(text, n, of), why);
}

void loss_print(const struct run *run)
{
	struct loss losses[LOSS_REASONS];
	uint64_t lost, seen;

	if (read_losses(run, losses))
		return;
	lost = map_full_value(run, losses);
	seen = run->recorded + lost;
	if (losses[LOSS_MAP_FULL].events) {
		print_share(run, lost, seen, "lost: map full");
		if (run->losses.size_option)
			msg_hint("raise --%s", run->losses.size_option);
	}
	print_number(losses[LOSS_RING_FULL].events, "events", "lost: ring buffer full");
	print_number(losses[LOSS_NO_STATE].events, "threads",
		     "traced late or not at all: task-storage allocation failed");
	print_number(losses[LOSS_NO_CALL].events, "calls", "lost: task-storage allocation failed");
	print_number(losses[LOSS_NO_ROOM].events, "processes",
		     "not followed: too many processes alive");
	print_number(losses[LOSS_NO_SWITCH].events, "waits", "lost: no switch-in event");
	print_number(losses[LOSS_NO_SLOT].events, "stacks", "not taken: too many walks at once");
	print_number(count_misses(run), "events",
		     "lost: the same BPF program was already running on that CPU");
	if (run->losses.more)
		print_share(run, run->losses.more, seen, run->losses.more_text);
}
