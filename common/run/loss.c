// SPDX-License-Identifier: GPL-2.0-only
/* Losses and their share of the whole; see loss.h. */
#include <bpf/bpf.h>
#include <errno.h>

#include "abi/loss_counters.h"
#include "base/clock.h"
#include "base/msg.h"
#include "output/quantity.h"
#include "run/bpfmap.h"
#include "run/loss.h"

/* ---- run facts ---- */

/* Returns the losses since the last report. Losses while a report is written belong to the next. */
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
		.gets_note = run_captures(run),
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
	if (value)
		run->losses.more_text = what;
	run->losses.more += value;
}

#define LOSS_WORDS(number, name, unit, text) [number] = { name, unit, text },

static const struct reason {
	const char *name, *unit, *text;
} reasons[LOSS_REASONS] = { FOR_EACH_LOSS(LOSS_WORDS) };

/*
 * Returns how often programs were skipped because they were already running (since 5.12; else 0).
 */
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

static int read_losses(const struct run *run, struct loss losses[LOSS_REASONS])
{
	struct bpf_map *map = map_find(run, ".data.losses");
	uint32_t zero = 0;

	if (!map || bpf_map_lookup_elem(bpf_map__fd(map), &zero, losses))
		return -ENOENT;
	losses[LOSS_BUSY].events = count_misses(run);
	losses[LOSS_MAP_FULL].value /= run->losses.divisor ? run->losses.divisor : 1;
	return 0;
}

/* Returns the lost events, for tools whose unit is an event, else 0. */
static uint64_t events_lost(const struct run *run, const struct loss losses[LOSS_REASONS])
{
	if (run->tool->sums)
		return 0;
	return losses[LOSS_RING_FULL].events + losses[LOSS_NO_ELEMENT].events +
	       losses[LOSS_NO_COMPLETION].events + losses[LOSS_MANY_BIOS].events +
	       losses[LOSS_NO_SWITCH].events + losses[LOSS_BUSY].events + run->losses.missed;
}

uint64_t loss_value(const struct run *run)
{
	struct loss losses[LOSS_REASONS];

	if (read_losses(run, losses))
		return run->losses.more;
	return losses[LOSS_MAP_FULL].value + events_lost(run, losses) + run->losses.more;
}

void loss_visit(const struct run *run, void (*visit)(const char *reason, uint64_t value, void *arg),
		void *arg)
{
	struct loss losses[LOSS_REASONS];

	if (read_losses(run, losses))
		return;
	losses[LOSS_BUSY].events += run->losses.missed;
	for (size_t i = 0; i < LOSS_REASONS; i++)
		visit(reasons[i].name, reasons[i].unit ? losses[i].events : losses[i].value, arg);
}

static void print_share(const struct run *run, uint64_t lost, uint64_t seen, const char *why)
{
	double percent = seen ? 100.0 * (double)lost / (double)seen : 0;

	msg_warn("%.*f %% of %s %s", percent < 0.1 ? 4 : 1, percent, run->tool->unit, why);
}

static void print_number(uint64_t n, const struct reason *reason)
{
	char unit[QUANTITY_MAX];

	if (n)
		msg_warn("%llu %s %s", (unsigned long long)n, quantity_unit(unit, n, reason->unit),
			 reason->text);
}

static void print_full_map(const struct run *run, const struct loss *loss, uint64_t seen)
{
	if (!loss->events)
		return;
	print_share(run, loss->value, seen, reasons[LOSS_MAP_FULL].text);
	if (run->losses.size_option)
		msg_hint("raise --%s", run->losses.size_option);
}

void loss_print(const struct run *run)
{
	struct loss losses[LOSS_REASONS];
	uint64_t seen;

	if (read_losses(run, losses))
		return;
	seen = run->recorded + losses[LOSS_MAP_FULL].value;
	print_full_map(run, &losses[LOSS_MAP_FULL], seen);
	for (size_t i = 0; i < LOSS_REASONS; i++)
		if (reasons[i].unit)
			print_number(losses[i].events, &reasons[i]);
	if (run->losses.more)
		print_share(run, run->losses.more, seen, run->losses.more_text);
}
