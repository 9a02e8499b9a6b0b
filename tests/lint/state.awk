# SPDX-License-Identifier: GPL-2.0-only
# State lives in structs that are passed. Variables that outlive a call, at file scope or static in a
# function, are counted: common/ has at most 30. "-v list=1" names them. Constants don't count: what is
# declared const, of pointers those that are "*const".
BEGIN { limit = 30 }

# The names that a declaration's text declares, without initializers and array bounds.
function declarators(text,   n, i, c, depth, skipping, out)
{
	n = length(text)
	for (i = 1; i <= n; i++) {
		c = substr(text, i, 1)
		if (c == "{" || c == "(" || c == "[")
			depth++
		if (!depth && c == "=")
			skipping = 1
		if (!depth && c == ",")
			skipping = 0
		if (!depth && !skipping)
			out = out c
		if (c == "}" || c == ")" || c == "]")
			depth--
	}
	return out
}

function count_variables(text,   part, n, i)
{
	if (text ~ /^[^=(]*\([^*]/ || text ~ /^(struct|union|enum) [a-z_0-9]+;/)
		return # a function, or a type that is defined elsewhere
	sub(/;.*/, "", text)
	if (text ~ /^[^=(]*\(\*/)
		text = "a pointer to a function"
	text = declarators(text)
	n = split(text, part, ",")
	for (i = 1; i <= n; i++) {
		if (part[i] ~ /\*[ \t]*const / || (part[1] ~ /(^|[^*])const / && part[i] !~ /\*/))
			continue
		n_variables++
		if (list)
			print FILENAME ":" FNR ": " text
	}
}

FNR == 1 { in_type = in_comment = 0 }
/^\/\*/ { in_comment = 1 }
in_comment { if (/\*\//) in_comment = 0; next }
/^#/ { next }

# A type's definition ends with the brace in the first column.
/^(static )?(const )?(struct|union|enum)( [a-z_0-9]+)? \{/ { in_type = 1; head = $0 }
in_type {
	if (/^\}/) {
		in_type = 0
		if ($0 !~ /^\};/ && head !~ /const/)
			count_variables("struct " substr($0, 2))
	}
	next
}
/^(typedef|extern)/ { next }
/^[a-z_].*(;|= \{|=)[ \t]*$/ || /^[a-z_].*;[ \t]*\/\*/ || /^static .* = [^;]*$/ { count_variables($0) }
/^\t+static [^(]*[;=]/ { sub(/^\t+/, ""); count_variables($0) }

END {
	if (n_variables > limit) {
		print "common/ has " n_variables " variables that outlive a call; at most " limit " (awk -v list=1 lists them)"
		exit 1
	}
	if (list)
		print n_variables " variables"
}
