#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# "make install" and "tracelets --install": which names they make, what they leave alone, that what is installed
# can be moved and run from an image, and that nothing of it stays.
# TRACELETS_BIN: the folder of the build, with the program tracelets in it.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=$(realpath "${TRACELETS_BIN:-build}")
. tests/lib
tools=$(basename -s .c tools/*.c | tr '\n' ' ')
root=$dir/root
sbin=$root/usr/local/sbin
pages=$root/usr/local/share/man/man8
unset PREFIX SBINDIR TOOL_DIR DATADIR TOOL_PREFIX BINARY

# install_to ROOT [VARIABLE=VALUE...]
install_to()
{
	to=$1
	shift
	# shellcheck disable=SC2086 # words
	env O="$bin" DESTDIR="$to" "$@" scripts/install $tools >"$dir/log" 2>&1
}

# runs_as FOLDER PREFIX: each tool, by its link in that folder.
runs_as()
{
	for tool in $tools; do
		"$1/$2$tool" --version 2>&1 | grep -q "^$tool (tracelets)" || { echo "$1/$2$tool does not run"; return 1; }
	done
}

# Every file, with what it is.
listing()
{
	(cd "$1" && find . -type f -exec sha256sum {} + && find . -type l -printf '%p -> %l\n') | sort
}

# has_pages PREFIX: a page for each tool, and those refer to each other.
has_pages()
{
	for tool in $tools; do
		[ -s "$pages/$1$tool.8" ] || { echo "there is no $1$tool.8"; return 1; }
		grep -q "Xr $1$tool 8" "$pages/tracelets.8" || { echo "tracelets.8 does not name $1$tool"; return 1; }
		[ -z "$1" ] || ! grep "Xr $tool 8" "$pages"/*.8 "$pages"/../man7/*.7 || return
	done
	for page in man/tracelets*.[578]; do
		[ -s "$pages/../man${page##*.}/${page##*/}" ] || { echo "there is no ${page##*/}"; return 1; }
	done
}

install_to "$root" && runs_as "$sbin" '' && has_pages '' && [ ! -s "$dir/log" ]
result installs_each_tool_with_its_page $?

listing "$root" >"$dir/once"
install_to "$root" && listing "$root" >"$dir/twice" && diff "$dir/once" "$dir/twice"
result installed_twice_it_is_the_same $?

grep -q 'tracelets.schema.json$' "$dir/once" && [ -z "$(find "$root" -type l -lname '/*')" ] &&
	! find "$root" \( -type f -o -type d \) ! -perm -a=r | grep .
result installs_the_schema_and_no_absolute_link $?

mv "$root" "$dir/moved" && runs_as "$dir/moved/usr/local/sbin" ''
result what_is_moved_still_runs $?
mv "$dir/moved" "$root"

# A chroot is what a container's image is to it; without root, in a namespace of one's own.
run_in_image()
{
	if [ ! -x "$bin/static/tracelets" ]; then
		echo 'SKIP installed_into_an_image_it_runs_there: needs package with libelf.a'
		return
	fi
	if [ "$(id -u)" -eq 0 ]; then enter=chroot; else enter='unshare -r chroot'; fi
	if ! $enter / true 2>/dev/null; then
		echo 'SKIP installed_into_an_image_it_runs_there: no chroot here'
		return
	fi
	install_to "$dir/image" BINARY="$bin/static/tracelets" PREFIX=/usr TOOL_DIR=/opt/bin &&
		$enter "$dir/image" /opt/bin/runqlat --version | grep -q '^runqlat (tracelets)' &&
		runs_as "$dir/image/opt/bin" ''
	result installed_into_an_image_it_runs_there $?
}
run_in_image

install_to "$root" TOOL_PREFIX=tl- && runs_as "$sbin" tl- && has_pages tl- && [ ! -e "$sbin/runqlat" ] &&
	[ ! -e "$pages/runqlat.8" ] && grep -q '^\.Nm tl-runqlat$' "$pages/tl-runqlat.8"
result another_prefix_replaces_the_names $?

# shows_itself NAME COMMAND...: its help says how it was called, in the examples, too, and has 80 columns.
shows_itself()
{
	name=$1
	shift
	"$@" --help >"$dir/help" && grep -q "^usage: $name \[" "$dir/help" &&
		[ "$(sed -n '/^examples/,/^$/p' "$dir/help" | grep -c "^  $name")" -ge 4 ] && ! grep -E '.{81}' "$dir/help"
}
bad=
for tool in $(echo "$tools" | sed -e s/flame// -e s/dump//); do
	shows_itself "tl-$tool" "$sbin/tl-$tool" && shows_itself "tracelets $tool" "$sbin/tracelets" "$tool" || bad="$bad $tool"
done
[ -z "$bad" ] && "$sbin/tracelets" report --help | grep -q '^usage: tracelets report \['
result help_names_the_command_as_it_was_called $?

# Files of others stay.
env DESTDIR="$root" scripts/install --remove
mkdir -p "$sbin" "$pages"
echo theirs >"$sbin/runqlat"
echo theirs >"$pages/profile.8"
install_to "$root" && grep -q "runqlat: left out: there is $sbin/runqlat" "$dir/log" && [ "$(wc -l <"$dir/log")" -eq 1 ] &&
	[ "$(cat "$sbin/runqlat" "$pages/profile.8")" = "$(printf 'theirs\ntheirs')" ] &&
	[ -s "$pages/tracelets-runqlat.8" ] && [ -s "$pages/tracelets-profile.8" ] &&
	grep -q '^\.Xr tracelets-runqlat 8' "$pages/tracelets.8" "$pages/offcputime.8" &&
	"$sbin/profile" --version >/dev/null
result names_of_others_are_left_to_them $?

mkdir "$dir/elsewhere"
printf '#!/bin/sh\n' | tee "$dir/elsewhere/x-syscount" >"$dir/elsewhere/other"
install_to '' PREFIX="$dir/prefix" TOOL_PREFIX=x- PATH="$dir/elsewhere:$PATH" &&
	grep -q "x-syscount: left out: there is $dir/elsewhere/x-syscount" "$dir/log" &&
	[ ! -e "$dir/prefix/sbin/x-syscount" ] && [ -L "$dir/prefix/sbin/x-profile" ]
result names_in_the_path_are_left_to_others $?

env DESTDIR="$root" scripts/install --remove && env PREFIX="$dir/prefix" scripts/install --remove &&
	find "$root" "$dir/prefix" ! -type d | sort >"$dir/left"
printf '%s\n' "$sbin/runqlat" "$pages/profile.8" | diff - "$dir/left"
result uninstall_leaves_only_what_others_have $?

mkdir -p "$dir/tree/bin" "$dir/tree/deep/links" "$dir/tree/tracelets"
cp "$bin/tracelets" "$dir/tree/bin"
ln -s deep "$dir/tree/shallow"
for folder in bin deep/links shallow/links tracelets; do
	"$dir/tree/bin/tracelets" --install "$dir/tree/$folder" || echo "--install $folder failed"
done >"$dir/log" 2>&1
mv "$dir/tree" "$dir/moved" && [ ! -s "$dir/log" ] && runs_as "$dir/moved/bin" '' && runs_as "$dir/moved/deep/links" '' &&
	runs_as "$dir/moved/tracelets" '' && [ "$(readlink "$dir/moved/bin/profile")" = tracelets ] &&
	[ "$(readlink "$dir/moved/deep/links/profile")" = ../../bin/tracelets ]
result links_of_tracelets_install_are_relative $?
exit $failed
