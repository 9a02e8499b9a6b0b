#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Holds the manual pages against the tools' --help, both ways: each option is documented, with the
# same letter and argument, and each documented option exists. Options that tools share stand once, in
# one of the pages tracelets*; the rest stands in the tool's own page, as do shared options to which the
# tool gives a letter. Then runs every example in the pages, in --help and in the documents as far as the
# command line: each must parse, and one that is read by another program must end by itself.
# Messages that pages quote are the code's. Pages have a limited length.
# TRACELETS_BIN: where the tools are.
# shellcheck disable=SC2086,SC2154,SC2317 # lists of words; eval; some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=${TRACELETS_BIN:-build}
. tests/lib

# list_help TOOL own|shared: its options as "-F --frequency HZ", one per line. Some letters of shared
# options are the same in all tools, others the tool's own.
list_help()
{
	awk -v want="$2" '
		/^[a-z].*:$/ { is_shared = /^(target|stacks|user stacks|live view|histogram|metrics|all tools):/ }
		!/^  (-.,|   ) --/ { next }
		{
			sub(/^ +/, "")
			sub(/  .*/, "")
			has_letter = sub(/^-., /, substr($0, 1, 2) " ")
			has_own = is_shared && has_letter && !/^-([pvhVmNT] |[UK] --.*stacks|d --delimited|f --folded)/
		}
		has_own && want == "own" { print }
		has_own && want == "shared" { sub(/^-. /, "") }
		is_shared == (want == "shared") { print }' "$dir/help_of_$1" | sort -u
}

# list_page PAGE...: the same of manual pages' list items.
list_page()
{
	sed -n '/^\.It Fl /{
		s/^\.It //
		s/ , / /g
		s/Fl -/--/g
		s/Fl /-/g
		s/Ar //g
		p
	}' "$@" | sort
}

# fits_a_screen FILE: as "-h" has to: 24 lines of 80 columns, with three examples and ten options.
fits_a_screen()
{
	awk '{ n_examples += in_examples && /^  / }
		/^[a-z].*:$/ { in_examples = $0 == "examples:" }
		/^  (-.,|   ) --/ { n_options++ }
		length($0) > 80 { print "more than 80 columns: " $0; bad = 1 }
		END {
			if (NR > 24 || n_options != 10 || n_examples < 2 || n_examples > 3) {
				print FILENAME ": " NR " lines, " n_options " options, " n_examples " examples"
				bad = 1
			}
			exit bad
		}' "$1"
}

# compare NAME HELP PAGE
compare()
{
	diff "$2" "$3" >"$dir/diff"
	status=$?
	sed -n 's/^< /only in --help: /p; s/^> /only in the page: /p' "$dir/diff"
	result "$1" $status
}

# check_page TOOL
check_page()
{
	tool=$1 page=man/$1.8
	[ -e "$page" ] || result "${tool}_has_a_page" 1
	"$bin/$tool" --help >"$dir/help_of_$tool"
	list_help "$tool" own >"$dir/help"
	list_page "$page" >"$dir/page"
	awk 'length($0) > 80 { print "more than 80 columns: " $0; bad = 1 }
		/^[a-z].*:$/ { last = $0 }
		END { exit bad || last != "all tools:" }' "$dir/help_of_$tool"
	result "help_of_${tool}_has_80_columns_and_common_options_last" $?
	"$bin/$tool" -h >"$dir/brief"
	fits_a_screen "$dir/brief"
	result "brief_help_of_${tool}_fits_a_screen" $?
	compare "options_of_$tool" "$dir/help" "$dir/page"
	list_help "$tool" shared >>"$dir/shared"
	grep -q '^\.Xr tracelets 8' "$page"
	result "${tool}_refers_to_tracelets" $?
}

# ---- examples ----

tools=$(basename -s .c tools/*.c | tr '\n' ' ')
bin=$(cd "$bin" && pwd)
names=$(echo $tools | tr ' ' '|')

# list_examples FILE: command lines: "# profile -p 185" in blocks of text, and in Markdown also indented
# ones; of the README's table what stands in backquotes.
list_examples()
{
	case $1 in
	*.[578]) sed -n 's/^\(\.Dl \)\{0,1\}# //p' "$1" | sed 's/\\[&-]//g; s/\\e/\\/g' ;;
	*README.md) sed -n 's/^# //p; s/^    //p; s/^| [A-Z][^|]* | `\([^`]*\)` |.*/\1/p' "$1" ;;
	*.md) sed -n 's/^# //p; s/^    //p' "$1" ;;
	*) sed -n '/^examples:/,/^$/s/^  //p' "$1" | sed 's/ *# .*//' ;;
	esac
}

# list_pieces FILE: the tools' commands in pipelines and lists, without what this machine may lack: processes,
# cgroups, the terminal that --top needs.
list_pieces()
{
	sed 's/[|;] */\n/g' "$1" |
		sed -e "s/-p [A-Z0-9][A-Z0-9]*/-p $$/" -e 's/--\(cgroup\|container\) [^ ]*/--comm name/' \
			-e 's/--unit nginx/--comm name/' -e 's/ --top\( -.*\)\{0,1\}$/\1/' \
			-e 's/ [0-9]*>.*//' -e 's/ *&$//' -e 's/  *# .*//' | grep -E "^($names)( |\$)"
}

# parses WORDS...: a tool with a command line that is right ends with status 1 here: type information
# that isn't there is the first thing that it looks for, and it is not reached by one that is wrong. Flame
# ends for want of stacks; dump finds a process.
parses()
{
	tool=$1
	shift
	case $tool in flame|dump) ;; *) set -- --btf "$dir/none" "$@" ;; esac
	(cd "$dir" && "$bin/$tool" "$@" </dev/null >"$dir/out" 2>&1)
	case $tool:$? in dump:0|*:1) ;; *) return 1 ;; esac
}

