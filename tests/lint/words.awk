# SPDX-License-Identifier: GPL-2.0-only
# Plain English: how comments begin, words that the field does not use in the project's sense, the shape of
# messages, the length of help texts. Names in code are left alone, as is what is quoted in comments.
# openings_only=1: only how comments begin, with # or //, too, and without exceptions.
BEGIN {
	openings = "^(\\.\\.\\. )?(Of|Those|Who|Whether|Such)[ ,]"
	rare_openings = "^(\\.\\.\\. )?(What|Where|That)[ ,]"
	if (openings_only)
		openings = "^(\\.\\.\\. )?(Of|Those|Who|Whether|Such|What|Where|That)[ ,]"
	n_words = split("told tells? behind for_want_of lets?_go by_turns whatever whoever again_and_again " \
		"at_a_time so_many of_that_many room kept dear(er)? chores? allowances? wish(es)? " \
		"where_there_is_one as_it_is_there add(s|ed|ing)?_up", words, " ")
	for (i = 1; i <= n_words; i++)
		gsub(/_/, " ", words[i])
	max_help = 60
}

function report(line, text)
{
	print FILENAME ":" line ": " text
	failed = 1
}

# True if text, in lower case, has the word or phrase.
function has_word(text, word)
{
	return (" " text " ") ~ ("[^a-z0-9_-]" word "[^a-z0-9_-]")
}

function check_words(line, text,   i)
{
	text = tolower(text)
	gsub(/"[^"]*"/, "\"\"", text)
	gsub(/--?[a-z][-a-z]*/, "-", text)
	for (i = 1; i <= n_words; i++)
		if (has_word(text, words[i]))
			report(line, "\"" words[i] "\": see tests/lint/words.awk")
	gsub(/there (is|are) no|(is|are) no longer/, "", text)
	if (has_word(text, "(is|are) no"))
		report(line, "\"is no\": write \"is not a\"")
}

function check_comment(line, text)
{
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	if (text ~ openings)
		report(line, "a comment begins with \"" substr(text, 1, index(text " ", " ") - 1) "\"")
	if (openings_only)
		return
	if (text ~ rare_openings) {
		n_rare++
		if (list)
			print FILENAME ":" line ": " text
	}
	check_words(line, text)
}

# The literals of a piece of code, joined.
function join(code,   out)
{
	gsub(/\\"/, "'", code)
	while (match(code, /"[^"]*"/)) {
		out = out substr(code, RSTART + 1, RLENGTH - 2)
		code = substr(code, RSTART + RLENGTH)
	}
	return out
}

# "subject: problem (remedy)", or about an option or operand: it begins with it.
function check_message(line, kind, text)
{
	if (text == "" || text == "%s")
		return
	check_words(line, text)
	if (text ~ /^[A-Z][a-z]/ && text !~ /^(Go|Python)[ :]/)
		report(line, "a message begins with a capital letter: \"" text "\"")
	if (text ~ /[^.]\.$/)
		report(line, "a message ends with a full stop: \"" text "\"")
	if (kind == "errno" && text ~ /^[a-z]+ing [^:]*$/)
		report(line, "no subject (write \"FILE: open failed\"): \"" text "\"")
	if (kind ~ /^(error|warn)$/ && text !~ /: / && text !~ /^(-|'|%|option|unknown option)/)
		report(line, "no \"subject: problem\": \"" text "\"")
}

# An option of a table: its help follows the type.
function check_help(line, code)
{
	if (!sub(/^.*OPT_[A-Z]+\([^()]*(\([^()]*\))?[^()]*\),/, "", code))
		return
	sub(/",[ \t]*"[a-z-]+" *\},?$/, "\"", code)
	code = join(code)
	if (length(code) > max_help)
		report(line, "a help text of " length(code) " letters, " max_help " at most: \"" code "\"")
	check_words(line, code)
}

function end_statement()
{
	if (openings_only)
		statement = ""
	if (statement ~ /msg_(error|warn|errno|hint|info|debug)\(/) {
		kind = statement
		sub(/^.*msg_/, "", kind)
		sub(/\(.*/, "", kind)
		sub(/^.*msg_[a-z]+\(/, "", statement)
		sub(/^[^"]*/, "", statement)
		check_message(first, kind, join(statement))
	}
	if (statement ~ /OPT_[A-Z]+\(/)
		check_help(first, statement)
	statement = ""
}

FNR == 1 { in_comment = in_lines = 0; statement = "" }
{ n_lines++; code = $0 }
/^(\/\/|\/\*|#) SPDX/ { next }
openings_only && !in_comment && /^[ \t]*(#|\/\/) / {
	if (!in_lines)
		check_comment(FNR, substr(code, index(code, " ")))
	in_lines = 1
	next
}
{ in_lines = 0 }
in_comment {
	end = index(code, "*/")
	piece = end ? substr(code, 1, end - 1) : code
	sub(/^[ \t]*\*/, "", piece)
	comment = comment " " piece
	if (!end)
		next
	in_comment = 0
	check_comment(comment_line, comment)
	code = substr(code, end + 2)
}
{
	while (match(code, /\/\*/)) {
		rest = substr(code, RSTART + 2)
		code = substr(code, 1, RSTART - 1)
		comment_line = FNR
		end = index(rest, "*/")
		if (!end) {
			in_comment = 1
			comment = rest
			break
		}
		check_comment(FNR, substr(rest, 1, end - 1))
		code = code substr(rest, end + 2)
	}
	if (statement == "")
		first = FNR
	statement = statement " " code
	if (code ~ /;[ \t]*$/ || code ~ /\},[ \t]*$/ || code ~ /^[{}]?$/)
		end_statement()
}
END {
	if (n_rare > n_lines / 1000) {
		print n_rare " comments begin with What, Where or That; one in 1,000 lines may (awk -v list=1 lists them)"
		failed = 1
	}
	exit failed
}
