# SPDX-License-Identifier: GPL-2.0-only
# Releases, packages and images: packaging/README.md says what each is for. The version is in common/base/version.h.

.PHONY: dist dist-test rescue deb

dist: ## a release in O/dist: source, static binaries, their parts, checksums (DIST_ARCHES="x86 arm64")
	$(Q)O='$(O)' MAKE='$(MAKE)' packaging/dist

dist-test: ## build a release twice, in different places: the files must be the same
	$(Q)O='$(O)' MAKE='$(MAKE)' tests/run tests/packaging/dist

rescue: static ## O/rescue: the tools for any initramfs, and an image with kernel, busybox and shell (VM_KERNEL=6.12)
	$(Q)O='$(O)' packaging/rescue/build

deb: ## Debian packages, in O/deb
	$(Q)O='$(O)' packaging/deb
