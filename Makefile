# SPDX-License-Identifier: GPL-2.0-only
# tracelets: "make help" lists the targets. A tool is whatever tools/*.c and bpf/*.bpf.c name.

# ARCH=arm64 elsewhere than there: built with the cross compiler, in a folder of its own.
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

O      ?= build
$(if $(filter-out $(ARCH),$(file <$(O)/.versions)),$(error $(O) holds what was built for another architecture))
CC     ?= gcc
CLANG  ?= clang
BPFTOOL ?= $(firstword $(wildcard $(shell command -v bpftool) /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
Q      := $(if $(V),,@)
say     = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

# Unwind tables are for x86-64 only; frames_test checks what is said of that elsewhere. The programs of
# probes_test read arguments from x86-64's registers.
LIVES_NOT_arm64 := tests/live/unwind_test.c tests/live/brief_test.c tests/live/probes_test.c

TOOLS   := $(patsubst tools/%.c,%,$(wildcard tools/*.c))
TRACERS := $(filter $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/*.bpf.c)),$(TOOLS))
COMMON  := $(patsubst %.c,$(O)/%.o,$(wildcard common/*/*.c tools/*/*.c))
UNITS   := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/*_test.c))
LIVES   := $(patsubst tests/live/%.c,$(O)/tests/live/%,$(filter-out $(LIVES_NOT_$(ARCH)),$(wildcard tests/live/*_test.c)))
NAMES   := names_long names_static names_exec names_stripped names_mini names_static_stripped other.debug
WORKS   := $(patsubst tests/work/%.c,$(O)/tests/work/%,$(wildcard tests/work/*.c)) \
	   $(addprefix $(O)/tests/work/,$(NAMES)) \
	   $(patsubst tests/work/%.cc,$(O)/tests/work/%,$(wildcard tests/work/*.cc)) \
	   $(O)/tests/work/allocs-static $(O)/tests/work/trap-static $(O)/tests/work/jit-static $(if $(filter $(MACHINE_ARCH),$(ARCH)),$(if $(shell command -v musl-gcc),$(O)/tests/work/allocs-musl))
BENCH   := $(patsubst tests/bench/%.c,$(O)/tests/bench/%.o,\
	     $(filter-out %.bpf.c,$(wildcard tests/bench/*.c)))
ORACLE_FILES := $(addprefix $(O)/tests/oracle/,oracle oracle_early liboracle.so odd throw plugin64.so plugin4096.so)
ORACLE_OBJECTS := $(O)/bpf/oracle.bpf.o $(O)/bpf/oracle_early.bpf.o
FUZZERS := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
BINS    := $(TOOLS:%=$(O)/%)

LIBS_MIN := libbpf >= 1.1 libelf >= 0.180 libdw >= 0.180 liblzma >= 5.2
LIBS     = -Wl,-u,dynlib_find $(shell $(PKG_CONFIG) --libs libbpf libdw libelf liblzma) -liberty -lz -lm
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	    -Wwrite-strings -Wvla -Wundef -Wno-missing-field-initializers
CFLAGS   ?= -O2 -g
TL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) -D_GNU_SOURCE -iquote common -iquote tools -iquote bpf -iquote $(O)/skel -iquote $(O)/embed \
	    -iquote $(O)/gen -MMD -MP \
	    $(shell $(PKG_CONFIG) --cflags libbpf libdw libelf liblzma) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
LIBS_STATIC = $(shell $(PKG_CONFIG) --static --libs libbpf libdw libelf liblzma) -liberty -lz -lm
TL_LDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -iquote bpf -Ivmlinux -Wall -Wextra \
	    -Wno-unused-parameter -Wno-missing-field-initializers -fdebug-prefix-map=$(CURDIR)=. -MMD -MP

.PHONY: all check live test bench bench-probes oracle lint format man install clean deps test-deps demo help static vm vm-files vm-oracle vm-deps arm64-deps check-cfi check-symbols fuzz fuzz-files \
	browser-test browser-deps formats-test formats-deps bench-deps rescue rescue-test deb package-deps package-test
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BINS) ## build all tools (O=folder, V=1, SAN=address,undefined)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  \1\t/p' Makefile | expand -t 16

$(O)/.versions: Makefile
	@mkdir -p $(@D)
	@command -v pkg-config >/dev/null && $(PKG_CONFIG) --print-errors '$(LIBS_MIN)' || \
		{ echo "tracelets needs $(LIBS_MIN): try 'make deps'" >&2; exit 1; }
	@v=$$($(CLANG) -dumpversion | cut -d. -f1) && [ "$$v" -ge 14 ] || \
		{ echo "tracelets needs clang 14 or newer: try 'make deps'" >&2; exit 1; }
	@$(BPFTOOL) version >/dev/null || { echo "tracelets needs bpftool: try 'make deps'" >&2; exit 1; }
	@echo $(ARCH) >$@

$(O)/bpf/%.tmp.o: bpf/%.bpf.c $(O)/.versions
	$(call say,BPF,$*)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/bpf/%.bpf.o: $(O)/bpf/%.tmp.o
	$(Q)$(BPFTOOL) gen object $@ $<

$(O)/skel/%.skel.h: $(O)/bpf/%.bpf.o bpf/skeleton
	@mkdir -p $(@D)
	$(Q)BPFTOOL='$(BPFTOOL)' bpf/skeleton $< $*_bpf > $@

# Numbers with their names, from the kernel's and the C library's headers.
NUMBERS = $(Q)mkdir -p $(@D) && printf '\#include <%s>\n' $(1) | $(CC) $(CPPFLAGS) -E -dM - | \
	LC_ALL=C awk -v prefix=$(2) $(3) -f tools/syscount/numbers.awk | LC_ALL=C sort >$@

GENERATED := $(addprefix $(O)/gen/,syscalls_native.h syscalls_compat.h errno_numbers.h)

$(O)/gen/syscalls_native.h: tools/syscount/numbers.awk
	$(call NUMBERS,asm/unistd.h,__NR_)

$(O)/gen/syscalls_compat.h: tools/syscount/numbers.awk
	$(call NUMBERS,$(if $(filter x86,$(ARCH)),asm/unistd_32.h,stddef.h),__NR_)

$(O)/gen/errno_numbers.h: tools/syscount/numbers.awk
	$(call NUMBERS,errno.h,E,-v keep=1)

$(O)/tools/syscount/syscalls.o $(O)/tools/syscount/errnames.o: $(GENERATED)

$(O)/common/%.o: common/%.c $(O)/.versions
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -c $< -o $@

# Text that C code carries along, as a string: common/x.css becomes x_css in x.css.h.
$(O)/embed/%.h: common/output/%
	@mkdir -p $(@D)
	$(Q)sed -e 's/[\"]/\\&/g; s/.*/"&\\n"/' \
		-e '1i static const char $(subst .,_,$*)[] =' -e '$$a ;' $< >$@

$(O)/common/output/flamegraph.o: $(O)/embed/flamegraph.css.h $(O)/embed/flamegraph.js.h

$(foreach tool,$(TRACERS),$(eval $(O)/tools/$(tool).o $(O)/static/$(tool).o: $(O)/skel/$(tool).skel.h))

$(O)/tools/%.o: tools/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -c $< -o $@

$(O)/libtracelets.a: $(COMMON)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BINS): $(O)/%: $(O)/tools/%.o $(O)/libtracelets.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/static/toolset.h: tools
	@mkdir -p $(@D)
	$(Q)printf 'TOOL(%s)\n' $(TOOLS) >$@

$(O)/static/%.o: tools/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -Wno-missing-prototypes -Dmain=$*_main -c $< -o $@

$(O)/static/main.o: static/tracelets.c $(O)/static/toolset.h
	$(Q)$(CC) $(TL_CFLAGS) -I$(O)/static -c $< -o $@

$(O)/static/tracelets: $(O)/static/main.o $(TOOLS:%=$(O)/static/%.o) $(O)/libtracelets.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -static -s $^ $(LIBS_STATIC) -o $@

# The same with shared libraries, as a distribution packages it.
$(O)/tracelets: $(O)/static/main.o $(TOOLS:%=$(O)/static/%.o) $(O)/libtracelets.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/tests/unit/%: tests/unit/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/cfi/%: tests/cfi/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/formats/%: tests/formats/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/symbols/%: tests/symbols/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/symbols/%: tests/symbols/%.cc
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -g -MMD -MP -Wall -Wextra $< $(LDFLAGS) -o $@

$(O)/tests/fuzz/%: tests/fuzz/%.c $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a -fsanitize=fuzzer $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/vmlinux.bpf.c: vmlinux/vmlinux.h tests/unit/vmlinux.awk
	@mkdir -p $(@D)
	$(Q)awk -f tests/unit/vmlinux.awk $< >$@

$(O)/tests/vmlinux.bpf.o: $(O)/tests/vmlinux.bpf.c
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/tests/unit/vmlinux_test: $(O)/tests/vmlinux.bpf.o
$(O)/tests/unit/vmlinux_test: private TL_CFLAGS += -DVMLINUX_H_BTF='"$(abspath $(O)/tests/vmlinux.bpf.o)"'

$(O)/tests/live/live.o: tests/live/live.c $(O)/.versions
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -c $< -o $@

$(O)/bpf/%.tmp.o: tests/live/%.bpf.c $(O)/.versions
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Ibpf -c $< -o $@

$(O)/tests/live/probes_test: $(O)/skel/probes.skel.h

$(O)/tests/live/%: tests/live/%.c $(O)/tests/live/live.o $(O)/libtracelets.a
	$(call say,CC,$<)
	$(Q)$(CC) $(TL_CFLAGS) $< $(filter %.o %.a,$^) $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/work/%: tests/work/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g $(WORK_FRAMES) -pthread -MMD -MP $(WARN) -D_GNU_SOURCE \
		$< $(LDFLAGS) -o $@

$(O)/tests/work/%-static: tests/work/%.c
	$(call say,CC,$< (static))
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g -O1 -pthread -MMD -MP $(WARN) -D_GNU_SOURCE -static $< $(LDFLAGS) -o $@

# Another libc: Debian's musl-tools.
$(O)/tests/work/%-musl: tests/work/%.c
	$(call say,CC,$< (musl))
	@mkdir -p $(@D)
	$(Q)musl-gcc -std=gnu11 -g -O1 -pthread -MMD -MP $(WARN) -D_GNU_SOURCE $< $(LDFLAGS) -o $@

$(O)/tests/work/%: tests/work/%.cc
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) -O1 -g -fno-omit-frame-pointer -MMD -MP -Wall -Wextra $< $(LDFLAGS) -o $@

$(O)/tests/work/leaky_static: private LDFLAGS += -static

# On arm64 leaf functions keep none by default, and return addresses may be signed.
WORK_FRAMES := -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
	       $(if $(filter arm64,$(ARCH)),-mbranch-protection=standard)
$(O)/tests/work/nofp $(O)/tests/work/other $(O)/tests/work/brief: private WORK_FRAMES := -O2 -fomit-frame-pointer

# One program in all ways of being mapped, and stripped: its symbols in another file, or packed. It has
# the frames that stacks are walked by on that machine.
NAMES_FRAMES_x86   := -fomit-frame-pointer
NAMES_FRAMES_arm64 := -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
$(O)/tests/work/names $(O)/tests/work/names_static $(O)/tests/work/names_exec: private WORK_FRAMES := \
	-O2 $(NAMES_FRAMES_$(ARCH)) -fno-optimize-sibling-calls -fno-ipa-sra
$(O)/tests/work/names_static: private LDFLAGS += -static-pie
$(O)/tests/work/names_exec: private LDFLAGS += -no-pie \
	-Wl,-Ttext-segment=0x10000000,--section-start=.far_text=0x20000000

$(O)/tests/work/names_static $(O)/tests/work/names_exec: tests/work/names.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g $(WORK_FRAMES) -pthread -MMD -MP $(WARN) -D_GNU_SOURCE \
		$< $(LDFLAGS) -o $@

# With a name of 16 MB.
$(O)/tests/work/names_long: $(O)/tests/work/names
	$(Q)awk 'BEGIN { s = "x"; while (length(s) < 10000000) s = s s; print "names_far", s }' >$@.list
	$(Q)$(CROSS_COMPILE)objcopy --redefine-syms=$@.list $< $@
	@rm $@.list

$(O)/tests/work/%.debug: $(O)/tests/work/%
	$(Q)$(CROSS_COMPILE)objcopy --only-keep-debug --strip-debug $< $@

$(O)/tests/work/%_stripped: $(O)/tests/work/% $(O)/tests/work/%.debug
	$(Q)cd $(@D) && $(CROSS_COMPILE)objcopy --strip-all --add-gnu-debuglink=$*.debug $* $(@F)

$(O)/tests/work/%_mini: $(O)/tests/work/% $(O)/tests/work/%.debug
	$(Q)xz -c $(word 2,$^) >$@.xz
	$(Q)$(CROSS_COMPILE)objcopy --strip-all --add-section .gnu_debugdata=$@.xz $< $@

$(O)/bpf/%.tmp.o: tests/bench/%.bpf.c $(O)/.versions
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# The workload's stack is walked along frame pointers by all contenders.
$(O)/tests/bench/%.o: tests/bench/%.c $(O)/skel/empty.skel.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -c $< -o $@

$(O)/tests/bench/bench: $(BENCH) $(O)/libtracelets.a
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/bpf/%.tmp.o: tests/oracle/%.bpf.c $(O)/.versions
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Ibpf -c $< -o $@

$(O)/tests/oracle/oracle: tests/oracle/oracle.c $(O)/skel/oracle.skel.h $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/tests/probes/%: tests/probes/%.c $(O)/skel/probes.skel.h $(O)/libtracelets.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/skel/early/oracle.skel.h: $(O)/bpf/oracle_early.bpf.o bpf/skeleton
	@mkdir -p $(@D)
	$(Q)BPFTOOL='$(BPFTOOL)' bpf/skeleton $< oracle_bpf > $@

$(O)/tests/oracle/oracle_early: tests/oracle/oracle.c $(O)/skel/early/oracle.skel.h $(O)/libtracelets.a
	@mkdir -p $(@D)
	$(Q)$(CC) -iquote $(O)/skel/early $(TL_CFLAGS) $< $(O)/libtracelets.a $(TL_LDFLAGS) $(LIBS) -o $@

# What the oracle looks at. No frame pointers, frames that are realigned, PLT entries bound lazily.
ODD_CFLAGS := -O2 -g -fomit-frame-pointer -mavx2 -pthread -MMD -MP -Wl,-z,lazy

$(O)/tests/oracle/liboracle.so: tests/oracle/preload.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -fexceptions $(WARN) -D_GNU_SOURCE -MMD -MP -shared -fPIC $< -o $@

$(O)/tests/oracle/odd: tests/oracle/odd.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(ODD_CFLAGS) $(WARN) -D_GNU_SOURCE $< -o $@

$(O)/tests/oracle/plugin%.so: tests/oracle/plugin.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(ODD_CFLAGS) -DPLUGIN_BYTES=$* $(WARN) -shared -fPIC $< -o $@

$(O)/tests/oracle/throw: tests/oracle/throw.cc
	@mkdir -p $(@D)
	$(Q)$(CXX) $(ODD_CFLAGS) $< -o $@

# The static binary needs libraries that not every distribution has, and no sanitizer.
STATIC_BIN := $(if $(SAN),,$(if $(findstring /,$(shell $(CC) -print-file-name=libelf.a)),$(O)/static/tracelets))

check: $(UNITS) $(BINS) $(STATIC_BIN) ## unit tests: no root, seconds
	$(Q)TRACELETS_BIN='$(O)' tests/run -q $(UNITS) tests/unit/man_test.sh tests/unit/flame_test.sh $(if $(STATIC_BIN),tests/unit/static_test.sh)

test: all ## all of the above and lint, with one closing line
	$(Q)MAKE='$(MAKE)' O='$(O)' tests/all

demo: all ## trace a real process and show where its time went (root)
	$(Q)O='$(O)' tests/demo

deps: ## install what the build needs (apt-get or dnf)
	$(Q)tests/deps build

test-deps: deps vm-deps ## install what the tests need on top
	$(Q)tests/deps test

live: $(BINS) $(LIVES) $(WORKS) $(ORACLE_OBJECTS) ## live tests: root, real BPF, minutes
	$(Q)TRACELETS_BIN=$(O) TRACELETS_WORK=$(O)/tests/work tests/run -q $(LIVES)

# A program that maps many files, with frame pointers as its peers need them.
MANY_LIBS := $(patsubst %,$(O)/tests/symbols/many-%.so,$(shell seq 60))
MANY_CFLAGS := -std=gnu11 -g0 -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE $(WARN)

$(O)/tests/symbols/many: tests/symbols/many.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MANY_CFLAGS) $< $(LDFLAGS) -ldl -o $@

# The others are copies: what counts is that each is a file.
$(O)/tests/symbols/many-1.so: tests/symbols/many_lib.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(MANY_CFLAGS) -fPIC -shared $< $(LDFLAGS) -o $@

$(filter-out %/many-1.so,$(MANY_LIBS)): $(O)/tests/symbols/many-1.so
	$(Q)cp $< $@

BENCH_FILES := $(O)/tests/bench/bench $(O)/tests/symbols/bench $(O)/tests/symbols/compare \
	$(O)/tests/symbols/many $(MANY_LIBS) $(O)/tests/work/nofp $(O)/tests/work/mapper $(O)/tests/formats/bench

bench: $(BINS) $(STATIC_BIN) $(BENCH_FILES) ## each tool beside its peers: root, minutes; BENCH_ROUNDS=5, BENCH_ONLY=TITLE, O/bench.json
	$(Q)$(O)/tests/bench/bench $(O) tests/bench $(O)/bench.json $(BENCH_ROUNDS)
	$(Q)$(O)/tests/symbols/bench $(O) $(BENCH_ROUNDS)
	$(Q)O='$(O)' BENCH_ROUNDS='$(BENCH_ROUNDS)' tests/bench/unwind
	$(Q)$(O)/tests/formats/bench $(O)

bench-deps: deps ## install the peers that "make bench" measures (Debian)
	$(Q)tests/deps bench

bench-probes: $(O)/tests/probes/cost ## what a uprobe costs, by where it sits: root, a minute
	$(Q)$<

oracle: $(ORACLE_FILES) ## our stacks against _Unwind_Backtrace()'s: root, a minute (ORACLE=full: a million of them)
	$(Q)O='$(O)' ORACLE='$(ORACLE)' tests/run tests/oracle/run

check-cfi: $(O)/tests/cfi/compare ## unwind tables of all files here against readelf (CHECK_CFI_SAMPLE=N: every Nth)
	$(Q)O='$(O)' tests/check-cfi

check-symbols: $(O)/tests/symbols/compare $(O)/tests/symbols/lines $(O)/tests/symbols/templates $(O)/profile ## symbols of files mapped by common programs against eu-addr2line (CHECK_SYMBOLS_ADDRESSES=10000)
	$(Q)O='$(O)' tests/check-symbols

# Needs clang's compiler-rt: libclang-rt-dev on Debian.
fuzz: ## fuzzers of what reads files of the traced side, FUZZ_SECONDS=30 each
	$(Q)$(MAKE) --no-print-directory O='$(O)/fuzz' CC='$(CLANG)' \
		SAN=fuzzer-no-link,address,undefined fuzz-files

fuzz-files: $(FUZZERS)
	$(Q)O='$(O)' tests/fuzz/run $(FUZZERS)

static: $(O)/static/tracelets ## all tools in one static binary, O/static/tracelets (ARCH=arm64: cross-built)

# What runs in the guest is built once more, statically. Of the unit tests, those that are about the
# kernel or the architecture.
VM_UNITS := vmlinux_test entry_test

vm: ## live tests on Debian's kernels from 5.10 on, emulated (KERNELS="6.1 7.2", ARCH=arm64, see tests/vm/run)
	$(Q)$(MAKE) --no-print-directory O='$(O)/vm' LDFLAGS=-static LIBS='$(LIBS_STATIC)' vm-files
	$(Q)O='$(O)/vm' tests/vm/run $(KERNELS)

vm-files: static $(BINS) $(LIVES) $(WORKS) $(VM_UNITS:%=$(O)/tests/unit/%) $(ORACLE_OBJECTS)

vm-oracle: ## the oracle of stacks on those kernels
	$(Q)$(MAKE) --no-print-directory O='$(O)/vm' LDFLAGS=-static LIBS='$(LIBS_STATIC)' vm-files $(ORACLE_FILES:$(O)/%=$(O)/vm/%)
	$(Q)O='$(O)/vm' VM_TESTS=oracle VM_TEST_LIMIT=500 VM_LIMIT=600 tests/vm/run $(KERNELS)

vm-deps: deps ## install what "make vm" needs on top
	$(Q)tests/deps vm

arm64-deps: deps ## install what "make static ARCH=arm64" and "make vm ARCH=arm64" need on top
	$(Q)tests/deps arm64

rescue: static ## O/rescue: the tools for any initramfs, and an image with kernel, busybox and shell (VM_KERNEL=6.12)
	$(Q)O='$(O)' packaging/rescue/build

# Linked statically, the workloads run in the image.
rescue-test: rescue ## boot what "make rescue" has made, emulated, and work on its console
	$(Q)$(MAKE) -s --no-print-directory O='$(O)/vm' LDFLAGS=-static $(WORKS:$(O)/%=$(O)/vm/%)
	$(Q)O='$(O)' tests/run tests/vm/rescue

deb: ## Debian packages, in O/deb
	$(Q)O='$(O)' packaging/deb

package-deps: deps ## install what "make deb" and "make package-test" need on top
	$(Q)tests/deps package

package-test: deb ## install, run, boot and remove the packages, on a copy of this system: root, minutes
	$(Q)O='$(O)' tests/run tests/packaging/deb tests/packaging/initramfs tests/packaging/dracut

formats-test: $(BINS) $(O)/tests/formats/write ## our formats read by others: go tool pprof, a JSON validator
	$(Q)O='$(O)' tests/run tests/formats/run

formats-deps: deps ## install what "make formats-test" needs on top
	$(Q)tests/deps formats

browser-test: $(O)/flame ## flame graphs in a real browser: zoom, search, keys, hostile names
	$(Q)O='$(O)' tests/run tests/browser/run

browser-deps: deps ## install what "make browser-test" needs on top
	$(Q)tests/deps browser

lint: $(patsubst %,$(O)/skel/%.skel.h,$(TRACERS) empty oracle probes) $(O)/static/toolset.h $(GENERATED) ## formatting, static checks, shell scripts, manual pages
	$(Q)O='$(O)' tests/run -q tests/lint/all

format: ## clang-format all C files in place
	$(Q)clang-format -i $$(find bpf common tools tests vmlinux -name '*.[ch]')

man: $(patsubst man/%.8,$(O)/man/%.txt,$(wildcard man/*.8)) ## manual pages as text, in O/man

$(O)/man/%.txt: man/%.8
	@mkdir -p $(@D)
	$(Q)mandoc -T ascii $< | sed 's/.\x08//g' >$@

install: all ## to DESTDIR, under PREFIX: sbin and share/man/man8
	install -d '$(DESTDIR)$(PREFIX)/sbin' '$(DESTDIR)$(PREFIX)/share/man/man8'
	install -m 755 $(BINS) '$(DESTDIR)$(PREFIX)/sbin'
	install -m 644 man/*.8 '$(DESTDIR)$(PREFIX)/share/man/man8'

clean: ## remove what was built
	rm -rf $(O)

-include $(wildcard $(O)/*/*.d $(O)/*/*/*.d)
