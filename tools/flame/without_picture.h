/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of flame that have no effect where it draws no picture. */
#ifndef WITHOUT_PICTURE_H
#define WITHOUT_PICTURE_H

#include "run/opts.h"

/* Refuses options without effect, after opts_parse(). 0, or -EINVAL, printed. */
int without_picture_check(const struct opt_set *set);

#endif
