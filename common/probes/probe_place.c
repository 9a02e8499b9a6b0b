// SPDX-License-Identifier: GPL-2.0-only
/*
 * Searches for a probe's location, tracking from instruction to instruction which registers hold
 * the arguments. See probe_place.h for the rules, probe_x86.c and probe_arm64.c for the
 * instructions.
 */
#include "probes/probe_machine.h"
#include "probes/probe_place.h"

struct search {
	const struct probe_machine *machine;
	const struct probe_request *request;
	unsigned int n_args;
	uint32_t homes[PROBE_MAX_ARGS]; /* bit mask of the registers that hold each argument */
	bool has_lost_return;
};

static void follow_registers(struct search *s, const struct probe_effect *e)
{
	for (unsigned int i = 0; i < s->n_args; i++) {
		bool gains = e->copied_from >= 0 && s->homes[i] >> e->copied_from & 1;

		s->homes[i] &= ~e->writes;
		if (gains)
			s->homes[i] |= 1u << e->copied_to;
	}
	s->has_lost_return |= e->writes & s->machine->return_regs;
}

static bool is_at_home(const struct search *s, unsigned int i)
{
	return s->homes[i] >> s->machine->args[i] & 1;
}

static uint8_t home_of(const struct search *s, unsigned int i)
{
	if (i >= s->n_args || is_at_home(s, i))
		return s->machine->args[i];
	return (uint8_t)__builtin_ctz(s->homes[i]);
}

static bool is_fit(const struct search *s)
{
	for (unsigned int i = 0; i < s->n_args; i++)
		if (!s->homes[i] || (!s->request->may_move_args && !is_at_home(s, i)))
			return false;
	return !s->has_lost_return || !s->request->wants_return;
}

static void take_place(const struct search *s, struct probe_place *place, size_t offset,
		       enum probe_kind kind)
{
	place->offset = (unsigned int)offset;
	place->kind = kind;
	place->is_moved = false;
	for (unsigned int i = 0; i < PROBE_MAX_ARGS; i++) {
		place->args[i] = home_of(s, i);
		place->is_moved |= place->args[i] != s->machine->args[i];
	}
}

/* Begins a search at the entry, where each argument is in one register only. */
static void begin(struct search *s, const struct probe_machine *machine,
		  const struct probe_request *request)
{
	*s = (struct search){ .machine = machine, .request = request };
	s->n_args = request->n_args < PROBE_MAX_ARGS ? request->n_args : PROBE_MAX_ARGS;
	for (unsigned int i = 0; i < s->n_args; i++)
		s->homes[i] = 1u << machine->args[i];
}

void probe_place_find_on(const struct probe_machine *machine, struct probe_place *place,
			 const struct probe_request *request, const uint8_t *code, size_t size)
{
	size_t limit = machine->find_limit(code, size);
	struct probe_step step;
	struct search s;

	begin(&s, machine, request);
	take_place(&s, place, 0, PROBE_STEP);
	for (size_t at = 0; at < limit && is_fit(&s); at += step.bytes) {
		if (!machine->read(&step, code + at, size - at))
			break;
		if (!at || step.kind < place->kind)
			take_place(&s, place, at, step.kind);
		if (!step.is_skippable)
			break;
		follow_registers(&s, &step.effect);
	}
}

void probe_place_find(struct probe_place *place, const struct probe_request *request,
		      const uint8_t *code, size_t size)
{
#if defined(__x86_64__)
	probe_place_find_on(&probe_machine_x86, place, request, code, size);
#else
	probe_place_find_on(&probe_machine_arm64, place, request, code, size);
#endif
}
