// SPDX-License-Identifier: GPL-2.0-only
/* Python's functions, by process and word; see python_codes.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtimes/python_code.h"
#include "runtimes/python_codes.h"

/*
 * After N further code objects BPF has most likely evicted one: after eight times its cache's size,
 * one in 3,000 remains.
 */
#define ADDED_KEPT   (1u << 17)
#define ADDED_A_LOOK (1u << 15)

struct code {
	struct hashlink link; /* by process and word */
	uint64_t word;
	pid_t pid;
	uint32_t used_at;		  /* number of additions at its last use */
	struct python_function *function; /* which it uses */
	struct code *next;		  /* of the same process */
};

struct owner {
	struct hashlink link; /* by pid */
	struct code *first;
};

struct python_codes {
	struct hashtable codes, owners, functions;
	struct python_function *unknown;
	uint32_t n_added;
};

struct python_codes *python_codes_new(void)
{
	struct python_codes *codes = mem_zalloc(1, sizeof(*codes));

	codes->unknown = mem_zalloc(1, sizeof(*codes->unknown));
	*codes->unknown = (struct python_function){ .codes = codes,
						    .n_users = 1,
						    .name = mem_strdup("[python]") };
	return codes;
}

static void free_function(struct python_function *function)
{
	free(function->name);
	free(function->file);
	free(function);
}

static void free_linked(struct hashlink *link, void *arg)
{
	(void)arg;
	free_function(container_of(link, struct python_function, link));
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	hashtable_free(&codes->codes, hashlink_free, NULL);
	hashtable_free(&codes->owners, hashlink_free, NULL);
	hashtable_free(&codes->functions, free_linked, NULL);
	free_function(codes->unknown);
	free(codes);
}

/* ---- functions ---- */

static bool is_same(const struct python_function *a, const struct python_function *b)
{
	return !strcmp(a->name, b->name) && !a->file == !b->file &&
	       (!a->file || !strcmp(a->file, b->file)) && a->first_line == b->first_line &&
	       a->lines_kind == b->lines_kind && a->n_lines == b->n_lines &&
	       !memcmp(a->lines, b->lines, a->n_lines);
}

static uint64_t hash_function(const struct python_function *f)
{
	uint64_t hash = hash_add(hash_text(f->name), f->file ? hash_text(f->file) : 0);

	hash = hash_add(hash, f->first_line);
	for (size_t i = 0; i < f->n_lines; i++)
		hash = hash_add(hash, f->lines[i]);
	return hash;
}

void python_function_hold(struct python_function *function)
{
	function->n_users++;
}

void python_function_release(struct python_function *function)
{
	if (--function->n_users)
		return;
	hashtable_remove(&function->codes->functions, &function->link);
	free_function(function);
}

size_t python_codes_count_functions(const struct python_codes *codes)
{
	return codes->functions.count;
}

/* Takes over a draft. Returns the function, for one more user. */
static struct python_function *intern_function(struct python_codes *codes,
					       struct python_function *draft)
{
	uint64_t hash = hash_function(draft);

	for (struct hashlink *link = hashtable_first(&codes->functions, hash); link;
	     link = hashtable_next(link)) {
		struct python_function *known = container_of(link, struct python_function, link);

		if (!is_same(known, draft))
			continue;
		free_function(draft);
		python_function_hold(known);
		return known;
	}
	hashtable_add(&codes->functions, &draft->link, hash);
	python_function_hold(draft);
	return draft;
}

/* Decodes a text into as much memory as it needs. */
static char *read_text(const struct python_text *text, const uint8_t *bytes, size_t n_bytes)
{
	char *decoded = python_text_decode(text, bytes, n_bytes), *exact = mem_strdup(decoded);

	free(decoded);
	return exact;
}

