# SPDX-License-Identifier: GPL-2.0-only
# For OpenEmbedded: tracelets_VERSION.bb in a layer, with the source that "make dist" writes beside it, in
# tracelets/. clang-native and bpftool-native are in meta-clang and oe-core.
SUMMARY = "Small eBPF tracers for people in the middle of an incident"
HOMEPAGE = "https://tracelets.example/"
SECTION = "devel"
LICENSE = "GPL-2.0-only"
LIC_FILES_CHKSUM = "file://LICENSES/GPL-2.0-only.txt;md5=@LICENSE_MD5@"

SRC_URI = "file://tracelets-${PV}.tar.gz"

DEPENDS = "binutils bpftool-native clang-native elfutils libbpf pkgconfig-native xz zlib"
COMPATIBLE_HOST = "(x86_64|aarch64).*-linux"

inherit pkgconfig

EXTRA_OEMAKE = "O=build CLANG=clang BPFTOOL=bpftool"
EXTRA_OEMAKE:append:x86-64 = " ARCH=x86"
EXTRA_OEMAKE:append:aarch64 = " ARCH=arm64"

do_compile() {
    oe_runmake build/tracelets CC="${CC}" AR="${AR}" CFLAGS="${CFLAGS}" LDFLAGS="${LDFLAGS}" PKG_CONFIG=pkg-config
}

do_install() {
    oe_runmake install CC="${CC}" AR="${AR}" CFLAGS="${CFLAGS}" LDFLAGS="${LDFLAGS}" PKG_CONFIG=pkg-config \
        DESTDIR="${D}" PREFIX="${prefix}" SBINDIR="${sbindir}" DATADIR="${datadir}"
}

FILES:${PN} += "${datadir}/bash-completion ${datadir}/zsh ${datadir}/fish"
