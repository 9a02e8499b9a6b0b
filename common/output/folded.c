// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks; see folded.h. Lines are cut in place. A function's name may contain blanks, so the
 * value is the word after the last blank.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "output/folded.h"
#include "output/quantity.h"
#include "output/remarks.h"

#define DIGITS "0123456789"

void folded_open(struct folded_reader *reader, FILE *file, bool has_two_values)
{
	*reader = (struct folded_reader){ .file = file, .has_two_values = has_two_values };
}

void folded_close(struct folded_reader *reader)
{
	free(reader->text);
	reader->text = NULL;
}

/* Appends a digit to the number. False, and nothing changed: overflow of 64 bits. */
static bool add_digit(uint64_t *number, char digit)
{
	uint64_t sum;

	if (__builtin_mul_overflow(*number, 10, &sum) ||
	    __builtin_add_overflow(sum, (uint64_t)(digit - '0'), &sum))
		return false;
	*number = sum;
	return true;
}

/* Parses an exponent, "e-3" or none, into *decimals. */
static bool take_exponent(const char *text, int *decimals)
{
	char *end;
	long exponent;

	if (!*text)
		return true;
	exponent = strtol(text + 1, &end, 10);
	if ((*text != 'e' && *text != 'E') || *end || !isdigit((unsigned char)end[-1]) ||
	    exponent < -1000 || exponent > 1000)
		return false;
	*decimals -= (int)exponent;
	return true;
}

static bool limit_decimals(struct folded_reader *reader, struct folded_number *number, int decimals)
{
	int limited = decimals < 0 ? 0 : decimals;

	limited = limited > FOLDED_MAX_DECIMALS ? FOLDED_MAX_DECIMALS : limited;
	reader->is_rounded |= limited < decimals;
	number->decimals = (unsigned int)limited;
	return quantity_shift(&number->digits, limited - decimals);
}

/* Parses "7", "0.25", ".5" or "1e-3". False: not a number. */
static bool parse_number(struct folded_reader *reader, const char *text,
			 struct folded_number *number)
{
	size_t whole = strspn(text, DIGITS), point = text[whole] == '.';
	size_t end = whole + point + strspn(text + whole + point, DIGITS), n = end;
	int decimals = 0;

	number->digits = 0;
	while (n > whole + 1 && text[n - 1] == '0')
		n--;
	for (size_t i = 0; i < n; i++) {
		if (i == whole)
			continue;
		if (!add_digit(&number->digits, text[i])) {
			if (i < whole)
				return false;
			reader->is_rounded = true;
			number->digits += text[i] >= '5' && number->digits < UINT64_MAX;
			break;
		}
		decimals += i > whole;
	}
	return end > point && take_exponent(text + end, &decimals) &&
	       limit_decimals(reader, number, decimals);
}

/* Cuts the number after the last blank off the text. False: none. */
static bool take_value(struct folded_reader *reader, char *text, struct folded_number *value)
{
	char *blank = strrchr(text, ' ');

	if (!blank || blank == text || !parse_number(reader, blank + 1, value))
		return false;
	*blank = '\0';
	return true;
}

/*
 * Cuts off a suffix of stackcollapse-perf.pl --all, our -a or async-profiler's. Returns its kind;
 * none: other. async-profiler's methods have a class, "A.f_[0]"; threads may be named "pool_[0]".
 */
static enum frame_kind take_suffix(char *name, enum frame_kind other)
{
	static const struct {
		char letter;
		enum frame_kind kind;
	} kinds[] = { { 'k', FRAME_KERNEL },  { 'i', FRAME_INLINED }, { 'j', FRAME_JIT },
		      { 'p', FRAME_RUNTIME }, { '0', FRAME_JIT },     { '1', FRAME_JIT } };
	size_t length = strlen(name);

	if (length <= 4 || name[length - 4] != '_' || name[length - 3] != '[' ||
	    name[length - 1] != ']')
		return other;
	if (isdigit((unsigned char)name[length - 2]) && !strchr(name, '.'))
		return other;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (name[length - 2] == kinds[i].letter) {
			name[length - 4] = '\0';
			return kinds[i].kind;
		}
	return other;
}

/*
 * Returns true for separators: "-" between user and kernel frames, "--" before the waker's frames.
 * Not for the first frame, which is the thread's name.
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
	enum frame_kind kind = FRAME_USER; /* kind of frames without a suffix */
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
		frame->kind =
			line->n_frames > 1 && is_mark(name) ? FRAME_MARK : take_suffix(name, kind);
		if (frame->kind == FRAME_MARK)
			kind = strcmp(name, "-") ? FRAME_USER : FRAME_KERNEL;
	}
	if (line->n_frames)
		mark_remark(line);
	return line->n_frames > 0;
}

static bool parse_line(struct folded_reader *reader, char *text, struct folded_line *line)
{
	line->before = (struct folded_number){};
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

/* Returns true for a comment, but not for a stack of a thread named "#1" or "# ". */
static bool is_comment(const char *text)
{
	return text[0] == '#' && !strchr(text, ';');
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
