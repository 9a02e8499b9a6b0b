/* SPDX-License-Identifier: GPL-2.0-only */
/* A profile, which each test begins with. */
#ifndef ONE_PROFILE_H
#define ONE_PROFILE_H

#include "output/profile.h"
#include "unit.h"

static struct profile *p;

/* Begins another one, in other units. */
static void begin(const char *unit, const struct column *columns)
{
	profile_free(p);
	p = profile_new(unit, columns, NULL);
}

BEFORE_EACH()
{
	p = profile_new("samples", NULL, NULL);
}

AFTER_EACH()
{
	profile_free(p);
	p = NULL;
}

#endif
