// SPDX-License-Identifier: GPL-2.0-only
/* Functions of runtimes, by process and word; see meanings.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtimes/meanings.h"
#include "runtimes/runtimes.h"

/*
 * Number of added words after which BPF has most likely evicted a word: eight times the size of its
 * cache, after which one word in 3,000 remains.
 */
#define ADDED_KEPT   (1u << 17)
#define ADDED_A_LOOK (1u << 15)

struct code {
	struct hashlink link; /* hashed by process and word */
	uint64_t word;
	pid_t pid;
	uint32_t used_at;		   /* n_added at its last use */
	struct runtime_function *function; /* held */
	struct code *next;		   /* next word of the same process */
};

struct owner {
	struct hashlink link; /* hashed by pid */
	struct code *first;
};

struct meanings {
	struct hashtable codes, owners, functions;
	struct runtime_function *unknown;
	uint32_t n_added;
};

struct meanings *meanings_new(void)
{
	struct meanings *meanings = mem_zalloc(1, sizeof(*meanings));

	meanings->unknown = mem_zalloc(1, sizeof(*meanings->unknown));
	*meanings->unknown = (struct runtime_function){ .meanings = meanings,
							.n_users = 1,
							.name = mem_strdup(RUNTIME_UNKNOWN) };
	return meanings;
}

static void free_linked(struct hashlink *link)
{
	runtime_function_free(container_of(link, struct runtime_function, link));
}

void meanings_free(struct meanings *meanings)
{
	if (!meanings)
		return;
	hashtable_free(&meanings->codes, hashlink_free);
	hashtable_free(&meanings->owners, hashlink_free);
	hashtable_free(&meanings->functions, free_linked);
	runtime_function_free(meanings->unknown);
	free(meanings);
}

/* ---- functions ---- */

static bool is_same(const struct runtime_function *a, const struct runtime_function *b)
{
	return !strcmp(a->name, b->name) && !a->file == !b->file &&
	       (!a->file || !strcmp(a->file, b->file)) && a->code == b->code &&
	       a->first_line == b->first_line && a->lines_kind == b->lines_kind &&
	       a->n_lines == b->n_lines && !memcmp(a->lines, b->lines, a->n_lines);
}

static uint64_t hash_function(const struct runtime_function *f)
{
	uint64_t hash = hash_add(hash_text(f->name), f->file ? hash_text(f->file) : 0);

	hash = hash_add(hash, f->first_line);
	for (size_t i = 0; i < f->n_lines; i++)
		hash = hash_add(hash, f->lines[i]);
	return hash;
}

void runtime_function_hold(struct runtime_function *function)
{
	function->n_users++;
}

void runtime_function_release(struct runtime_function *function)
{
	if (--function->n_users)
		return;
	hashtable_remove(&function->meanings->functions, &function->link);
	runtime_function_free(function);
}

size_t meanings_count(const struct meanings *meanings)
{
	return meanings->functions.count;
}

/* Returns the function equal to the draft (taken over), with one more user. */
static struct runtime_function *intern_function(struct meanings *meanings,
						struct runtime_function *draft)
{
	uint64_t hash = hash_function(draft);

	for_each_linked(struct runtime_function, known, link, &meanings->functions, hash) {
		if (!is_same(known, draft))
			continue;
		runtime_function_free(draft);
		runtime_function_hold(known);
		return known;
	}
	hashtable_add(&meanings->functions, &draft->link, hash);
	runtime_function_hold(draft);
	return draft;
}

/* ---- processes ---- */

static uint64_t hash_code(pid_t pid, uint64_t word)
{
	return hash_add(hash_add(0, (uint64_t)pid), word);
}

static struct code *find_code(const struct meanings *meanings, pid_t pid, uint64_t word)
{
	for_each_linked(struct code, code, link, &meanings->codes, hash_code(pid, word))
		if (code->pid == pid && code->word == word)
			return code;
	return NULL;
}

static struct owner *find_owner(const struct meanings *meanings, pid_t pid)
{
	/* Distinct pids have distinct hashes, so the first entry is the right one. */
	return HASHTABLE_FIRST(struct owner, link, &meanings->owners, hash_code(pid, 0));
}

