// SPDX-License-Identifier: GPL-2.0-only
/* Reads another process's memory; see peek.h. */
#include <sys/uio.h>

#include "base/peek.h"

#define PAGE_BYTES 4096u
#define PIECES_MAX 512 /* pieces per call, at most IOV_MAX */

/* Passes each page as a separate iovec: reading stops before an iovec that isn't all readable. */
static size_t peek_some(pid_t pid, uint64_t addr, void *to, size_t size)
{
	struct iovec local = { to, size }, pages[PEEK_MAX_BYTES / PAGE_BYTES + 1];
	size_t n_pages = 0;
	ssize_t n;

	for (size_t at = 0, bytes; at < size; at += bytes) {
		bytes = PAGE_BYTES - (addr + at) % PAGE_BYTES;
		if (bytes > size - at)
			bytes = size - at;
		pages[n_pages++] = (struct iovec){ (void *)(addr + at), bytes };
	}
	n = process_vm_readv(pid, &local, 1, pages, n_pages, 0);
	return n < 0 ? 0 : (size_t)n;
}

size_t peek(pid_t pid, uint64_t addr, void *to, size_t size)
{
	size_t done = 0, wanted, n;

	do {
		wanted = size - done < PEEK_MAX_BYTES ? size - done : PEEK_MAX_BYTES;
		n = peek_some(pid, addr + done, (char *)to + done, wanted);
		done += n;
	} while (n == wanted && done < size);
	return done;
}

/* Reads n pieces up to the first one that is not completely readable. Returns the number read. */
static size_t read_pieces(pid_t pid, const struct peek_piece *pieces, size_t n)
{
	struct iovec local[PIECES_MAX] = {}, remote[PIECES_MAX] = {};
	size_t n_read = 0, left;
	ssize_t size;

	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ pieces[i].to, pieces[i].size };
		remote[i] = (struct iovec){ (void *)pieces[i].addr, pieces[i].size };
	}
	size = process_vm_readv(pid, local, n, remote, n, 0);
	left = size < 0 ? 0 : (size_t)size;
	for (; n_read < n && pieces[n_read].size <= left; n_read++)
		left -= pieces[n_read].size;
	return n_read;
}

void peek_pieces(pid_t pid, struct peek_piece *pieces, size_t n)
{
	size_t n_read;

	for (size_t at = 0, end; at < n; at = end) {
		end = n - at < PIECES_MAX ? n : at + PIECES_MAX;
		n_read = read_pieces(pid, pieces + at, end - at);
		if (n_read < end - at)
			end = at + n_read + 1; /* without the unreadable one */
		for (size_t i = at; i < end; i++)
			pieces[i].is_read = i - at < n_read;
	}
}
