/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that leave all signals to the main thread, which reads them from descriptors. */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>

/* 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
