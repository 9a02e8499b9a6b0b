/* SPDX-License-Identifier: GPL-2.0-only */
/* The module that samples: one perf event per CPU with a BPF program on it. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "run/tool.h"

extern const struct module sampler_module;

/* Attaches the program to an event on every CPU that is wanted. 0 or -errno, printed. */
int sampler_attach(struct run *run, const struct bpf_program *program);

#endif
