// SPDX-License-Identifier: GPL-2.0-only
/* Handles the signals that end a run; see signals.h. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/signals.h"

#define PATIENCE_NS NS_PER_S

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

static struct {
	int fd;
	volatile uint64_t came_ns; /* time of the pending signal; 0: none */
	struct sigaction before[ARRAY_SIZE(numbers)];
} state;

static void on_signal(int number)
{
	int saved_errno = errno;
	uint64_t now_ns = clock_now_ns(), one = 1;

	if (!state.came_ns) {
		state.came_ns = now_ns;
		(void)!write(state.fd, &one, sizeof(one));
	} else if (now_ns - state.came_ns >= PATIENCE_NS) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved_errno;
}

/*
 * Catches SIGINT even if it is ignored: a script's "&" makes its children ignore SIGINT, yet the
 * script ends a run with it. SA_RESTART: the first signal interrupts no system call, even a blocked
 * write.
 */
int signals_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	state.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (state.fd < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], NULL, &state.before[i]);
		if (numbers[i] != SIGHUP || state.before[i].sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	return state.fd;
}

void signals_take(void)
{
	uint64_t n;

	(void)!read(state.fd, &n, sizeof(n));
	state.came_ns = 0;
}

bool signals_are_pending(void)
{
	return state.came_ns;
}

void signals_restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &state.before[i], NULL);
}
