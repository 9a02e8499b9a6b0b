/* SPDX-License-Identifier: GPL-2.0-only */
/* What runs on this machine, for completion: each is an opt_list_fn. */
#ifndef TARGET_WORDS_H
#define TARGET_WORDS_H

struct words;

/* Processes, by number, with their command lines; not the kernel's threads. */
void target_words_pids(const void *values, struct words *words);

/* Threads of all processes, by number and by name. */
void target_words_tids(const void *values, struct words *words);
void target_words_comms(const void *values, struct words *words);

/* Folders of cgroups (v2); ids of containers; units of systemd that have a cgroup. */
void target_words_cgroups(const void *values, struct words *words);
void target_words_containers(const void *values, struct words *words);
void target_words_units(const void *values, struct words *words);

#endif
