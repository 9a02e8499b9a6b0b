# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # $arch and $state are the caller's
# To be sourced: packages of any Debian release, unpacked and not installed. Only apt is asked, with the
# mirror that this machine uses itself, and with a state of its own in $state, so that the machine's own
# lists and packages are not touched. $arch is Debian's name of the architecture.

# The machine's own archive of that label.
archive()
{
	apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Origin: Debian' \
		"Label: $1" | head -n 1
}

own_apt()
{
	command=$1
	shift
	"$command" -q -o Dir::State="$state" -o Dir::State::Lists="$state/lists" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" \
		-o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o APT::Architecture="$arch" -o APT::Architectures::="$arch" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Dir::Cache::pkgcache=packages.bin -o Dir::Cache::srcpkgcache=sources.bin \
		-o Acquire::GzipIndexes=false "$@"
}

# write_sources SUITE...: what apt reads, with the security updates of those that are releases.
write_sources()
{
	main=$(archive Debian)
	security=$(archive Debian-Security)
	if [ -z "$main" ]; then
		echo "fetch: apt knows no Debian archive here (try 'apt-get update')" >&2
		exit 1
	fi
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	: >"$state/status"
	for suite; do
		echo "deb $main $suite main"
		case $suite in
		*-backports | forky | sid | experimental) ;;
		*) [ -z "$security" ] || echo "deb $security $suite-security main" ;;
		esac
	done >"$state/sources.list"
}

# apt-get is content with warnings where it could reach nothing at all. A mirror may lack a release,
# though, so what it complains of is shown only where something is missing then.
update()
{
	own_apt apt-get update >"$state/log" 2>&1 || return
	find "$state/lists" -maxdepth 1 -name '*_Packages*' | grep -q .
}

complain()
{
	grep -E '^(W|E|Err)' "$state/log" | head -n 20 >&2
}

# unpack PACKAGE[/SUITE] FOLDER: into the folder, which is made.
unpack()
{
	rm -rf "$state/deb" && mkdir -p "$state/deb" "$2"
	(cd "$state/deb" && own_apt apt-get download "$1" >log 2>&1 && dpkg-deb -x ./*.deb "$2")
}
