/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches probes to user-space functions, at the entry and, if requested, the return. The best
 * mode that the kernel has is found by trying, in this order:
 *
 *	UPROBES_SESSION  one link for all functions of a file; one program is called at the entry
 *			 and, if it returned 0 there, at the return (since 6.13)
 *	UPROBES_MULTI	 one link for the entries of a file and one for the returns (since 6.6,
 *			 usable since 6.10)
 *	UPROBES_PERF	 a perf event for each entry and each return, with a cookie (since 5.15)
 *
 * A BPF program reads the cookie of its point with bpf_get_attach_cookie(). A session's program is
 * at a return if ctx's ip isn't bpf_get_func_ip(ctx): this avoids the kfunc, whose prototype has
 * changed. The programs are declared as SEC("uprobe"), since libbpf 1.1 knows no other section;
 * uprobes_prepare() sets their types.
 *
 * Functions return 0 or -errno. Only uprobes_prepare() prints errors.
 */
#ifndef UPROBES_H
#define UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

enum uprobes_mode {
	UPROBES_SESSION,
	UPROBES_MULTI,
	UPROBES_PERF,
};

struct uprobes_programs {
	struct bpf_program *session; /* for entries and returns; NULL: never use sessions */
	struct bpf_program *entry;
	struct bpf_program *ret;   /* may be NULL if no point wants_return */
	struct bpf_program *brief; /* for is_brief points, entries only; may be NULL */
	enum uprobes_mode mode;	   /* set by uprobes_prepare() */
};

/*
 * Finds the mode, sets the programs' attach types, disables loading of programs that the mode
 * doesn't need, and libbpf's auto-attach. Called before the object is loaded. 0 or -errno, printed:
 * -ENOTSUP if the kernel has none of the modes, else the reason why they can't be tried.
 */
int uprobes_prepare(struct uprobes_programs *programs);

/* Like uprobes_prepare(), with a given mode instead of the best one (tests, benchmarks). */
int uprobes_prepare_mode(struct uprobes_programs *programs, enum uprobes_mode mode);

struct uprobe_point {
	int fd;		 /* open file (O_PATH suffices), used only while attaching */
	uint64_t offset; /* file offset of the probed instruction: see probe_place.h */
	uint64_t cookie;
	bool wants_return; /* ignored in a session: the program's result at the entry decides */
	bool is_brief;	   /* attach only the brief program, if present */
	int err;	   /* out: 0, or -errno of attaching */
};

struct uprobes;

/*
 * Attaches the points, after load, to one process with all its threads, or to all processes (pid
 * 0). Points of one file must be adjacent, since they share a link. Sets each point's err; one that
 * fails doesn't prevent the rest. NULL with errno set if all fail; freed with uprobes_detach().
 */
struct uprobes *uprobes_attach(const struct uprobes_programs *programs, pid_t pid,
			       struct uprobe_point *points, size_t n);

/*
 * Returns false if the kernel has lost the process: probes of one process are bound to the task of
 * its main thread (UPROBES_PERF: of thread pid). If another thread executes a program, that task is
 * gone, and no probe is placed in the new program.
 */
bool uprobes_are_bound(const struct uprobes *uprobes);

/* Detaches all points and frees uprobes (may be NULL). Pending calls' returns are not reported. */
void uprobes_detach(struct uprobes *uprobes);

/* Closes the latest link. False: it was the last one left, and uprobes is freed. */
bool uprobes_detach_one(struct uprobes *uprobes);

/* Tests if the kernel supports a mode: 0 or -errno. */
int uprobes_try(enum uprobes_mode mode);

const char *uprobes_mode_name(enum uprobes_mode mode);

#endif
