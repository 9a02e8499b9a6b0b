// SPDX-License-Identifier: GPL-2.0-only
/*
 * Definitions of stacks as they come from a ring buffer, of any length and with anything in them:
 * those that are none are left out, the others have frames. The process is this one or none.
 */
#include "process/processes.h"
#include "stacks/resolver.h"
#include "fuzz.h"

static struct stack_def *copy_record(const uint8_t *bytes, size_t size)
{
	struct stack_def *def = mem_zalloc(1, size);

	memcpy(def, bytes, size);
	if (size >= offsetof(struct stack_def, words))
		def->tgid = def->tgid & 1 ? (uint32_t)getpid() : 0;
	return def;
}

static void look_up(struct resolver *resolver, uint64_t id)
{
	size_t n = 0;
	const struct frame *const *frames = resolver_frames(resolver, id, &n);

	for (size_t i = 0; i < n; i++)
		if (!frames[i]->name || !*frames[i]->name)
			abort();
	resolver_about(resolver, id);
	resolver_fold(resolver, id);
}

/* Records one behind the other: the first byte of each is how long it is, in words. */
FUZZ(bytes, size)
{
	struct processes_options options = { .max_mappings = 1 << 16 };
	struct processes *processes = processes_new(&options);
	struct resolver *resolver = resolver_new(processes, NULL);

	while (size) {
		size_t room = size - 1, length = bytes[0] * sizeof(uint64_t) + (bytes[0] & 1);
		struct stack_def *def;

		length = length < room ? length : room;
		def = copy_record(bytes + 1, length);
		resolver_add(resolver, def, length);
		if (length >= sizeof(def->id))
			look_up(resolver, def->id);
		free(def);
		bytes += 1 + length;
		size -= 1 + length;
	}
	resolver_free(resolver);
	processes_free(processes);
	return 0;
}
