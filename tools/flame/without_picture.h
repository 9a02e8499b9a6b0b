/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of flame that have no effect without a picture. */
#ifndef WITHOUT_PICTURE_H
#define WITHOUT_PICTURE_H

#include "run/opts.h"

/* Rejects options without effect, after opts_parse(). Returns 0, or -EINVAL after printing. */
int without_picture_check(const struct opt_set *set);

#endif
