#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dracut: puts the tools into every initramfs. They are one binary, with the shared libraries it may
# need, and a link for each tool.

check() {
    require_binaries tracelets || return 1
    return 0
}

depends() {
    return 0
}

install() {
    local binary links link

    binary=$(find_binary tracelets)
    inst "$binary" /usr/bin/tracelets || return 1

    # Without links, "tracelets TOOL" still works: no reason to end without an initramfs.
    links=$(mktemp -d -p "$DRACUT_TMPDIR") || return 1
    "$binary" --install "$links" || dwarn "tracelets: no links for its tools"
    for link in "$links"/*; do
        # shellcheck disable=SC2154 # dracut sets it
        [[ ! -L $link ]] || ln -sf tracelets "$initdir/usr/bin/${link##*/}"
    done
    rm -r "$links"
}
