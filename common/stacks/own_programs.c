// SPDX-License-Identifier: GPL-2.0-only
/* Addresses of the tool's own BPF programs; see own_programs.h. */
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/mem.h"
#include "stacks/own_programs.h"

#define FUNCTIONS_MAX 256 /* of one program: the verifier's limit */

struct addrs {
	uint64_t *items;
	size_t count, cap;
};

static void add_program(struct addrs *addrs, int fd)
{
	__u64 starts[FUNCTIONS_MAX] = {};
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)starts,
		.nr_jited_ksyms = FUNCTIONS_MAX,
	};
	__u32 size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	for (__u32 i = 0; i < info.nr_jited_ksyms && i < FUNCTIONS_MAX; i++) {
		if (!starts[i])
			continue;
		addrs->items =
			mem_grow(addrs->items, addrs->count, &addrs->cap, sizeof(*addrs->items));
		addrs->items[addrs->count++] = starts[i];
	}
}

uint64_t *ownprogs_list(const struct run *run, size_t *n)
{
	struct bpf_program *program;
	struct addrs addrs = {};

	bpf_object__for_each_program(program, run->object)
		add_program(&addrs, bpf_program__fd(program));
	*n = addrs.count;
	return addrs.items;
}
