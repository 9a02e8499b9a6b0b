#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The static binary of all tools: what it lists, by which names it answers, which links it makes.
# And that the lists of what a build needs have the packages of its libraries.
# TRACELETS_BIN: the folder of the build, with static/tracelets in it.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=$(realpath "${TRACELETS_BIN:-build}/static/tracelets")
if [ ! -x "$bin" ]; then
	echo "SKIP static_binary: needs package with libelf.a, to be built"
	exit 0
fi
. tests/lib

# answers STATUS PATTERN COMMAND...: it ends with that status and prints that.
answers()
{
	wanted=$1 pattern=$2
	shift 2
	"$@" >"$dir/out" 2>&1
	status=$?
	[ $status -eq "$wanted" ] && grep -q -e "$pattern" "$dir/out" && return
	echo "$*: status $status, and printed:"
	cat "$dir/out"
	return 1
}

for source in tools/*.c; do
	tool=$(basename "$source" .c)
	answers 0 "^  $tool  *[A-Z].*\.$" "$bin" && answers 0 "^usage: .*$tool \[" "$bin" "$tool" --help
	result "lists_and_runs_$tool" $?
done

answers 2 "'nonsense': unknown tool" "$bin" nonsense && answers 2 "'-p'" "$bin" -p 1
result refuses_what_is_no_tool $?

"$bin" help >"$dir/topics"
for topic in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$dir/topics") ; do
	"$bin" help "$topic" >"$dir/topic" && [ "$(grep -c '^  tracelets ' "$dir/topic")" -eq 3 ] &&
		[ "$(grep -c '^      [^ ]' "$dir/topic")" -eq 3 ] && ! grep -E '.{81}' "$dir/topic"
	result "help_answers_$topic" $?
done
grep -q slow "$dir/topics" && answers 2 "unknown topic 'nonsense'" "$bin" help nonsense
result help_lists_topics $?

# The space of a rescue image. This is x86-64's; others differ a little.
# The hardening of Debian's packages, which are not for rescue images, takes one percent.
limit=3000000
[ -z "$DEB_HOST_ARCH" ] || limit=3030000
size=$(stat -c %s "$bin")
echo "static binary: $size bytes"
[ "$size" -le "$limit" ]
result has_at_most_its_budget_of_bytes $?

! readelf -l "$bin" | grep -q -e INTERP -e DYNAMIC
result needs_no_library $?

mkdir "$dir/links"
"$bin" --install "$dir/links" && "$bin" --install "$dir/links" &&
	[ "$(find "$dir/links" -type l | wc -l)" -eq "$(find tools -maxdepth 1 -name '*.c' | wc -l)" ] &&
	answers 0 '^usage: runqlat ' "$dir/links/runqlat" --help
result a_link_is_its_tool $?

mkdir "$dir/taken"
echo mine >"$dir/taken/runqlat"
ln -s /nowhere "$dir/taken/profile"
answers 1 'taken/runqlat: link failed: File exists' "$bin" --install "$dir/taken" &&
	grep -q mine "$dir/taken/runqlat" && [ "$(readlink "$dir/taken/profile")" = /nowhere ] &&
	[ -L "$dir/taken/offcputime" ]
result install_overwrites_nothing $?

# with_needs PACKAGE...: these, and what they depend on themselves.
with_needs()
{
	printf '%s\n' "$@"
	for package; do
		dpkg-query -W -f '${Depends}\n' "$package" 2>/dev/null
	done | tr ',|' '\n\n' | sed 's/^ *//; s/[ :].*//'
}

# list_brings NAME PACKAGE...: each library that is linked statically is in one of these packages.
list_brings()
{
	name=$1
	shift
	with_needs "$@" | sort -u >"$dir/listed"
	# shellcheck disable=SC2046 # words
	for library in iberty $(pkg-config --static --libs $(sed -n 's/^PACKAGES *:= //p' Makefile) | tr ' ' '\n' | sed -n 's/^-l//p' | sort -u); do
		package=$(dpkg-query -S "$(realpath "$(gcc -print-file-name="lib$library.a")")" | sed 's/:.*//')
		grep -qx "$package" "$dir/listed" || { echo "$name: lib$library.a is in '$package'"; return 1; }
	done
}

if dpkg-query -S "$(realpath "$(gcc -print-file-name=libelf.a)")" >/dev/null 2>&1; then
	# shellcheck disable=SC2046 # words
	list_brings scripts/deps $(sed -n "/^debian_build='/,/'\$/p" scripts/deps | tr -d "'" | tr ' \t' '\n\n' | sed 's/.*=//; s/|.*//') &&
		list_brings packaging/debian/control libc6-dev $(sed -n '/^Build-Depends:/,/^[A-Z]/s/^ \([a-z0-9-]*\).*/\1/p' packaging/debian/control)
	result packages_of_its_libraries_are_listed $?
fi
exit $failed
