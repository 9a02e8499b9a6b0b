# SPDX-License-Identifier: GPL-2.0-only
# tracelets: "make help" lists the targets. A tool is whatever tools/*.c and bpf/*.bpf.c name.

O      ?= build
CC     ?= gcc
CLANG  ?= clang
BPFTOOL ?= $(firstword $(wildcard $(shell command -v bpftool) /usr/sbin/bpftool) bpftool)
PREFIX ?= /usr/local
ARCH   := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
Q      := $(if $(V),,@)
say     = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

TOOLS   := $(patsubst tools/%.c,%,$(wildcard tools/*.c))
COMMON  := $(patsubst common/%.c,$(O)/common/%.o,$(wildcard common/*.c))
UNITS   := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/*_test.c))
LIVES   := $(patsubst tests/live/%.c,$(O)/tests/live/%,$(wildcard tests/live/*_test.c))
WORKS   := $(patsubst tests/work/%.c,$(O)/tests/work/%,$(wildcard tests/work/*.c))
BINS    := $(TOOLS:%=$(O)/%)

LIBS_MIN := libbpf >= 1.1 libelf >= 0.180
LIBS     = $(shell pkg-config --libs libbpf libelf) -lz
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	    -Wwrite-strings -Wvla -Wundef -Wno-missing-field-initializers
CFLAGS   ?= -O2 -g
TL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) -D_GNU_SOURCE -Icommon -I$(O)/skel -MMD -MP \
	    $(shell pkg-config --cflags libbpf libelf) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
TL_LDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Ivmlinux -Wall -Wextra \
	    -Wno-unused-parameter -Wno-missing-field-initializers -MMD -MP

.PHONY: all check live test bench lint format man install clean deps test-deps demo help
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BINS) ## build all tools (O=folder, V=1, SAN=address,undefined)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 16

$(O)/.versions: Makefile
	@mkdir -p $(@D)
	@command -v pkg-config >/dev/null && pkg-config --print-errors '$(LIBS_MIN)' || \
		{ echo "tracelets needs $(LIBS_MIN): try 'make deps'" >&2; exit 1; }
	@v=$$($(CLANG) -dumpversion | cut -d. -f1) && [ "$$v" -ge 14 ] || \
		{ echo "tracelets needs clang 14 or newer: try 'make deps'" >&2; exit 1; }
	@$(BPFTOOL) version >/dev/null || { echo "tracelets needs bpftool: try 'make deps'" >&2; exit 1; }
	@touch $@

$(O)/bpf/%.tmp.o: bpf/%.bpf.c $(O)/.versions
	$(call say,BPF,$*)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/bpf/%.bpf.o: $(O)/bpf/%.tmp.o
	$(Q)$(BPFTOOL) gen object $@ $<

$(O)/skel/%.skel.h: $(O)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(O)/common/%.o: common/%.c $(O)/.versions
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -c $< -o $@

$(O)/tools/%.o: tools/%.c $(O)/skel/%.skel.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -c $< -o $@

$(O)/libtracelets.a: $(COMMON)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BINS): $(O)/%: $(O)/tools/%.o $(O)/libtracelets.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/tests/unit/%: tests/unit/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

check: $(UNITS) $(BINS) ## unit tests: no root, seconds
	$(Q)tests/run -q $(UNITS)

test: all ## all of the above and lint, with one closing line
	$(Q)MAKE='$(MAKE)' O='$(O)' tests/all

demo: all ## trace a real process and show where its time went (root)
	$(Q)O='$(O)' tests/demo

deps: ## install what the build needs (apt-get or dnf)
	$(Q)tests/deps build

test-deps: deps ## install what the tests need on top
	$(Q)tests/deps test

clean: ## remove what was built
	rm -rf $(O)

-include $(wildcard $(O)/*/*.d $(O)/*/*/*.d)
