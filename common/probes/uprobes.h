/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes on functions of user space, at their entry and, where wanted, their return. What the
 * kernel offers is found by trying, best first:
 *
 *	UPROBES_SESSION  one link for all functions of a file; one program is called at the entry
 *			 and, if it returned 0 there, at the return (since 6.13)
 *	UPROBES_MULTI	 one link for the entries of a file and one for the returns (since 6.6, of
 *			 use since 6.10)
 *	UPROBES_PERF	 a perf event for each entry and each return, with a cookie (since 5.15)
 *
 * A BPF program sees the cookie of its point by bpf_get_attach_cookie(). A session's program is at
 * a return if ctx's ip isn't bpf_get_func_ip(ctx): this avoids the kfunc, whose prototype has
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
	struct bpf_program *session; /* for entries and returns; NULL: sessions are not used */
	struct bpf_program *entry;
	struct bpf_program *ret;   /* may be NULL if no point wants_return */
	struct bpf_program *brief; /* for points that are brief, at entries only; may be NULL */
	enum uprobes_mode mode;	   /* set by uprobes_prepare() */
};

/*
 * Before the object is loaded: finds the mode, sets the programs' attach types, lets only those be
 * loaded that the mode needs, and keeps libbpf from attaching them. 0 or -errno, printed: -ENOTSUP
 * where the kernel has none of the modes, else the reason why they can't be tried.
 */
int uprobes_prepare(struct uprobes_programs *programs);

/* The same, but with a given mode instead of the best one (tests, benchmarks). */
int uprobes_prepare_mode(struct uprobes_programs *programs, enum uprobes_mode mode);

struct uprobe_point {
	int fd;		 /* the open file (O_PATH suffices); only used while attaching */
	uint64_t offset; /* file offset of the probed instruction: see probe_place.h */
	uint64_t cookie;
	bool wants_return; /* in a session the program's return value at the entry decides */
	bool is_brief;	   /* only the brief program is attached, if present */
	int err;	   /* out: 0 or why it could not be attached (-errno) */
};

struct uprobes;

/*
 * Attaches the points after load: to one process with all its threads, or to all (pid 0). Points of
 * one file must be adjacent: they share a link. Each point's err reports its result; the rest is
 * attached even if some fail. NULL with errno set if none could be; free with uprobes_detach().
 */
struct uprobes *uprobes_attach(const struct uprobes_programs *programs, pid_t pid,
			       struct uprobe_point *points, size_t n);

/* Detaches everything; NULL is fine. Calls that haven't returned are not reported any more. */
void uprobes_detach(struct uprobes *uprobes);

/* Closes one of its links. False: that was the last one, and it is freed. */
bool uprobes_detach_one(struct uprobes *uprobes);

/* Tests if the kernel has that mode: 0 or -errno. */
int uprobes_try(enum uprobes_mode mode);

const char *uprobes_mode_name(enum uprobes_mode mode);

#endif
