#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A new tool is three new files, and a row in tracelets(8)'s list of tools: the tool of tests/template/ is
# added to a copy of the tree, built there, held against its manual page, and run for a second where the tests
# are live. There a runtime is added, too: the files of tests/template/tiles/ and lines in three of the tree.
# TRACELETS_BIN: the folder of the build, whose objects the copy begins with. TRACELETS_LIVE: this is "make live".
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=${TRACELETS_BIN:-build}
. tests/lib

copy_tree()
{
	find CONTRIBUTING.md Makefile README.md bpf common doc lab man packaging scripts tests tools vmlinux -type f -print0 |
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

(cd "$dir" && TRACELETS_BIN=build tests/unit/man_test.sh slices) >"$dir/log"
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

# A program whose frames only its runtime can leave, and name.
add_runtime()
{
	cp -r tests/template/tiles/bpf tests/template/tiles/common "$dir" &&
		sed -i '/^#include "runtimes\/v8/i #include "runtimes/tiles/tiles.h"
			s|^static const struct runtime runtimes.*|&\n\t{ .name = "tiles", .files = FILES(NULL), .code = \&tiles_code },|' \
			"$dir/common/runtimes/runtimes.c" &&
		sed -i '/^#include "abi\/v8/i #include "abi/tiles.h"
			s/^\tRUNTIME_KINDS,/\tRUNTIME_TILES,\n&/
			s/(RUNTIME_BIT(RUNTIME_V8) |/(RUNTIME_BIT(RUNTIME_TILES) | RUNTIME_BIT(RUNTIME_V8) |/
			s/^\t\tstruct v8_layout v8;/&\n\t\tstruct tiles_layout tiles;/' "$dir/bpf/abi/runtimes.h" &&
		sed -i 's/^#include "runtimes.hotspot.*/&\n#include "runtimes\/tiles.bpf.h"/
			s/^\treturn UNWIND_NO_RULE;/\tif (RUNTIME_HAS(TILES_KINDS))\n\t\treturn tiles_step(slot);\n&/' \
			"$dir/bpf/runtimes/leaving.bpf.h"
}

build_runtime()
{
	CFLAGS="${CFLAGS:--O2 -g} -Werror" make -s --no-print-directory -C "$dir" O=build build/offcputime >"$dir/log" 2>&1 &&
		cc -O2 -rdynamic -pthread -o "$dir/tiles" tests/template/tiles/program.c && return
	cat "$dir/log"
	return 1
}

# has_stacks STACK...: what the tool printed has them all.
has_stacks()
{
	for stack; do
		grep -q "$stack" "$dir/out" && continue
		cat "$dir/out" "$dir/log"
		return 1
	done
}

[ "$(uname -m)" = x86_64 ] || exit $failed
add_runtime && build_runtime
result builds_a_new_runtime $?
napping='main;Tiles.outer;go_napping;Tiles.inner;nap_often;' resting='rest_apart;Tiles.outer;go_resting;Tiles.inner;rest;'
mkfifo "$dir/fifo"
"$dir/tiles" >"$dir/fifo" &
read -r _ <"$dir/fifo" # its threads are there
"$dir/build/offcputime" -f -U -p $! 1 >"$dir/out" 2>"$dir/log"
kill $!
has_stacks "$napping" "$resting" # by BPF; from outside, since this thread never runs
result walks_and_names_its_frames $?
timeout 20 "$dir/build/offcputime" -f -U --duration 2 -- "$dir/tiles" >"$dir/out" 2>"$dir/log"
has_stacks "$napping"
result has_them_in_a_program_that_starts $?
exit $failed
