// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places in arbitrary code of both architectures. What is chosen must be the beginning of an
 * instruction that lies in the code, and no worse than the first one.
 */
#include "probes/probe_machine.h"
#include "probes/probe_place.h"
#include "fuzz.h"

/* An instruction begins there; if it is the place, it is of that kind. */
static bool is_place(const struct probe_machine *machine, const struct probe_place *place,
		     const uint8_t *code, size_t size)
{
	struct probe_step step;
	size_t at = 0;

	while (at < place->offset && machine->read(&step, code + at, size - at))
		at += step.bytes;
	if (at != place->offset)
		return false;
	if (!machine->read(&step, code + at, size - at))
		return !at && place->kind == PROBE_STEP;
	return step.bytes <= size - at && step.kind == place->kind;
}

static bool is_worse_than_first(const struct probe_machine *machine,
				const struct probe_place *place, const uint8_t *code, size_t size)
{
	struct probe_step step;

	return machine->read(&step, code, size) && place->offset && place->kind >= step.kind;
}

static void check(const struct probe_machine *machine, const struct probe_place *place,
		  const uint8_t *code, size_t size, const struct probe_request *request)
{
	unsigned int n_registers = machine == &probe_machine_x86 ? 16 : 31;

	if (place->offset >= PROBE_MAX_OFFSET || !is_place(machine, place, code, size) ||
	    is_worse_than_first(machine, place, code, size) || place->kind >= PROBE_KINDS ||
	    (place->is_moved && !request->may_move_args))
		abort();
	for (unsigned int i = 0; i < PROBE_MAX_ARGS; i++)
		if (place->args[i] >= n_registers)
			abort();
}

/* The first byte is the request and the architecture, the others are code. */
FUZZ(bytes, size)
{
	const struct probe_machine *machine;
	struct probe_request request = { 0 };
	struct probe_place place;

	if (!size)
		return 0;
	request.n_args = bytes[0] & 7;
	request.wants_return = bytes[0] & 8;
	request.may_move_args = bytes[0] & 16;
	machine = bytes[0] & 32 ? &probe_machine_arm64 : &probe_machine_x86;
	probe_place_find_on(machine, &place, &request, bytes + 1, size - 1);
	check(machine, &place, bytes + 1, size - 1, &request);
	return 0;
}
