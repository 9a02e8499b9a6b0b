// SPDX-License-Identifier: GPL-2.0-only
/* V8 as a runtime; see v8.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/peek.h"
#include "base/search.h"
#include "runtimes/text.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/v8.h"
#include "runtimes/v8/walk.h"

/* ---- lines ---- */

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

static void evict_scripts(struct v8_lines *lines)
{
	hashtable_free(&lines->scripts, free_script);
	*lines = (struct v8_lines){ 0 };
}

void v8_lines_free(struct v8_lines *lines)
{
	if (!lines)
		return;
	evict_scripts(lines);
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
		evict_scripts(lines);
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

/* ---- functions at return addresses ---- */

#define MAX_KNOWN  65536 /* functions and results of a process; all are evicted at this number */
#define CODE_BYTES 72	 /* bytes of a Code object that change with the code */
#define ANONYMOUS  "(anonymous)"

/*
 * If a search at an address finds nothing, the address is not searched again for this time: it
 * isn't V8's code, or the collector was moving an object.
 */
#define NOT_FOUND_NS NS_PER_S

/* Part of a definition that its function retains, in runtime_function.lines. */
struct about {
	uint64_t owner; /* see struct v8_def */
	uint32_t script_id, literal_id;
	bool is_incomplete; /* the definition lacks the name: it is too long, or there is none */
	uint64_t shared;
};

/* A name, identified by the function's thread, script and literal. */
struct known {
	struct hashlink link;
	uint64_t owner;
	uint32_t script_id, literal_id;
	char *name, *file; /* file NULL: none */
};

struct call {
	struct known *function; /* NULL: the frame's own, as BPF defined it */
	uint32_t line;
};

/* The functions at a return address, innermost first, for a frame of a word's function. */
struct result {
	struct hashlink link;
	uint64_t word, pc;
	uint64_t object; /* Code, tagged; 0: none was found */
	uint64_t start;	 /* address of its first instruction */
	uint64_t time_ns;
	/* contents of Code; another result is made once they change, or other code is at start */
	uint8_t code[CODE_BYTES];
	size_t n; /* 0: unknown */
	struct call calls[V8_INLINED_MAX];
};

struct v8_calls {
	struct v8_heap heap;
	struct v8_lines *lines;
	bool wants_lines;
	struct hashtable known, results;
};

/* ---- caches ---- */

static void free_known(struct hashlink *link)
{
	struct known *known = container_of(link, struct known, link);

	free(known->name);
	free(known->file);
	free(known);
}

static void free_result(struct hashlink *link)
{
	free(container_of(link, struct result, link));
}

/* Results refer to names. */
static void evict(struct v8_calls *calls)
{
	hashtable_free(&calls->results, free_result);
	hashtable_free(&calls->known, free_known);
}

struct v8_calls *v8_calls_new(pid_t pid, const struct v8_file *v8, bool lines)
{
	struct v8_calls *calls = mem_zalloc(1, sizeof(*calls));

	calls->heap = (struct v8_heap){ .pid = pid, .v8 = v8 };
	calls->lines = v8_lines_new();
	calls->wants_lines = lines;
	return calls;
}

void v8_calls_free(struct v8_calls *calls)
{
	evict(calls);
	v8_lines_free(calls->lines);
	free(calls);
}

/* ---- names ---- */

/* Converts a text of a definition; NULL: empty, or not in the definition. */
static char *decode(const struct v8_text *text, const uint8_t *bytes, size_t max)
{
	size_t unit = text->is_wide ? 2 : 1,
	       n = text->n_copied < max ? text->n_copied / unit : max / unit;

	return text->length && n ? runtime_text_decode(bytes, n, (uint32_t)unit) : NULL;
}

/* Reads a rope, which BPF leaves to the loader. */
static char *read_rope(const struct v8_heap *heap, const struct v8_text *text, uint32_t max)
{
	struct v8_bytes characters;
	char *name;

	if (!text->is_rope || !v8_heap_string(heap, text->at, max, &characters))
		return NULL;
	name = runtime_text_decode(characters.bytes, characters.n, characters.unit);
	free(characters.bytes);
	return name;
}

/* Names a function without a name by its location, as V8's own stack traces do. */
static char *name_by_location(struct v8_calls *calls, const struct v8_def *def, const char *file)
{
	struct v8_location at;

	if (!file || !v8_lines_find(calls->lines, &calls->heap, def->script, def->script_id,
				    def->begin, &at))
		return mem_strdup(ANONYMOUS);
	return mem_printf("%s:%u:%u", path_source(file), at.line, at.column);
}

static uint64_t hash_known(uint64_t owner, uint32_t script_id, uint32_t literal_id)
{
	return hash_add(hash_add(owner, script_id), literal_id);
}

static struct known *find_known(const struct v8_calls *calls, uint64_t owner, uint32_t script_id,
				uint32_t literal_id)
{
	for_each_linked(struct known, known, link, &calls->known,
			hash_known(owner, script_id, literal_id))
		if (known->owner == owner && known->script_id == script_id &&
		    known->literal_id == literal_id)
			return known;
	return NULL;
}

/* Returns the name of a function of a thread, by its SharedFunctionInfo. NULL: not a function. */
static struct known *name_function(struct v8_calls *calls, uint64_t shared, uint64_t owner)
{
	struct known *known;
	struct v8_def def;

	if (!v8_define_remote(calls->heap.pid, &calls->heap.v8->layout, shared, &def))
		return NULL;
	known = find_known(calls, owner, def.script_id, def.literal_id);
	if (known)
		return known;
	known = mem_zalloc(1, sizeof(*known));
	known->owner = owner;
	known->script_id = def.script_id;
	known->literal_id = def.literal_id;
	known->file = decode(&def.file_text, def.file, V8_FILE_END_BYTES);
	if (!known->file)
		known->file = read_rope(&calls->heap, &def.file_text, V8_FILE_END_BYTES);
	known->name = decode(&def.name_text, def.name, V8_NAME_BYTES - 1);
	if (!known->name)
		known->name = read_rope(&calls->heap, &def.name_text, V8_NAME_BYTES - 1);
	if (!known->name)
		known->name = name_by_location(calls, &def, known->file);
	hashtable_add(&calls->known, &known->link,
		      hash_known(owner, known->script_id, known->literal_id));
	return known;
}

/* ---- definitions ---- */

struct runtime_function *v8_function_read(const struct runtime_def *header, size_t size)
{
	const struct v8_def *def = (const struct v8_def *)header;
	struct runtime_function *f;
	struct about about;

	if (size < sizeof(*def))
		return NULL;
	f = mem_zalloc(1, sizeof(*f) + sizeof(about));
	f->name = decode(&def->name_text, def->name, V8_NAME_BYTES - 1);
	f->file = decode(&def->file_text, def->file, V8_FILE_END_BYTES);
	about = (struct about){ .owner = def->owner,
				.script_id = def->script_id,
				.literal_id = def->literal_id,
				.is_incomplete = !f->name || def->file_text.is_rope,
				.shared = def->shared };
	if (!f->name)
		f->name = mem_strdup(ANONYMOUS);
	f->n_lines = sizeof(about);
	memcpy(f->lines, &about, sizeof(about));
	return f;
}

/* ---- calls ---- */

static bool is_of(const struct known *known, const struct about *about)
{
	return known && known->owner == about->owner && known->script_id == about->script_id &&
	       known->literal_id == about->literal_id;
}

/* Returns a bytecode's line; 0: unknown, or the function has been moved from `shared`. */
static uint32_t find_line(struct v8_calls *calls, uint64_t shared, uint32_t script_id,
			  uint32_t literal_id, int32_t bytecode)
{
	const struct v8_heap *heap = &calls->heap;
	const struct v8_layout *layout = &heap->v8->layout;
	struct v8_location at;
	int32_t position;
	uint64_t script;

	if (!calls->wants_lines || v8_heap_type(heap, &shared) != layout->type_shared ||
	    v8_heap_number(heap, shared, layout->shared_literal) != literal_id)
		return 0;
	script = v8_heap_word(heap, shared, layout->shared_script);
	if (v8_heap_type(heap, &script) != layout->type_script)
		script = v8_heap_word(heap, script, V8_DEBUG_INFO_SCRIPT);
	position = v8_code_position(heap, v8_code_bytecodes(heap, shared), bytecode);
	v8_lines_find(calls->lines, heap, script, script_id, position, &at);
	return at.line;
}

/* Finds the functions at a call in optimized code; none if the code is of another function. */
static void find_inlined(struct v8_calls *calls, const struct about *about,
			 const struct v8_machine_code *code, struct result *result)
{
	struct v8_frame frames[V8_INLINED_MAX];
	size_t n = v8_code_frames(&calls->heap, code, result->pc, frames);

	for (size_t i = 0; i < n; i++) {
		struct known *known = name_function(calls, frames[i].shared, about->owner);

		if (!known || (i + 1 == n && !is_of(known, about)))
			return;
		result->calls[i].function = known;
		result->calls[i].line = find_line(calls, frames[i].shared, known->script_id,
						  known->literal_id, frames[i].bytecode);
	}
	result->n = n;
}

static uint64_t hash_result(uint64_t word, uint64_t pc)
{
	return hash_add(hash_add(0, word), pc);
}

static struct result *make_result(struct v8_calls *calls, const struct about *about, uint64_t word,
				  uint64_t pc)
{
	struct result *result = mem_zalloc(1, sizeof(*result));
	struct v8_machine_code code;

	result->word = word;
	result->pc = pc;
	result->time_ns = clock_now_ns();
	if (v8_code_find(&calls->heap, about->owner, pc - 1, &code) && code.shared &&
	    peek_all(calls->heap.pid, code.object - 1, result->code, CODE_BYTES)) {
		result->object = code.object;
		result->start = code.start;
		find_inlined(calls, about, &code, result);
	}
	result = mem_realloc(result, 1,
			     offsetof(struct result, calls) + result->n * sizeof(struct call));
	hashtable_add(&calls->results, &result->link, hash_result(word, pc));
	return result;
}

static bool is_valid(const struct v8_calls *calls, const struct result *result)
{
	uint8_t code[CODE_BYTES];

	if (!result->n)
		return clock_now_ns() - result->time_ns < NOT_FOUND_NS;
	return v8_code_is_at(&calls->heap, result->object, result->start) &&
	       peek_all(calls->heap.pid, result->object - 1, code, CODE_BYTES) &&
	       !memcmp(code, result->code, CODE_BYTES);
}

/* Returns the functions at a return address; cached if its code is still the same. */
static const struct result *get_result(struct v8_calls *calls, const struct about *about,
				       uint64_t word, uint64_t pc)
{
	for_each_linked(struct result, result, link, &calls->results, hash_result(word, pc)) {
		if (result->word != word || result->pc != pc)
			continue;
		if (is_valid(calls, result))
			return result;
		hashtable_remove(&calls->results, &result->link);
		free(result);
		break;
	}
	return make_result(calls, about, word, pc);
}

/* ---- frames ---- */

/* The functions of a frame, appended as they are found. */
struct frame {
	struct call calls[V8_INLINED_MAX + 1];
	size_t n;
};

static void add_call(struct frame *frame, struct known *function, uint32_t line)
{
	frame->calls[frame->n++] = (struct call){ function, line };
}

/*
 * Adds the leaf's function if it isn't the frame's function and runs optimized code: the leaf's own
 * frame doesn't exist yet, or no longer, and the frame is its caller's. Returns true if optimized
 * code of the frame's function runs.
 */
static bool add_leaf(struct v8_calls *calls, const struct about *about, uint64_t pc,
		     struct frame *frame)
{
	struct v8_machine_code code;
	struct known *known;

	if (!v8_code_find(&calls->heap, about->owner, pc, &code) || !code.shared)
		return false;
	known = name_function(calls, code.shared, about->owner);
	if (known && !is_of(known, about))
		add_call(frame, known, 0);
	return is_of(known, about);
}

/* Adds the functions at a return address. False: unknown. */
static bool add_result(struct v8_calls *calls, const struct about *about, uint64_t word,
		       uint64_t pc, struct frame *frame)
{
	const struct result *result = get_result(calls, about, word, pc);

	for (size_t i = 0; i < result->n; i++)
		add_call(frame, result->calls[i].function, result->calls[i].line);
	return result->n;
}

/*
 * Reads the name of a frame's function if BPF could not send it; NULL: none. The script and the
 * literal must still be the same, so functions without a script have no such name.
 */
static struct known *find_own(struct v8_calls *calls, const struct about *about)
{
	struct known *known = NULL;

	if (!about->is_incomplete || !about->script_id)
		return NULL;
	known = find_known(calls, about->owner, about->script_id, about->literal_id);
	known = known ? known : name_function(calls, about->shared, about->owner);
	return is_of(known, about) ? known : NULL;
}

/* Adds the frame's own function, by the name that BPF has sent if it is complete. */
static void add_own(struct v8_calls *calls, const struct about *about,
		    const struct runtime_position *position, struct frame *frame)
{
	uint32_t line = 0;

	if (position->has_index && !(position->index & V8_IS_RETURN) && !position->is_made)
		line = find_line(calls, about->shared, about->script_id, about->literal_id,
				 (int32_t)((uint32_t)position->index -
					   calls->heap.v8->version->bytecodes_data + 1));
	add_call(frame, find_own(calls, about), line);
}

static void find_calls(struct v8_calls *calls, const struct about *about,
		       const struct runtime_position *position, struct frame *frame)
{
	bool has_return = position->has_index && position->index & V8_IS_RETURN;

	/*
	 * If the frame's own code runs, the word on top may be an earlier call's return address, in
	 * an unset slot.
	 */
	if (about->script_id && position->is_made && !position->is_return &&
	    add_leaf(calls, about, position->pc, frame))
		has_return = false;
	if (about->script_id && position->is_made && position->is_return &&
	    add_result(calls, about, position->word, position->pc, frame))
		return;
	if (about->script_id && has_return &&
	    add_result(calls, about, position->word, position->index & ~V8_IS_RETURN, frame))
		return;
	add_own(calls, about, position, frame);
}

/* Returns a function with a known name; NULL: as BPF defined it. */
static struct runtime_function *copy_function(const struct known *known)
{
	struct runtime_function *f;

	if (!known)
		return NULL;
	f = mem_zalloc(1, sizeof(*f));
	f->name = mem_strdup(known->name);
	f->file = known->file ? mem_strdup(known->file) : NULL;
	return f;
}

size_t v8_calls_resolve(struct v8_calls *calls, const struct runtime_function *function,
			const struct runtime_position *position, struct runtime_call *to)
{
	struct frame frame = { .n = 0 };
	struct about about;

	if (function->n_lines != sizeof(about))
		return 0;
	memcpy(&about, function->lines, sizeof(about));
	if (calls->known.count > MAX_KNOWN || calls->results.count > MAX_KNOWN)
		evict(calls);
	find_calls(calls, &about, position, &frame);
	for (size_t i = 0; i < frame.n; i++)
		to[i] = (struct runtime_call){ .function = copy_function(frame.calls[i].function),
					       .line = frame.calls[i].line };
	return frame.n;
}

/* ---- the runtime ---- */

struct build {
	struct runtime_file file;
	struct v8_file v8;
};

static struct build *build_of(const struct runtime_instance *instance)
{
	return container_of(instance->file, struct build, file);
}

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct v8_file v8;
	struct build *build;

	if (v8_file_read(&v8, elf))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->v8 = v8;
	build->file.code = &v8_code;
	build->file.kind = RUNTIME_V8;
	build->file.refused = v8.refused;
	snprintf(build->file.title, sizeof(build->file.title), "V8 %u.%u", v8.major, v8.minor);
	return &build->file;
}

static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	process->v8 = build_of(instance)->v8.layout;
	return 0;
}

static size_t resolve(struct runtime_instance *instance, const struct runtime_function *function,
		      const struct runtime_position *position, struct runtime_call *calls)
{
	if (!instance)
		return 0;
	if (!instance->state)
		instance->state =
			v8_calls_new(instance->pid, &build_of(instance)->v8, instance->lines);
	return v8_calls_resolve(instance->state, function, position, calls);
}

static void release(struct runtime_instance *instance)
{
	v8_calls_free(instance->state);
}

const struct runtime_code v8_code = {
	.kinds = RUNTIME_BIT(RUNTIME_V8),
	.recognize = recognize,
	.describe = describe,
	.read = v8_function_read,
	.resolve = resolve,
	.release = release,
	.walk = v8_walk_remote,
};