static struct owner *get_owner(struct meanings *meanings, pid_t pid)
{
	struct owner *owner = find_owner(meanings, pid);

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	hashtable_add(&meanings->owners, &owner->link, hash_code(pid, 0));
	return owner;
}

static void free_known(struct meanings *meanings, struct code *code)
{
	hashtable_remove(&meanings->codes, &code->link);
	runtime_function_release(code->function);
	free(code);
}

static void release_unused(struct meanings *meanings, struct owner *owner)
{
	for (struct code **at = &owner->first, *code; (code = *at);) {
		if (meanings->n_added - code->used_at < ADDED_KEPT) {
			at = &code->next;
			continue;
		}
		*at = code->next;
		free_known(meanings, code);
	}
}

static struct code *add_code(struct meanings *meanings, pid_t pid, uint64_t word)
{
	struct code *code = mem_zalloc(1, sizeof(*code));
	struct owner *owner = get_owner(meanings, pid);

	if (++meanings->n_added % ADDED_A_LOOK == 0)
		for_each_element(struct owner, other, next, link, &meanings->owners)
			release_unused(meanings, other);
	code->pid = pid;
	code->word = word;
	code->function = meanings->unknown;
	runtime_function_hold(code->function);
	code->next = owner->first;
	owner->first = code;
	hashtable_add(&meanings->codes, &code->link, hash_code(pid, word));
	return code;
}

static struct runtime_function *read_function(struct meanings *meanings,
					      const struct runtime_def *def, size_t size)
{
	const struct runtime_code *runtime =
		size >= sizeof(*def) ? runtime_code_of(def->runtime) : NULL;
	struct runtime_function *draft = runtime ? runtime->read(def, size) : NULL;

	if (!draft)
		return NULL;
	draft->meanings = meanings;
	draft->code = runtime;
	return intern_function(meanings, draft);
}

void meanings_add(struct meanings *meanings, const struct runtime_def *def, size_t size)
{
	struct runtime_function *function = read_function(meanings, def, size);
	struct code *code;

	if (!function)
		return;
	code = find_code(meanings, (pid_t)def->tgid, def->word);
	if (!code)
		code = add_code(meanings, (pid_t)def->tgid, def->word);
	code->used_at = meanings->n_added;
	runtime_function_release(code->function);
	code->function = function;
}

struct runtime_function *meanings_find(const struct meanings *meanings, pid_t pid, uint64_t word)
{
	struct code *code = find_code(meanings, pid, word);

	if (!code)
		return meanings->unknown;
	code->used_at = meanings->n_added;
	return code->function;
}

size_t meanings_resolve(struct meanings *meanings, struct runtime_instance *instance, pid_t pid,
			const struct runtime_position *position,
			struct runtime_call calls[RUNTIME_MAX_CALLS])
{
	struct runtime_function *function = meanings_find(meanings, pid, position->word);
	const struct runtime_code *code = function->code;
	size_t n;

	if (instance && instance->file->code != code)
		instance = NULL; /* another program, which the process executes now */
	n = code ? code->resolve(instance, function, position, calls) : 0;
	if (!n)
		calls[n++] = (struct runtime_call){ .line = 0 };
	for (size_t i = 0; i < n; i++) {
		if (calls[i].function) {
			calls[i].function->meanings = meanings;
			calls[i].function->code = code;
			calls[i].function = intern_function(meanings, calls[i].function);
		} else {
			calls[i].function = function;
			runtime_function_hold(function);
		}
	}
	return n;
}

bool meanings_knows(const struct meanings *meanings, pid_t pid)
{
	return find_owner(meanings, pid);
}

void meanings_forget(struct meanings *meanings, pid_t pid)
{
	struct owner *owner = find_owner(meanings, pid);

	if (!owner)
		return;
	for (struct code *code = owner->first, *next; code; code = next) {
		next = code->next;
		free_known(meanings, code);
	}
	hashtable_remove(&meanings->owners, &owner->link);
	free(owner);
}
