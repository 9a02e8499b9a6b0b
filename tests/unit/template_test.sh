#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A new tool is three new files, and a row in tracelets(8)'s list of tools: the tool of tests/template/ is
# added to a copy of the tree, built there, held against its manual page, and run for a second where the tests
# are live. TRACELETS_BIN: the folder of the build, whose objects the copy begins with. TRACELETS_LIVE: this is
# "make live".
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=${TRACELETS_BIN:-build}
. tests/lib

copy_tree()
{
	find Makefile README.md bpf common doc lab man packaging tests tools vmlinux -type f -print0 |
		tar -cf - --null -T - | tar -xf - -C "$dir" &&
		mkdir "$dir/build" &&
		cp -a "$bin"/.versions "$bin"/bpf "$bin"/common "$bin"/embed "$bin"/gen "$bin"/skel "$bin"/static \
			"$bin"/tools "$bin"/tracelets "$bin"/libtracelets.a "$dir/build" &&
		for source in tools/*.c; do
			cp -a "$bin/$(basename "$source" .c)" "$dir/build" || return
		done
}

add_tool()
{
	cp tests/template/slices.bpf.c "$dir/bpf" &&
		cp tests/template/slices.c "$dir/tools" &&
		cp tests/template/slices.8 "$dir/man" &&
		sed -i '/^\.It Xr runqlat 8/i .It Xr slices 8\nHow long do threads run at a time?' "$dir/man/tracelets.8"
}

build_tool()
{
	CFLAGS="${CFLAGS:--O2 -g} -Werror" make -s --no-print-directory -C "$dir" O=build >"$dir/log" 2>&1 && return
	cat "$dir/log"
	return 1
}

copy_tree && add_tool
result copies_the_tree $?

build_tool
result builds_a_new_tool $?

"$dir/build/slices" --help >"$dir/help" && grep -q -e '-P, --pids' "$dir/help"
result shows_its_help $?

(cd "$dir" && TRACELETS_BIN=build tests/unit/man_test.sh) >"$dir/log"
status=$?
grep -q '^PASS options_of_slices' "$dir/log" || status=1
[ $status -eq 0 ] || grep -v '^PASS' "$dir/log"
result has_a_page $status

[ "$TRACELETS_LIVE" ] || exit $failed
"$dir/build/slices" -P --duration 1 >"$dir/out" 2>"$dir/log" && grep -q '^count [1-9]' "$dir/out" &&
	grep -q '^pid = [0-9]' "$dir/out"
status=$?
[ $status -eq 0 ] || cat "$dir/log"
result counts_time_slices $status
exit $failed
