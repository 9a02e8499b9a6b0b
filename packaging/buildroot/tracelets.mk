################################################################################
#
# tracelets
#
################################################################################
# SPDX-License-Identifier: GPL-2.0-only

TRACELETS_VERSION = @VERSION@
TRACELETS_SITE = $(TOPDIR)/../tracelets
TRACELETS_SITE_METHOD = local
TRACELETS_LICENSE = GPL-2.0-only
TRACELETS_LICENSE_FILES = LICENSES/GPL-2.0-only.txt
TRACELETS_DEPENDENCIES = host-bpftool host-pkgconf binutils elfutils libbpf xz zlib

TRACELETS_MAKE_OPTS = \
	O=build \
	ARCH=$(if $(BR2_aarch64),arm64,x86) \
	CC="$(TARGET_CC)" \
	AR="$(TARGET_AR)" \
	CFLAGS="$(TARGET_CFLAGS)" \
	LDFLAGS="$(TARGET_LDFLAGS)" \
	BPFTOOL="$(HOST_DIR)/sbin/bpftool" \
	PKG_CONFIG="$(PKG_CONFIG_HOST_BINARY)"

# The BPF programs are compiled by the host's clang, 14 or newer.
define TRACELETS_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(TRACELETS_MAKE_OPTS) build/tracelets
endef

define TRACELETS_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(TRACELETS_MAKE_OPTS) install \
		DESTDIR="$(TARGET_DIR)" PREFIX=/usr SBINDIR=/usr/bin
endef

$(eval $(generic-package))
