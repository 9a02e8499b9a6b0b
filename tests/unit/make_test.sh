#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests of the Makefile and packages with the machine's files: goals that install come first, libbpf's headers are found
# wherever it is, and objects of no build get into a release.
# shellcheck disable=SC2034,SC2154 # some variables are set by what is included, or for it
cd "$(dirname "$0")/../.." || exit 1
. tests/lib
unset MAKEFLAGS MFLAGS MAKELEVEL O PARTS OBJECTS V SAN ARCH CROSS_COMPILE PKG_CONFIG

# Asking whether packages are there takes a second, and before its end there is no clang.
mkdir "$dir/bin"
cat >"$dir/bin/dpkg-query" <<END
#!/bin/sh
[ -e "$dir/installed" ] || sleep 1
touch "$dir/installed"
echo ok installed
END
printf '#!/bin/sh\n[ -e "%s" ] && echo 14.0.6\n' "$dir/installed" >"$dir/bin/clang"
printf '#!/bin/sh\n' >"$dir/bin/apt-get"
chmod +x "$dir"/bin/*
PATH=$dir/bin:$PATH make -j4 O="$dir/empty" deps "$dir/empty/.versions" >"$dir/log" 2>&1 || { cat "$dir/log"; false; }
result goals_in_parallel_wait_for_what_is_installed $?

# Without clang's own folders, the headers are those of pkg-config's libbpf.
mkdir -p "$dir/libbpf/include" "$dir/libbpf/pkgconfig"
cp -r "$(pkg-config --variable=includedir libbpf)/bpf" "$dir/libbpf/include"
sed "s|^includedir=.*|includedir=$dir/libbpf/include|" "$(pkg-config --variable=pcfiledir libbpf)/libbpf.pc" >"$dir/libbpf/pkgconfig/libbpf.pc"
PKG_CONFIG_PATH=$dir/libbpf/pkgconfig make O="$dir/other" CLANG='clang -nostdinc -H' "$dir/other/bpf/runqlat.tmp.o" >"$dir/log" 2>&1 &&
	grep -q "$dir/libbpf/include/bpf/bpf_helpers.h" "$dir/log" || { cat "$dir/log"; false; }
result headers_of_libbpf_are_found_by_pkg_config $?

# lists WANTED: the files of the tree.
lists()
{
	listed=$(cd "$dir/tree" && list_files | tr '\0' '\n' | LC_ALL=C sort | tr '\n' ' ')
	[ "$listed" = "$1" ] || { echo "listed '$listed', not '$1'"; return 1; }
}

. packaging/lib
out=objects
mkdir -p "$dir/tree/source/objects" "$dir/tree/objects/common" "$dir/tree/sane" "$dir/tree/san/common"
touch "$dir/tree/a b.c" "$dir/tree/source/objects/c.c" "$dir/tree/objects/a.o" "$dir/tree/objects/common/b.o" "$dir/tree/sane/d.c" \
	"$dir/tree/san/.versions" "$dir/tree/san/common/b.o"
lists 'a b.c sane/d.c source/objects/c.c '
result objects_of_builds_are_no_source $?
if command -v git >/dev/null; then
	git init -q "$dir/tree" && lists 'a b.c sane/d.c source/objects/c.c '
	result objects_of_builds_are_no_source_for_git $?
	out=$dir/tree/objects
	lists 'a b.c sane/d.c source/objects/c.c '
	result an_absolute_folder_of_the_build_is_known $?
else
	echo 'SKIP objects_of_builds_are_no_source_for_git: needs package git'
fi
exit $failed