# A program that reads a tool's output waits for its end, so that has to come: by a duration, a count, a command
# that ends, or as many operands as the usage line has. This makes a script that prints the lines without an end.
write_endless()
{
	echo "/^($names) .*(\\|| >| [0-9]>)/!d; /^(flame|dump) /d; s/ *(\\|| [0-9]*>).*//"
	for tool in $tools; do
		"$bin/$tool" --help >"$dir/help"
		sed -nE "s,^  -(.)\\, --([a-z-]*) [[A-Z].*,/^$tool /s/ -\\1 / --\\2 /,p" "$dir/help"
		echo '/ --( |command |duration |count )/d'
		sed -nE "s,^ .* --([a-z-]*) [[A-Z].*,/^$tool /s/ --\\1 [^ ]*//,p" "$dir/help"
		echo "/^$tool.*( [0-9]+[a-z]*){$((1 + $(grep -c '^usage: .*count' "$dir/help")))}\$/d"
	done
	echo 's/^/never ends: /'
}

# check_examples NAME FILE: there is at least one.
check_examples()
{
	list_examples "$2" >"$dir/examples"
	list_pieces "$dir/examples" >"$dir/pieces"
	sed -E -f "$dir/endless" "$dir/examples" >"$dir/out"
	cat "$dir/out"
	[ ! -s "$dir/out" ]
	status=$?
	while IFS= read -r piece; do
		eval "parses $piece" && continue
		echo "does not parse: $piece"
		cat "$dir/out"
		status=1
	done <"$dir/pieces"
	[ -s "$dir/pieces" ] || { echo "$2: no examples"; status=1; }
	result "$1" $status
}

write_endless >"$dir/endless"
only=$*
for tool in ${only:-$tools}; do
	check_page "$tool"
	check_examples "examples_in_the_page_of_$tool" "man/$tool.8"
	check_examples "examples_in_the_help_of_$tool" "$dir/help_of_$tool"
	grep -q "^\.It Xr $tool 8" man/tracelets.8
	result "tracelets_names_$tool" $?
done
[ -z "$only" ] || exit $failed

# A letter is missing where a tool has it for an option of its own.
awk '{ name = $0; sub(/^-[^-] /, "", name); if (!(name in line) || $0 != name) line[name] = $0 }
	END { for (name in line) print line[name] }' "$dir/shared" | sort >"$dir/help"
list_page man/tracelets*.[578] >"$dir/page"
compare options_that_tools_share "$dir/help" "$dir/page"
check_examples examples_in_the_page_of_all_tools man/tracelets.8
check_examples examples_in_the_page_of_fleets man/tracelets-fleet.7
for topic in $("$bin/tracelets" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
	echo examples: >"$dir/help_on_$topic"
	"$bin/tracelets" help "$topic" | sed -n 's/tracelets //g; /^  [a-z]/p' >>"$dir/help_on_$topic"
	check_examples "commands_in_help_on_$topic" "$dir/help_on_$topic"
done
check_examples examples_in_the_readme README.md
check_examples examples_in_the_cookbook doc/examples.md

# ---- messages ----

# Prints the messages that pages quote, cut at N, FILE, ERROR and numbers, a piece per line.
list_quotes()
{
	sed -n -e 's/^\.It Li "\(.*\)"$/\1/p' -e 's/^\.Ql "\(N .*\)".*/\1/p' "$@" |
		sed -E -e 's/\b([A-Z]|FILE|ERROR|LIMIT|UNIT|[0-9]+)\b/\n/g' |
		sed -E -e 's/^[ %]*(of )?(events|threads|waits|stacks|processes|calls|samples)? *//' -e 's/ *$//' | grep ' '
}

# Adjacent literals of the code are joined.
cat bpf/abi/*.h common/*/*.c tools/*.c tools/*/*.c | tr -d '\n' | sed 's/"[ \t]*"//g' >"$dir/code"
list_quotes man/*.[578] >"$dir/quotes"
awk 'NR == FNR { code = code $0; next }
	!index(code, $0) { print "no message has: " $0; bad = 1 }
	END { exit bad || FNR == 0 }' "$dir/code" "$dir/quotes"
result messages_quoted_in_pages_are_the_code_s $?

# ---- length ----

# is_at_most NAME LINES FILE...
is_at_most()
{
	name=$1 limit=$2
	shift 2
	lines=$(cat "$@" | wc -l)
	[ "$lines" -le "$limit" ] || echo "$* has $lines lines, $limit at most"
	[ "$lines" -le "$limit" ]
	result "$name" $?
}

is_at_most page_of_all_tools_is_short 350 man/tracelets.8
is_at_most pages_are_short 3950 man/*

# ---- files ----

# Pages name files as `folder/file.c`, or, behind one of the same folder, as `file.c`; x is any tool.
find bpf common lab man scripts tests tools vmlinux >"$dir/files"
for page in doc/architecture.md tests/README.md CONTRIBUTING.md; do
	grep -oE '`[a-z_0-9/.]+\.(c|h|js|css|json|awk)`' "$page" | tr -d '`' | grep -vE '(^|/)x\.(bpf\.c|c|h)$' |
		awk 'NR == FNR { n = split($0, part, "/"); at[part[n]] = at[part[n]] "\n/" $0 "\n"; next }
			{ n = split($0, part, "/") }
			!index(at[part[n]], "/" $0 "\n") { print "there is no " $0; bad = 1 }
			END { exit bad || FNR == 0 }' "$dir/files" -
	result "files_named_in_${page##*/}_are_there" $?
done

tests/lint/man >"$dir/lint"
status=$?
cat "$dir/lint"
[ $status -eq 77 ] || result pages_are_well_formed $status
exit $failed
