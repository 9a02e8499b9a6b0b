// SPDX-License-Identifier: GPL-2.0-only
/* Lines of scripts; see lines.h. */
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/search.h"
#include "runtimes/v8/lines.h"

/*
 * All scripts are evicted if they have more lines together. A script counts as several lines: a
 * program may make one for each function that it evaluates.
 */
#define MAX_LINES	 (8U << 20)
#define LINES_PER_SCRIPT 32

struct script {
	struct hashlink link;
	pid_t pid;
	uint32_t id;
	uint64_t source; /* string, tagged; its second word has hash and length */
	uint64_t length;
	uint32_t *ends; /* ascending positions of the last characters of lines */
	size_t n;
};

struct v8_lines {
	struct hashtable scripts;
	size_t n; /* lines of all scripts, with LINES_PER_SCRIPT for each */
};

struct v8_lines *v8_lines_new(void)
{
	return mem_zalloc(1, sizeof(struct v8_lines));
}

static void free_script(struct hashlink *link)
{
	struct script *script = container_of(link, struct script, link);

	free(script->ends);
	free(script);
}

static void evict(struct v8_lines *lines)
{
	hashtable_free(&lines->scripts, free_script);
	*lines = (struct v8_lines){ 0 };
}

void v8_lines_free(struct v8_lines *lines)
{
	if (!lines)
		return;
	evict(lines);
	free(lines);
}

/* Returns true for the last character of a line: \n, \r without \n, or a Unicode separator. */
static bool ends_line(const uint16_t *text, size_t i, size_t n)
{
	switch (text[i]) {
	case '\n':
	case 0x2028:
	case 0x2029:
		return true;
	case '\r':
		return i + 1 == n || text[i + 1] != '\n';
	default:
		return false;
	}
}

static void find_ends(struct script *script, const struct v8_bytes *text)
{
	const uint16_t *characters = (const uint16_t *)text->bytes;
	size_t cap = 0;

	for (size_t i = 0; i < text->n; i++) {
		if (!ends_line(characters, i, text->n))
			continue;
		*MEM_APPEND(script->ends, script->n, cap) = (uint32_t)i;
	}
}

static uint64_t hash_script(pid_t pid, uint32_t id, uint64_t source)
{
	return hash_add(hash_add(hash_pid(pid), id), source);
}

static struct script *find_script(const struct v8_lines *lines, const struct script *wanted)
{
	for_each_linked(struct script, script, link, &lines->scripts,
			hash_script(wanted->pid, wanted->id, wanted->source))
		if (script->pid == wanted->pid && script->id == wanted->id &&
		    script->source == wanted->source && script->length == wanted->length)
			return script;
	return NULL;
}

static struct script *add_script(struct v8_lines *lines, const struct v8_heap *heap,
				 const struct script *wanted)
{
	struct script *script;
	struct v8_bytes text;

	if (!v8_heap_string(heap, wanted->source, UINT32_MAX, &text))
		return NULL;
	if (lines->n > MAX_LINES)
		evict(lines);
	script = mem_zalloc(1, sizeof(*script));
	*script = *wanted;
	find_ends(script, &text);
	free(text.bytes);
	if (script->n > MAX_LINES) {
		free_script(&script->link);
		return NULL;
	}
	lines->n += script->n + LINES_PER_SCRIPT;
	hashtable_add(&lines->scripts, &script->link,
		      hash_script(script->pid, script->id, script->source));
	return script;
}

bool v8_lines_find(struct v8_lines *lines, const struct v8_heap *heap, uint64_t script,
		   uint32_t script_id, int32_t position, struct v8_location *location)
{
	struct script wanted = { .pid = heap->pid, .id = script_id }, *found;
	size_t line;

	*location = (struct v8_location){ 0 };
	if (position < 0 || v8_heap_type(heap, &script) != heap->v8->layout.type_script ||
	    (uint32_t)v8_heap_small(heap, script, V8_SCRIPT_ID) != script_id)
		return false;
	wanted.source = v8_heap_word(heap, script, V8_SCRIPT_SOURCE);
	wanted.length = v8_heap_number(heap, wanted.source, V8_STRING_LENGTH);
	if ((uint64_t)position > wanted.length)
		return false;
	found = find_script(lines, &wanted);
	found = found ? found : add_script(lines, heap, &wanted);
	if (!found)
		return false;
	line = position ? search_rank(found->ends, found->n, sizeof(uint32_t), 0, sizeof(uint32_t),
				      (uint32_t)position - 1)
			: 0;
	location->line =
		(uint32_t)(line + 1) + (uint32_t)v8_heap_small(heap, script, V8_SCRIPT_LINE);
	location->column = (uint32_t)position - (line ? found->ends[line - 1] + 1 : 0) + 1;
	return true;
}
