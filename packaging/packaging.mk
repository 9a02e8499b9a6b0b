# SPDX-License-Identifier: GPL-2.0-only
# Releases, packages and images: packaging/README.md says what each is for. The version is in common/base/version.h.

.PHONY: dist dist-test rescue deb rpm recipes sysext container package-test

dist: ## a release in O/dist: source, static binaries, their parts, checksums (DIST_ARCHES="x86 arm64")
	$(Q)O='$(O)' MAKE='$(MAKE)' packaging/dist

dist-test: ## build a release twice, in different places: the files must be the same
	$(Q)O='$(O)' MAKE='$(MAKE)' tests/run tests/packaging/dist

rescue: static ## O/rescue: the tools for any initramfs, and an image with kernel, busybox and shell (VM_KERNEL=6.12)
	$(Q)O='$(O)' packaging/rescue/build

deb: ## Debian packages, in O/deb
	$(Q)O='$(O)' packaging/deb

rpm: ## RPM packages, in O/rpm
	$(Q)O='$(O)' packaging/rpm/build

recipes: ## recipes for Alpine, Buildroot and Yocto, in O/recipes
	$(Q)O='$(O)' packaging/recipes

sysext: static ## O/sysext/tracelets.raw, a system extension for systemd
	$(Q)O='$(O)' packaging/sysext/build

container: static ## a container image, "tracelets", of O/container (CONTAINER_TOOL=docker)
	$(Q)O='$(O)' packaging/container/build

package-test: deb static $(if $(filter $(MACHINE_ARCH),$(ARCH)),$(O)/tracelets,rescue) ## install, run, boot and remove all packages and images, on a copy of this system: root, minutes (ARCH=arm64: boot them)
	$(Q)O='$(O)' tests/run $(addprefix tests/packaging/,$(if $(filter $(MACHINE_ARCH),$(ARCH)),deb rpm recipes images systemd booted initramfs dracut,foreign))
