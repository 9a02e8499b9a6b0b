# SPDX-License-Identifier: GPL-2.0-only
# tracelets: "make help" lists the targets. tools/x.c and bpf/x.bpf.c make the tool x.

# "make -j8 deps demo": a goal after the other, each by a make of its own, so that what is installed comes first and is
# seen by the rest.
ifneq ($(and $(filter %deps,$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),)
.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
$(sort $(MAKECMDGOALS)):
	@$(MAKE) --no-print-directory $@
else

# ARCH=arm64 on another machine: built with the cross compiler, in a folder of its own.
kernels_name  = $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(1)))
MACHINE_ARCH := $(call kernels_name,$(shell uname -m))
ARCH         ?= $(MACHINE_ARCH)
override ARCH := $(call kernels_name,$(ARCH))
TRIPLET_x86   := x86_64-linux-gnu
TRIPLET_arm64 := aarch64-linux-gnu
TRIPLET       := $(TRIPLET_$(ARCH))
$(if $(TRIPLET),,$(error tracelets runs on x86 and arm64, not on '$(ARCH)'))

ifneq ($(ARCH),$(MACHINE_ARCH))
O             ?= build/$(ARCH)
CROSS_COMPILE ?= $(TRIPLET)-
CC            := $(CROSS_COMPILE)gcc
CXX           := $(CROSS_COMPILE)g++
AR            := $(CROSS_COMPILE)ar
PKG_CONFIG    ?= PKG_CONFIG_LIBDIR=/usr/lib/$(TRIPLET)/pkgconfig:/usr/share/pkgconfig pkg-config
endif
export ARCH CROSS_COMPILE

O          ?= build
# Shared with another build: PARTS has what SAN and LDFLAGS don't change (BPF objects, skeletons, generated
# headers), OBJECTS what LDFLAGS alone don't (the library).
PARTS      ?= $(O)
OBJECTS    ?= $(O)
LIB         = $(OBJECTS)/libtracelets.a
CC         ?= gcc
CLANG      ?= clang
LLVM_STRIP ?= $(shell command -v llvm-strip)
LLVM_OBJCOPY ?= $(shell command -v llvm-objcopy)
BPFTOOL    ?= $(shell bpf/find_bpftool)
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
Q          := $(if $(V),,@)
say         = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')
$(if $(filter-out $(ARCH),$(file <$(O)/.versions)),$(error $(O) holds what was built for another architecture))

