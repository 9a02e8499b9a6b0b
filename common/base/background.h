/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work that will be needed at the next report, done ahead by a thread of low priority while the
 * tool waits for the end of its window. What is not done by then is done when it is asked for.
 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

struct background;

enum chore_state {
	CHORE_NONE,
	CHORE_QUEUED,
	CHORE_RUNNING,
	CHORE_DONE,
};

/*
 * A part of what it works on; all zero: never begun. It touches nothing that others do meanwhile.
 */
struct chore {
	void (*run)(struct chore *chore);
	struct chore *next;
	enum chore_state state;
};

struct background *background_new(void);

/* Waits for the chore that is being done, and forgets those that are not begun. */
void background_free(struct background *background);

/* Has the chore done some time, after those before it. The first one starts the thread. */
void background_add(struct background *background, struct chore *chore,
		    void (*run)(struct chore *chore));

/* Returns when a chore that was added is done: here and now, if it wasn't begun. */
void background_finish(struct background *background, struct chore *chore);

#endif
