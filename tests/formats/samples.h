/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples with all that can make a format go wrong, for tests of writers. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "output/profile.h"

static const struct image samples_app = { "app", "/opt/my app/app", "00ff10" },
			  samples_libc = { "libc.so.6", "/usr/lib/libc.so.6", "93ac61ec" },
			  samples_kernel = { .name = "[kernel]" };

#define SAMPLES_HOSTILE "\"q\\u0041\" <b>;\n\033]0;t\007 \xff\xc3\xa4 \xe2\x82 \xc2\x9b"

/* Root first, as the resolver makes them: what is inlined comes behind what it is in. */
static const struct frame samples_frames[] = {
	{ "main", FRAME_USER, 12, "app.c", "main", &samples_app, 0x1010 },
	{ "run", FRAME_USER, 40, "run.c", NULL, &samples_app, 0x1100 },
	{ "step", FRAME_INLINED, 7, "step.h", NULL, &samples_app, 0x1100 },
	{ "leap", FRAME_INLINED, 9, "step.h", NULL, &samples_app, 0x1100 },
	{ "ns::read(char const*)", FRAME_USER, 0, NULL, "_ZN2ns4readEPKc", &samples_app, 0x1234 },
	{ "read", FRAME_USER, 0, NULL, NULL, &samples_libc, 0xfe123 },
	{ "entry", FRAME_KERNEL, 0, NULL, NULL, &samples_kernel, 0 },
	{ "vfs_read", FRAME_KERNEL, 0, NULL, NULL, &samples_kernel, 0 },
};

static const struct frame samples_recursion[] = {
	{ "main", FRAME_USER, 12, "app.c", NULL, &samples_app, 0x1010 },
	{ "f", FRAME_USER, 1, "f.c", NULL, &samples_app, 0x2000 },
	{ "f", FRAME_USER, 1, "f.c", NULL, &samples_app, 0x2000 },
	{ "f", FRAME_USER, 2, "f.c", NULL, &samples_app, 0x2008 },
};

static const struct frame samples_hostile[] = {
	{ SAMPLES_HOSTILE, FRAME_USER, 3, "a\n\"\xff;.c", SAMPLES_HOSTILE "_", &samples_app, 1 },
	{ "[unknown]", FRAME_USER, 0, NULL, NULL, NULL, 0 },
	{ "--", FRAME_MARK, 0, NULL, NULL, NULL, 0 },
	{ "jitted", FRAME_JIT, 0, NULL, NULL, NULL, 0 },
};

/* The same profile at each call; to be freed. */
static inline struct profile *samples_make(const char *unit)
{
	struct profile *p = profile_new(unit, NULL, NULL);
	char *name = mem_zalloc(4097, 1);
	const struct frame longest = { memset(name, 'n', 4096), FRAME_USER };
	struct sample s = { "app", 42, -1, 0, NULL, samples_frames, 8, 1009 };

	profile_add(p, &s);
	s.n_frames = 4;
	s.value = 17;
	profile_add(p, &s);
	s.pid = 43;
	profile_add(p, &s);
	profile_add(p, &(struct sample){ "app", 42, 3, 'D', "at end", samples_recursion, 4, 101 });
	profile_add(p, &(struct sample){ "app", 42, 3, 'D', "at end", samples_recursion, 4, 7,
					 .tid = 44 });
	profile_add(p, &(struct sample){ SAMPLES_HOSTILE, 7, -1, 0, SAMPLES_HOSTILE,
					 samples_hostile, 4, 1ULL << 60 });
	profile_add(p, &(struct sample){ "long", 8, -1, 0, NULL, &longest, 1, 3 });
	profile_add(p, &(struct sample){ "bare", 9, -1, 0, NULL, NULL, 0, 5 });
	profile_add(p, &(struct sample){ "nothing", 9, -1, 0, NULL, samples_frames, 2, 0 });
	free(name);
	return p;
}

#endif
