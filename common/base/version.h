/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VERSION_H
#define VERSION_H

#define TRACELETS_VERSION "0.1.0"

#endif
