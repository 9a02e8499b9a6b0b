// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks; see folded.h. Lines are cut in place. A function's name may hold blanks, so the
 * value is what stands behind the last one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "output/folded.h"
#include "output/remarks.h"

void folded_open(struct folded_reader *reader, FILE *file, bool has_two_values)
{
	*reader = (struct folded_reader){ .file = file, .has_two_values = has_two_values };
}

void folded_close(struct folded_reader *reader)
{
	free(reader->text);
	reader->text = NULL;
}

/* Digits behind a decimal point round the value. False: there is something else. */
static bool take_decimals(struct folded_reader *reader, const char *text, uint64_t *value)
{
	size_t length = strspn(text + 1, "0123456789");

	if (*text != '.' || text[1 + length] || (*value == UINT64_MAX && text[1] >= '5'))
		return false;
	*value += text[1] >= '5';
	reader->is_rounded |= strspn(text + 1, "0") < length;
	return true;
}

/* Cuts the number behind the last blank off the text. */
static bool take_value(struct folded_reader *reader, char *text, uint64_t *value)
{
	char *blank = strrchr(text, ' '), *end;

	if (!blank || blank == text || !isdigit((unsigned char)blank[1]))
		return false;
	errno = 0;
	*value = strtoull(blank + 1, &end, 10);
	if (errno || (*end && !take_decimals(reader, end, value)))
		return false;
	*blank = '\0';
	return true;
}

/* What stackcollapse-perf.pl --all appends, and our -a; without: other. */
static enum frame_kind take_suffix(char *name, enum frame_kind other)
{
	static const struct {
		char letter;
		enum frame_kind kind;
	} kinds[] = { { 'k', FRAME_KERNEL },
		      { 'i', FRAME_INLINED },
		      { 'j', FRAME_JIT },
		      { 'p', FRAME_PYTHON } };
	size_t length = strlen(name);

	if (length <= 4 || name[length - 4] != '_' || name[length - 3] != '[' ||
	    name[length - 1] != ']')
		return other;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (name[length - 2] == kinds[i].letter) {
			name[length - 4] = '\0';
			return kinds[i].kind;
		}
	return other;
}

/*
 * Two lone marks part a stack: "-" the user's frames from the kernel's, "--" a waker's from both.
 */
static bool is_mark(const char *name)
{
	return !strcmp(name, "-") || !strcmp(name, "--");
}

static bool is_remark(const char *name)
{
	static const char *const remarks[] = { REMARKS };
	size_t length = strlen(name);

	if (length < 2 || name[0] != '[' || name[length - 1] != ']')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(remarks); i++)
		if (strlen(remarks[i]) == length - 2 && !strncmp(name + 1, remarks[i], length - 2))
			return true;
	return false;
}

static void mark_remark(struct folded_line *line)
{
	struct folded_frame *last = &line->frames[line->n_frames - 1];

	if (line->n_frames > 1 && is_remark(last->name))
		last->kind = FRAME_MARK;
}

static bool split_frames(char *text, struct folded_line *line)
{
	enum frame_kind kind = FRAME_USER; /* of frames that don't say */
	char *next = text;

	line->n_frames = 0;
	while (next) {
		char *name = strsep(&next, ";");
		struct folded_frame *frame = &line->frames[line->n_frames];

		if (!*name)
			continue;
		if (line->n_frames++ == FOLDED_MAX_FRAMES)
			return false;
		frame->name = name;
		frame->kind = is_mark(name) ? FRAME_MARK : take_suffix(name, kind);
		if (frame->kind == FRAME_MARK)
			kind = strcmp(name, "-") ? FRAME_USER : FRAME_KERNEL;
	}
	if (line->n_frames)
		mark_remark(line);
	return line->n_frames > 0;
}

static bool parse_line(struct folded_reader *reader, char *text, struct folded_line *line)
{
	line->before = 0;
	return take_value(reader, text, &line->value) &&
	       (!reader->has_two_values || take_value(reader, text, &line->before)) &&
	       split_frames(text, line);
}

static size_t trim_end(char *text, size_t length)
{
	while (length && strchr("\r\n ", text[length - 1]))
		text[--length] = '\0';
	return length;
}

void folded_refuse(struct folded_reader *reader)
{
	if (!reader->refused++)
		reader->first_refused = reader->lines;
}

/* A thread may be named "#1". */
static bool is_comment(const char *text)
{
	return text[0] == '#' && (text[1] == ' ' || !strchr(text, ';'));
}

bool folded_read(struct folded_reader *reader, struct folded_line *line)
{
	ssize_t length;

	while ((length = getline(&reader->text, &reader->text_size, reader->file)) >= 0) {
		bool has_zero = strlen(reader->text) != (size_t)length;

		reader->lines++;
		if (!trim_end(reader->text, strlen(reader->text)) && !has_zero)
			continue;
		if (is_comment(reader->text))
			continue;
		if (!has_zero && parse_line(reader, reader->text, line))
			return true;
		folded_refuse(reader);
	}
	return false;
}

void folded_print_root(FILE *f, const char *name)
{
	bool looks_like_comment = *name == '#';

	fputs(looks_like_comment ? "\\x23" : "", f);
	escape_print(f, name + looks_like_comment, ";");
}