TOOLS   := $(sort $(patsubst tools/%.c,%,$(wildcard tools/*.c)))
TRACERS := $(filter $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/*.bpf.c)),$(TOOLS))
SOURCES := $(sort $(wildcard common/*/*.c common/*/*/*.c)) $(filter-out tools/tracelets/%,$(sort $(wildcard tools/*/*.c)))
LIBRARY := $(SOURCES:%.c=$(OBJECTS)/%.o)
BINS    := $(TOOLS:%=$(O)/%)

LIBS_MIN    := libbpf >= 1.1 libelf >= 0.180 libdw >= 0.180 liblzma >= 5.2
PACKAGES    := libbpf libdw libelf liblzma
LIBS         = -Wl,-u,dynlib_find $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -liberty -lz -Wl,--as-needed -lm
LIBS_STATIC  = $(shell $(PKG_CONFIG) --static --libs $(PACKAGES)) -liberty -lz -lm
WARN        := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	       -Wwrite-strings -Wvla -Wundef -Wno-missing-field-initializers -Werror=implicit-function-declaration
CFLAGS      ?= -O2 -g
INCLUDES    := -iquote common -iquote tools -iquote bpf $(addprefix -iquote $(PARTS)/,skel embed gen)
TL_CFLAGS    = -std=gnu11 $(CFLAGS) -ffunction-sections $(WARN) -D_GNU_SOURCE $(INCLUDES) -MMD -MP \
	       -ffile-prefix-map=$(abspath $(OBJECTS))=build -ffile-prefix-map=$(CURDIR)=. \
	       $(shell $(PKG_CONFIG) --cflags $(PACKAGES)) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
TL_LDFLAGS   = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
BPF_CFLAGS   = -g -gno-column-info -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -iquote bpf -Ivmlinux $(LIBBPF_HEADERS) \
	       -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fdebug-prefix-map=$(CURDIR)=. -MMD -MP
# Wherever libbpf is, behind clang's own folders: what else is there is of the machine, not BPF's.
LIBBPF_HEADERS = $(patsubst -I%,-idirafter %,$(shell PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 $(PKG_CONFIG) --cflags-only-I libbpf))
COMPILE      = $(Q)mkdir -p $(@D) && $(CC) $(TL_CFLAGS) -c $< -o $@

.PHONY: all static install uninstall man man-examples clean deps demo format help
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BINS) $(O)/tracelets ## build all tools (O=folder, V=1, SAN=address,undefined)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  \1\t/p' Makefile packaging/packaging.mk tests/tests.mk lab/lab.mk | expand -t 16

$(sort $(addsuffix /.versions,$(O) $(PARTS) $(OBJECTS))): Makefile
	@mkdir -p $(@D)
	@command -v pkg-config >/dev/null && $(PKG_CONFIG) --print-errors '$(LIBS_MIN)' || \
		{ echo "tracelets needs $(LIBS_MIN): try 'make deps'" >&2; exit 1; }
	@v=$$($(CLANG) -dumpversion | cut -d. -f1) && [ "$$v" -ge 14 ] || \
		{ echo "tracelets needs clang 14 or newer: try 'make deps'" >&2; exit 1; }
	@$(BPFTOOL) version >/dev/null || { echo "tracelets needs bpftool: try 'make deps'" >&2; exit 1; }
	@echo $(ARCH) >$@

# The BPF side: compiled, freed of names for each branch, linked by bpftool, freed of most source lines (BPF_LINES=1
# keeps them), linked again, which drops their text, and turned into a skeleton.
vpath %.bpf.c bpf

$(PARTS)/bpf/%.tmp.o: %.bpf.c $(PARTS)/.versions
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $@
	$(if $(LLVM_STRIP),$(Q)$(LLVM_STRIP) --wildcard --strip-symbol='LBB*' $@)

$(PARTS)/bpf/%.bpf.o: $(PARTS)/bpf/%.tmp.o bpf/few_lines
	$(Q)$(BPFTOOL) gen object $@ $<
	$(if $(BPF_LINES),,$(if $(LLVM_OBJCOPY),$(Q)LLVM_OBJCOPY='$(LLVM_OBJCOPY)' bpf/few_lines $@ && \
		mv $@ $@.all && $(BPFTOOL) gen object $@ $@.all && rm $@.all))

$(PARTS)/skel/%.skel.h: $(PARTS)/bpf/%.bpf.o bpf/skeleton
	$(Q)mkdir -p $(@D) && BPFTOOL='$(BPFTOOL)' bpf/skeleton $< $*_bpf >$@

# Numbers with their names, from the kernel's and the C library's headers.
NUMBERS_AWK := common/process/numbers.awk
NUMBERS      = $(Q)mkdir -p $(@D) && printf '\#include <%s>\n' $(1) | $(CC) $(CPPFLAGS) -E -dM - | \
	       LC_ALL=C awk -v prefix=$(2) $(3) -f $(NUMBERS_AWK) | LC_ALL=C sort >$@
GENERATED   := $(addprefix $(PARTS)/gen/,syscalls_native.h syscalls_compat.h errno_numbers.h)

$(PARTS)/gen/syscalls_native.h: $(NUMBERS_AWK)
	$(call NUMBERS,asm/unistd.h,__NR_)

$(PARTS)/gen/syscalls_compat.h: $(NUMBERS_AWK)
	$(call NUMBERS,$(if $(filter x86,$(ARCH)),asm/unistd_32.h,stddef.h),__NR_)

$(PARTS)/gen/errno_numbers.h: $(NUMBERS_AWK)
	$(call NUMBERS,errno.h,E,-v keep=1)

$(OBJECTS)/common/process/syscalls.o: $(GENERATED)

# Text that C code carries along, as a string without indentation and comments: x.css becomes x_css in x.css.h.
$(PARTS)/embed/%.h: common/output/%
	$(Q)mkdir -p $(@D) && sed -e '1i static const char $(subst .,_,$*)[] =' -e '$$a ;' \
		-e 's/^\t*//; /^\/\//d; s/[\"]/\\&/g; s/.*/"&\\n"/' $< >$@

$(OBJECTS)/common/output/flamegraph.o: $(PARTS)/embed/flamegraph.css.h $(PARTS)/embed/flamegraph.js.h
$(OBJECTS)/common/output/heatmap_writer.o: $(PARTS)/embed/heatmap.js.h

# The library, and a binary for each tool.
$(foreach tool,$(TRACERS),$(eval $(OBJECTS)/tools/$(tool).o $(OBJECTS)/static/$(tool).o: $(PARTS)/skel/$(tool).skel.h))
$(OBJECTS)/common/stacks/waits.o: $(PARTS)/skel/waits.skel.h

# Code that runs once is compiled for size, since the static binary has a budget.
$(OBJECTS)/common/run/%.o $(OBJECTS)/static/%.o: private TL_CFLAGS += $(if $(filter -O2,$(CFLAGS)),-Os)

$(LIBRARY) $(TOOLS:%=$(OBJECTS)/tools/%.o): $(OBJECTS)/%.o: %.c $(OBJECTS)/.versions
	$(call say,CC,$<)
	$(COMPILE)

$(LIB): $(LIBRARY)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BINS): $(O)/%: $(OBJECTS)/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

# All tools in one binary: static for machines in trouble, with shared libraries for distributions.
MULTICALL := $(OBJECTS)/static/main.o $(TOOLS:%=$(OBJECTS)/static/%.o) $(LIB)

$(OBJECTS)/static/toolset.h: tools
	$(Q)mkdir -p $(@D) && printf 'TOOL(%s)\n' $(TOOLS) >$@

$(OBJECTS)/static/main.o: tools/tracelets/main.c $(OBJECTS)/static/toolset.h
	$(Q)$(CC) $(TL_CFLAGS) -iquote $(OBJECTS)/static -c $< -o $@

$(OBJECTS)/static/%.o: tools/%.c $(OBJECTS)/.versions
	$(Q)mkdir -p $(@D) && $(CC) $(TL_CFLAGS) -Wno-missing-prototypes -Dmain=$*_main -c $< -o $@

$(OBJECTS)/static/tracelets: $(MULTICALL)
	@missing=; for library in $(patsubst -l%,%,$(filter -l%,$(LIBS_STATIC))); do \
		case $$($(CC) -print-file-name=lib$$library.a) in */*) ;; *) missing="$$missing lib$$library.a" ;; esac; done; \
		[ -z "$$missing" ] || { echo "the static binary needs$$missing: try 'make $(if $(filter $(MACHINE_ARCH),$(ARCH)),vm,arm64)-deps'" >&2; exit 1; }
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -static -s -Wl,--gc-sections,-z,noseparate-code $^ $(LIBS_STATIC) -o $@

$(O)/tracelets: $(MULTICALL)
	$(call say,LINK,$@)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

static: $(OBJECTS)/static/tracelets ## all tools in one static binary, O/static/tracelets (ARCH=arm64: cross-built)

install: $(O)/tracelets ## to DESTDIR, under PREFIX; TOOL_PREFIX=tl-: other names for the tools
	$(Q)O='$(O)' PREFIX='$(PREFIX)' scripts/install $(TOOLS)

uninstall: ## remove what "make install" has put there
	$(Q)PREFIX='$(PREFIX)' scripts/install --remove

man: $(patsubst man/%,$(O)/man/%.txt,$(basename $(wildcard man/*.[578]))) ## manual pages as text, in O/man

$(O)/man/%.txt: man/%.[578]
	$(Q)mkdir -p $(@D) && mandoc -T ascii $< | sed 's/.\x08//g' >$@

man-examples: $(BINS) ## redo the output in the examples of the manual and of doc/: root, programs under load, minutes
	$(Q)O='$(O)' scripts/man-examples

deps: ## install what the build needs (apt-get or dnf)
	$(Q)scripts/deps build

demo: all ## trace a real process and show where its time went (root)
	$(Q)O='$(O)' scripts/demo

format: ## clang-format all C files in place
	$(Q)clang-format -i $$(find bpf common lab tools tests vmlinux -name '*.[ch]')

clean: ## remove what was built
	rm -rf $(O)

include packaging/packaging.mk
include tests/tests.mk
include lab/lab.mk
-include $(wildcard $(foreach folder,$(sort $(O) $(PARTS) $(OBJECTS)),$(addprefix $(folder)/,*/*.d */*/*.d */*/*/*.d)))
endif
