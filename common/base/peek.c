// SPDX-License-Identifier: GPL-2.0-only
/* Reads another process's memory; see peek.h. */
#include <sys/uio.h>

#include "base/peek.h"

#define PAGE_BYTES 4096u

/* Passes each page as a separate iovec: reading stops before an iovec that isn't all readable. */
size_t peek(pid_t pid, uint64_t addr, void *to, size_t size)
{
	struct iovec local = { to, size }, pages[PEEK_MAX_BYTES / PAGE_BYTES + 1];
	size_t n_pages = 0;
	ssize_t n;

	if (size > PEEK_MAX_BYTES)
		return 0;
	for (size_t at = 0, bytes; at < size; at += bytes) {
		bytes = PAGE_BYTES - (addr + at) % PAGE_BYTES;
		if (bytes > size - at)
			bytes = size - at;
		pages[n_pages++] = (struct iovec){ (void *)(addr + at), bytes };
	}
	n = process_vm_readv(pid, &local, 1, pages, n_pages, 0);
	return n < 0 ? 0 : (size_t)n;
}