static struct python_function *read_function(struct python_codes *codes,
					     const struct python_def *def)
{
	struct python_function *f = mem_zalloc(1, sizeof(*f) + def->n_lines);

	f->codes = codes;
	if (def->has_file)
		f->file = read_text(&def->file_text, def->file, PYTHON_FILE_BYTES - 4);
	f->name = read_text(&def->name_text, def->name, PYTHON_NAME_BYTES - 1);
	f->first_line = def->first_line;
	f->lines_kind = def->lines_kind;
	f->n_lines = def->n_lines;
	memcpy(f->lines, def->lines, def->n_lines);
	return intern_function(codes, f);
}

/* ---- processes ---- */

static uint64_t hash_code(pid_t pid, uint64_t word)
{
	return hash_add(hash_add(0, (uint64_t)pid), word);
}

static struct code *find_code(const struct python_codes *codes, pid_t pid, uint64_t word)
{
	struct hashlink *link = hashtable_first(&codes->codes, hash_code(pid, word));

	for (; link; link = hashtable_next(link)) {
		struct code *code = container_of(link, struct code, link);

		if (code->pid == pid && code->word == word)
			return code;
	}
	return NULL;
}

static struct owner *find_owner(const struct python_codes *codes, pid_t pid)
{
	struct hashlink *link = hashtable_first(&codes->owners, hash_code(pid, 0));

	return link ? container_of(link, struct owner, link) : NULL; /* one pid, one hash */
}

static struct owner *get_owner(struct python_codes *codes, pid_t pid)
{
	struct owner *owner = find_owner(codes, pid);

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	hashtable_add(&codes->owners, &owner->link, hash_code(pid, 0));
	return owner;
}

static void free_known(struct python_codes *codes, struct code *code)
{
	hashtable_remove(&codes->codes, &code->link);
	python_function_release(code->function);
	free(code);
}

static void release_unused(struct hashlink *link, void *arg)
{
	struct owner *owner = container_of(link, struct owner, link);
	struct python_codes *codes = arg;

	for (struct code **at = &owner->first, *code; (code = *at);) {
		if (codes->n_added - code->used_at < ADDED_KEPT) {
			at = &code->next;
			continue;
		}
		*at = code->next;
		free_known(codes, code);
	}
}

static struct code *add_code(struct python_codes *codes, pid_t pid, uint64_t word)
{
	struct code *code = mem_zalloc(1, sizeof(*code));
	struct owner *owner = get_owner(codes, pid);

	if (++codes->n_added % ADDED_A_LOOK == 0)
		hashtable_visit(&codes->owners, release_unused, codes);
	code->pid = pid;
	code->word = word;
	code->function = codes->unknown;
	python_function_hold(code->function);
	code->next = owner->first;
	owner->first = code;
	hashtable_add(&codes->codes, &code->link, hash_code(pid, word));
	return code;
}

void python_codes_add(struct python_codes *codes, const struct python_def *def, size_t size)
{
	struct code *code;

	if (size < offsetof(struct python_def, lines) ||
	    def->n_lines > size - offsetof(struct python_def, lines))
		return;
	code = find_code(codes, (pid_t)def->tgid, def->word);
	if (!code)
		code = add_code(codes, (pid_t)def->tgid, def->word);
	code->used_at = codes->n_added;
	python_function_release(code->function);
	code->function = read_function(codes, def);
}

struct python_function *python_codes_find(const struct python_codes *codes, pid_t pid,
					  uint64_t word)
{
	struct code *code = find_code(codes, pid, word);

	if (!code)
		return codes->unknown;
	code->used_at = codes->n_added;
	return code->function;
}

bool python_codes_knows(const struct python_codes *codes, pid_t pid)
{
	return find_owner(codes, pid);
}

void python_codes_forget(struct python_codes *codes, pid_t pid)
{
	struct owner *owner = find_owner(codes, pid);

	if (!owner)
		return;
	for (struct code *code = owner->first, *next; code; code = next) {
		next = code->next;
		free_known(codes, code);
	}
	hashtable_remove(&codes->owners, &owner->link);
	free(owner);
}
