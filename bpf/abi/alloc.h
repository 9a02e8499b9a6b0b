/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of allocation functions, by their arguments; shared by BPF and the loader. */
#ifndef ABI_ALLOC_H
#define ABI_ALLOC_H

enum alloc_kind {
	ALLOC_MALLOC,	      /* (size): also mallocx, mi_zalloc, ... */
	ALLOC_CALLOC,	      /* (n, size) */
	ALLOC_REALLOC,	      /* (pointer, size) */
	ALLOC_REALLOCARRAY,   /* (pointer, n, size) */
	ALLOC_MEMALIGN,	      /* (alignment, size): also aligned_alloc */
	ALLOC_POSIX_MEMALIGN, /* (&pointer, alignment, size), returns 0 or an error */
	ALLOC_VALLOC,	      /* (size) */
	ALLOC_PVALLOC,	      /* (size), rounded up to whole pages */
	ALLOC_NEW,	      /* operator new and new[]: (size, ...) */
	ALLOC_MMAP,	      /* (address, length, prot, flags, fd), returns MAP_FAILED (-1) */
	ALLOC_MREMAP,	      /* (address, old length, new length, flags), returns MAP_FAILED */
	ALLOC_MPROTECT,	      /* (address, length, prot), returns 0 or -1 */
	ALLOC_FREE,	      /* (pointer, ...): also cfree, free_sized, dallocx, ...; no return */
	ALLOC_DELETE,	      /* operator delete and delete[]: (pointer, ...); no return */
	ALLOC_MUNMAP,	      /* (address, length), returns 0 or -1: the return is not probed */
	ALLOC_KINDS,
};

#endif
