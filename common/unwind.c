// SPDX-License-Identifier: GPL-2.0-only
/* Walking a user stack from outside along frame pointers; see unwind.h. */
#include <stdbool.h>
#include <sys/uio.h>

#include "unwind.h"

/* What a frame pointer points at on x86-64 and arm64: the caller's frame and return address. */
struct frame_record {
	uint64_t caller_fp;
	uint64_t return_address;
};

static bool read_record(pid_t pid, uint64_t fp, struct frame_record *record)
{
	struct iovec local = { record, sizeof(*record) };
	struct iovec remote = { (void *)fp, sizeof(*record) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(*record);
}

size_t unwind_remote(pid_t pid, const struct user_registers *regs, uint64_t *addrs, size_t max)
{
	uint64_t fp = regs->fp, lowest = regs->sp;
	struct frame_record record;
	size_t n = 0;

	addrs[n++] = regs->ip;
	while (n < max && fp >= lowest && fp % sizeof(uint64_t) == 0) {
		if (!read_record(pid, fp, &record) || !record.return_address)
			break;
		addrs[n++] = record.return_address;
		lowest = fp + sizeof(record);
		fp = record.caller_fp;
	}
	return n;
}
