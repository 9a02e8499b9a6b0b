#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Holds the manual pages against the tools' --help, both ways: each option is documented, with the
# same letter and argument, and each documented option exists. What all tools share, the sections
# "target" and "all tools", belongs to tracelets.8, the rest to the tool's own page, as do shared
# options to which the tool gives a letter.
# TRACELETS_BIN: where the tools are.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=${TRACELETS_BIN:-build}
. tests/lib

# list_help TOOL own|shared: its options as "-F --frequency HZ", one per line. Some letters of shared
# options are all tools' (pvhV), others the tool's own.
list_help()
{
	"$bin/$1" --help | awk -v want="$2" '
		/^[a-z].*:$/ { is_shared = $0 == "target:" || $0 == "all tools:" }
		!/^  (-.,|   ) --/ { next }
		{
			sub(/^ +/, "")
			sub(/  .*/, "")
			has_letter = sub(/^-., /, substr($0, 1, 2) " ")
			has_own = is_shared && has_letter && !/^-[pvhV]/
		}
		has_own && want == "own" { print }
		has_own && want == "shared" { sub(/^-. /, "") }
		is_shared == (want == "shared") { print }' | sort -u
}

# list_page PAGE: the same of a manual page's list items.
list_page()
{
	sed -n '/^\.It Fl /{
		s/^\.It //
		s/ , / /g
		s/Fl -/--/g
		s/Fl /-/g
		s/Ar //g
		p
	}' "$1" | sort -u
}

# compare NAME HELP PAGE
compare()
{
	diff "$2" "$3" >"$dir/diff"
	status=$?
	sed -n 's/^< /only in --help: /p; s/^> /only in the page: /p' "$dir/diff"
	result "$1" $status
}

: >"$dir/shared"
for source in tools/*.c; do
	tool=$(basename "$source" .c)
	page=man/$tool.8
	if [ ! -e "$page" ]; then
		result "${tool}_has_a_page" 1
		continue
	fi
	list_help "$tool" own >"$dir/help"
	list_page "$page" >"$dir/page"
	compare "options_of_$tool" "$dir/help" "$dir/page"
	list_help "$tool" shared >>"$dir/shared"
	grep -q '^\.Xr tracelets 8' "$page"
	result "${tool}_refers_to_tracelets" $?
done
sort -u "$dir/shared" >"$dir/help"
list_page man/tracelets.8 >"$dir/page"
compare options_of_all_tools "$dir/help" "$dir/page"

tests/lint/man >"$dir/lint"
status=$?
cat "$dir/lint"
[ $status -eq 77 ] || result pages_are_well_formed $status
exit $failed
