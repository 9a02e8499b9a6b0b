# SPDX-License-Identifier: GPL-2.0-only
# The tests: what is built for them and how they are run. tests/README.md says what each is for.

# They walk stacks by x86-64's rules: their own, Go's. unwind_arm64_test is for arm64's.
UNITS_NOT_arm64 := tests/unit/cfi_test.c tests/unit/unwind_walk_test.c

UNITS   := $(patsubst %.c,$(O)/%,$(filter-out $(UNITS_NOT_$(ARCH)),$(wildcard tests/unit/*_test.c)))
LIVES   := $(patsubst %.c,$(O)/%,$(wildcard tests/live/*_test.c))
FUZZERS := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/*_fuzz.c))

.PHONY: check check-san check-others check-readers soak churn faults test test-all test-deps test-all-deps test-files live live-lanes live-alone live-files \
	lint lint-files lint-whole fuzz fuzz-files oracle v8-oracle check-cfi check-symbols \
	vm vm-files vm-oracle vm-python vm-java vm-v8 vm-deps arm64-deps rescue-test package-deps formats-test formats-deps \
	browser-test browser-deps

# ---- test programs: one file and the library, with what else its folder needs ----

# They are compiled more often than they are run.
$(O)/tests/% $(OBJECTS)/tests/%: private TL_CFLAGS += -O1 -g1

vpath %.bpf.c tests/live tests/oracle

$(O)/tests/%: tests/%.c $(LIB)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TL_CFLAGS) $(filter-out %.bpf.o,$(filter %.c %.o,$^)) $(filter %.a,$^) $(TL_LDFLAGS) $(LIBS) -o $@

$(OBJECTS)/tests/%.o: tests/%.c $(OBJECTS)/.versions
	$(call say,CC,$<)
	$(COMPILE)

# Compiled once for this machine and for guests, where they are static.
$(LIVES): $(O)/tests/live/%: $(OBJECTS)/tests/live/%.o $(OBJECTS)/tests/live/live.o $(LIB)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(filter %.o %.a,$^) $(TL_LDFLAGS) $(LIBS) -o $@

$(FUZZERS): private TL_LDFLAGS += -fsanitize=fuzzer
$(OBJECTS)/tests/live/output_test.o $(OBJECTS)/tests/live/probes_test.o: $(PARTS)/skel/probes.skel.h
$(OBJECTS)/tests/live/kernel_stacks_test.o: $(PARTS)/skel/kernel_stacks.skel.h
$(O)/tests/oracle/oracle: $(PARTS)/skel/oracle.skel.h
$(O)/tests/oracle/recall: $(PARTS)/skel/recall.skel.h
$(OBJECTS)/tests/live/taskstate_test.o: $(PARTS)/skel/runqlat.skel.h

$(O)/tests/unit/run_facts_test $(O)/tests/unit/wait_metrics_test: $(PARTS)/bpf/runqlat.bpf.o
$(O)/tests/unit/run_facts_test $(O)/tests/unit/wait_metrics_test: \
	private TL_CFLAGS += -DBPF_OBJECT='"$(abspath $(PARTS)/bpf/runqlat.bpf.o)"'

$(O)/tests/unit/user_stacks_test: $(PARTS)/bpf/profile.bpf.o
$(O)/tests/unit/user_stacks_test: private TL_CFLAGS += -DBPF_OBJECT='"$(abspath $(PARTS)/bpf/profile.bpf.o)"'

$(O)/tests/unit/vmlinux_test: $(PARTS)/tests/vmlinux.bpf.o
$(O)/tests/unit/vmlinux_test: private TL_CFLAGS += -DVMLINUX_H_BTF='"$(abspath $(PARTS)/tests/vmlinux.bpf.o)"'

$(PARTS)/tests/vmlinux.bpf.c: vmlinux/vmlinux.h tests/unit/vmlinux.awk
	$(Q)mkdir -p $(@D) && awk -f tests/unit/vmlinux.awk $< >$@

$(PARTS)/tests/vmlinux.bpf.o: $(PARTS)/tests/vmlinux.bpf.c
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# The same test for kernels before 5.12, with the object that they load.
$(PARTS)/skel/early/oracle.skel.h: $(PARTS)/bpf/oracle_early.bpf.o bpf/skeleton
	$(Q)mkdir -p $(@D) && BPFTOOL='$(BPFTOOL)' bpf/skeleton $< oracle_bpf >$@

$(O)/tests/oracle/oracle_early: tests/oracle/oracle.c $(PARTS)/skel/early/oracle.skel.h $(LIB)
	$(Q)mkdir -p $(@D) && $(CC) -iquote $(PARTS)/skel/early $(TL_CFLAGS) $< $(LIB) $(TL_LDFLAGS) $(LIBS) -o $@

# And one whose loader is slow.
$(O)/tests/oracle/oracle_slow: tests/oracle/oracle.c tests/oracle/slow.c $(PARTS)/skel/oracle.skel.h $(LIB)
	$(Q)mkdir -p $(@D) && $(CC) $(TL_CFLAGS) $(filter %.c,$^) $(LIB) -Wl,--wrap=unwind_procs_update $(TL_LDFLAGS) $(LIBS) -o $@

# ---- workloads of the live tests: programs to be traced ----

NAMES := names_long names_static names_exec names_stripped names_mini names_static_stripped names_exec_stripped \
	 names_fixed names_fixed_stripped other.debug
GOPYTHON := $(if $(shell command -v go),$(shell pkg-config --exists python3-embed && echo gopython))
WORKS := $(patsubst %.c,$(O)/%,$(wildcard tests/work/*.c)) \
	 $(patsubst %.cc,$(O)/%,$(wildcard tests/work/*.cc)) \
	 $(addprefix $(O)/tests/work/,$(NAMES) inlined_lto inlined_split allocs-static trap-static jit-static \
	   $(if $(shell command -v dwz),inlined_shared) \
	   $(if $(filter -static,$(LDFLAGS))$(SAN),,inject.so) \
	   $(if $(filter -static,$(LDFLAGS)),,$(if $(filter $(MACHINE_ARCH),$(ARCH)),$(GOPYTHON))) \
	   $(if $(filter $(MACHINE_ARCH),$(ARCH)),$(if $(shell command -v musl-gcc),allocs-musl library-musl library-musl-static trap-musl trap-musl-static)) \
	   $(if $(shell command -v go),goload goknown) $(if $(shell command -v javac),levels.jar))

# Preloaded into tools, whose calls it lets fail.
$(O)/tests/work/inject.so: tests/faults/inject.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O1 -g $(WARN) -D_GNU_SOURCE -MMD -MP -shared -fPIC $< -ldl -o $@

$(O)/tests/work/levels.jar: tests/work/Levels.java
	$(call say,JAVAC,$<)
	$(Q)mkdir -p $(@D) $(PARTS)/levels && javac -nowarn -d $(PARTS)/levels $< && jar cf $@ -C $(PARTS)/levels .

WORK_CFLAGS := -std=gnu11 -g -pthread -MMD -MP $(WARN) -D_GNU_SOURCE

# On arm64 leaf functions keep none by default, and return addresses may be signed.
WORK_SIGNED := $(if $(filter arm64,$(ARCH)),-mbranch-protection=standard)
WORK_FRAMES := -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer $(WORK_SIGNED)

$(O)/tests/work/%: tests/work/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FRAMES) $< $(LDFLAGS) -o $@

$(O)/tests/work/%-static: tests/work/%.c
	$(call say,CC,$< (static))
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -O1 -static $< $(LDFLAGS) -o $@

# Another libc: Debian's musl-tools.
$(O)/tests/work/%-musl: tests/work/%.c
	$(call say,CC,$< (musl))
	$(Q)mkdir -p $(@D) && musl-gcc $(WORK_CFLAGS) -O1 $< $(LDFLAGS) -o $@

$(O)/tests/work/%-musl-static: tests/work/%.c
	$(call say,CC,$< (musl, static))
	$(Q)mkdir -p $(@D) && musl-gcc $(WORK_CFLAGS) -O1 -static $< $(LDFLAGS) -o $@

$(O)/tests/%: tests/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O1 -g -fno-omit-frame-pointer -MMD -MP -Wall -Wextra $< $(LDFLAGS) -o $@

$(O)/tests/work/leaky_static: private LDFLAGS += -static
$(O)/tests/work/reborn: private LDFLAGS += -static -no-pie
$(addprefix $(O)/tests/work/,nofp other brief alike reborn): private WORK_FRAMES := -O2 -fomit-frame-pointer $(WORK_SIGNED)

# One program in all ways of being mapped, and stripped: its symbols in another file, or packed.
$(addprefix $(O)/tests/work/names,_static _exec _fixed) $(O)/tests/work/names: private WORK_FRAMES := \
	-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-ipa-sra
$(O)/tests/work/names_static: private LDFLAGS += -static-pie
$(O)/tests/work/names_fixed: private LDFLAGS += -static -no-pie
$(O)/tests/work/names_exec: private LDFLAGS += -no-pie \
	-Wl,-Ttext-segment=0x10000000,--section-start=.far_text=0x20000000

$(addprefix $(O)/tests/work/names,_static _exec _fixed): tests/work/names.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FRAMES) $< $(LDFLAGS) -o $@

# Its DWARF in other forms: functions copied from other units, in a file of its own, shared with other files.
$(O)/tests/work/inlined_lto: private WORK_FRAMES += -flto
$(O)/tests/work/inlined_split: private WORK_FRAMES += -gsplit-dwarf

$(O)/tests/work/inlined_lto $(O)/tests/work/inlined_split: tests/work/inlined.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FRAMES) $< $(LDFLAGS) -o $@

$(O)/tests/work/inlined_shared: $(O)/tests/work/inlined
	$(Q)cd $(@D) && cp inlined $(@F) && cp inlined $(@F).other && dwz -m $(@F).debug $(@F) $(@F).other

# Go's linker makes them static and leaves out their symbols.
$(O)/tests/work/goload: $(wildcard tests/go/load/*)
$(O)/tests/work/goknown: $(wildcard tests/go/known/*)
$(O)/tests/work/goload $(O)/tests/work/goknown: $(O)/tests/work/go%:
	$(call say,GO,tests/go/$*)
	$(Q)mkdir -p $(@D) && cd tests/go/$* && GOARCH=$(patsubst x86,amd64,$(ARCH)) CGO_ENABLED=0 GOFLAGS=-mod=mod GOPROXY=off \
		go build -ldflags='-s -w' -o '$(abspath $@)' .

$(O)/tests/work/gopython: $(wildcard tests/go/python/*)
	$(call say,GO,tests/go/python)
	$(Q)mkdir -p $(@D) && cd tests/go/python && CGO_ENABLED=1 GOFLAGS=-mod=mod GOPROXY=off go build -o '$(abspath $@)' .

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

# ---- what the oracle looks at: no frame pointers, realigned frames, PLT entries bound lazily ----

ORACLE_FILES   := $(addprefix $(O)/tests/oracle/,oracle oracle_early oracle_slow recall liboracle.so odd throw plugin64.so plugin4096.so)
ORACLE_OBJECTS := $(PARTS)/bpf/oracle.bpf.o $(PARTS)/bpf/oracle_early.bpf.o
ODD_CFLAGS     := -O2 -g -fomit-frame-pointer $(if $(filter x86,$(ARCH)),-mavx2,$(WORK_SIGNED)) -pthread -MMD -MP -Wl,-z,lazy

$(O)/tests/oracle/liboracle.so: tests/oracle/preload.c
	$(Q)mkdir -p $(@D) && $(CC) -O2 -g -fexceptions $(WARN) -D_GNU_SOURCE -MMD -MP -shared -fPIC $< -o $@

$(O)/tests/oracle/odd: tests/oracle/odd.c
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(ODD_CFLAGS) $(WARN) -D_GNU_SOURCE $< -o $@

$(O)/tests/oracle/plugin%.so: tests/oracle/plugin.c
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(ODD_CFLAGS) -DPLUGIN_BYTES=$* $(WARN) -shared -fPIC $< -o $@

$(O)/tests/oracle/throw: tests/oracle/throw.cc
	$(Q)mkdir -p $(@D) && $(CXX) $(ODD_CFLAGS) $< -o $@

# ---- running them ----

# The static binary needs libraries that not every distribution has, and no sanitizer.
STATIC_BIN := $(if $(SAN),,$(if $(findstring /,$(shell $(CC) -print-file-name=libelf.a)),$(OBJECTS)/static/tracelets))

CORES := $(shell nproc)

# The longest first. Those that are not of a sanitized build look at its objects, or install it.
CHECK_SCRIPTS := $(addprefix tests/unit/,$(if $(SAN),,template_test.sh install_test.sh static_test.sh) make_test.sh man_test.sh \
		 flame_test.sh run_test.sh refused_test.sh completion_test.sh)

check: $(UNITS) $(BINS) $(O)/tracelets $(STATIC_BIN) ## unit tests: no root, seconds
	$(Q)TRACELETS_BIN='$(O)' tests/run -q -j $(CORES) $(CHECK_SCRIPTS) $(UNITS)

SAN_MAKE  = +$(Q)$(MAKE) --no-print-directory O='$(O)/san' PARTS='$(O)' OBJECTS='$(O)/san' SAN=address,undefined CFLAGS='-O1 -g1'

check-san: ## the same with sanitizers, in O/san
	$(SAN_MAKE) check

# Tests of code that reads files and memory of other processes: it is on these floors and needs no other.
TOOL_FOLDERS  := $(patsubst tools/%/,%,$(wildcard tools/*/))
READER_FLOORS := base elf process probes output symbols runtimes unwind
READERS       := $(filter-out $(UNITS_NOT_$(ARCH)),tests/unit/folded_test.c $(shell grep -l -E \
		 '^\#include "(elf|process|probes|runtimes|symbols|unwind)/' $$(grep -L -E \
		 '^\#include "(modules|run|stacks|$(subst $() ,|,$(TOOL_FOLDERS)))/' tests/unit/*_test.c)))

check-others: ## that without what "make check-readers" runs
	$(SAN_MAKE) check UNITS='$(patsubst tests/%.c,$(O)/san/tests/%,$(filter-out $(READERS),$(UNITS:$(O)/%=%.c)))'

check-readers: ## the part of that which reads hostile bytes
	$(SAN_MAKE) LIB='$(O)/san/libreaders.a' SOURCES='$(wildcard $(foreach floor,$(READER_FLOORS),common/$(floor)/*.c common/$(floor)/*/*.c))' \
		UNITS='$(READERS:%.c=$(O)/san/%)' san-readers

.PHONY: san-readers
san-readers: $(UNITS)
	$(Q)tests/run -q -j $(CORES) $(UNITS)

test: ## what proves the tools on this machine: a quarter of an hour, with one closing line
	$(Q)MAKE='$(MAKE)' O='$(O)' tests/all first

test-all: ## the rest: other kernels, packages, formats, a browser, all sanitizers: half an hour
	$(Q)MAKE='$(MAKE)' O='$(O)' tests/all rest

# Builds what the stages of "make test" run.
test-files: all $(STATIC_BIN) $(UNITS) live-files lint-files $(ORACLE_FILES) $(O)/tests/v8/oracle $(CFI_FILES) $(SYMBOLS_FILES)

test-deps: ## install what "make test" needs
	$(Q)scripts/deps build test vm

test-all-deps: ## install what "make test-all" needs on top
	$(Q)scripts/deps build test vm rest browser formats package

# Installs what one of the stages needs.
vm-deps browser-deps formats-deps package-deps: %-deps:
	$(Q)scripts/deps build $*

# The longest first: they mostly wait, and more run at a time than there are CPUs.
LIVE_LONG := memleak_test wall_test offcputime_test python_test throttled_test brief_test filter_test unwind_test cli_test \
	     symbols_test top_test go_test profile_test pagefaults_test syscount_test biolat_test locks_test probes_test \
	     python_forks_test unattended_test output_test v8_test java_test

# They take CPUs or memory away from all.
LIVE_ALONE := hotplug_test swap_test

# They run in "make test-all" instead.
LIVE_LATER := churn_test

live: live-files ## live tests: root, real BPF, minutes (LIVE_TESTS="cli_test ...": only these)
	$(Q)TRACELETS_BIN=$(O) TRACELETS_WORK=$(O)/tests/work TRACELETS_LIVE=1 tests/run -q -t \
		$(if $(LIVE_TESTS),$(LIVE_TESTS:%=$(O)/tests/live/%),$(LIVES) tests/unit/template_test.sh)

live-lanes: LIVE_PART := $(LIVE_LONG:%=$(O)/tests/live/%) tests/unit/template_test.sh \
	$(filter-out $(addprefix $(O)/tests/live/,$(LIVE_LONG) $(LIVE_ALONE) $(LIVE_LATER)),$(LIVES))
live-lanes: LANES := -j $(shell expr 2 \* $(CORES))
live-alone: LIVE_PART := $(LIVE_ALONE:%=$(O)/tests/live/%)

live-lanes live-alone: live-files
	$(Q)TRACELETS_BIN=$(O) TRACELETS_WORK=$(O)/tests/work TRACELETS_LIVE=1 tests/run -q -t $(LANES) $(LIVE_PART)

faults: $(O)/tests/live/faults_test $(BINS) $(WORKS) ## each tool with every fault, one at a time (FAULTS=stacks, or full): root
	$(Q)FAULTS=$(or $(FAULTS),stacks) TRACELETS_BIN='$(O)' TRACELETS_WORK='$(O)/tests/work' $<

live-files: $(BINS) $(LIVES) $(WORKS) $(ORACLE_OBJECTS)

# Builds generated files that sources include.
lint-files: $(patsubst %,$(PARTS)/skel/%.skel.h,$(TRACERS) waits kernel_stacks oracle recall probes) $(OBJECTS)/static/toolset.h \
	    $(GENERATED) $(addprefix $(PARTS)/embed/flamegraph.,css.h js.h)

lint: lint-files ## formatting, floors, shell scripts, manual pages, static checks of what has changed since they last passed
	$(Q)O='$(O)' tests/run -q tests/lint/all

lint-whole: lint-files ## static checks of all files: clang-tidy, cppcheck
	$(Q)O='$(O)' LINT=whole tests/run -q tests/lint/all

# Needs clang's compiler-rt: libclang-rt-dev on Debian.
fuzz: ## fuzzers of what reads files of the traced side, FUZZ_SECONDS=30 each, FUZZ_JOBS=1 at a time
	+$(Q)$(MAKE) --no-print-directory O='$(O)/fuzz' PARTS='$(O)' OBJECTS='$(O)/fuzz' CC='$(CLANG)' \
		SAN=fuzzer-no-link,address,undefined fuzz-files

fuzz-files: $(FUZZERS)
	$(Q)O='$(O)' tests/fuzz/run $(FUZZERS)

oracle: $(ORACLE_FILES) $(O)/tests/work/pingpong ## our stacks against _Unwind_Backtrace()'s: root, a minute (ORACLE=full: a million of them)
	$(Q)O='$(O)' ORACLE='$(ORACLE)' tests/run tests/oracle/run

v8-oracle: $(O)/tests/v8/oracle ## functions of JavaScript against what programs say of themselves: root, seconds (NODES: files of node)
	$(Q)O='$(O)' tests/run tests/v8/run

CFI_FILES     := $(O)/tests/cfi/compare
SYMBOLS_FILES := $(addprefix $(O)/tests/symbols/,compare lines templates) $(O)/profile

check-cfi: $(CFI_FILES) ## unwind tables of all files here against readelf (CHECK_CFI_SAMPLE=N: every Nth)
	$(Q)O='$(O)' tests/run tests/cfi/check

check-symbols: $(SYMBOLS_FILES) ## symbols of files mapped by common programs against eu-addr2line (CHECK_SYMBOLS_ADDRESSES=10000)
	$(Q)O='$(O)' tests/run tests/symbols/check

formats-test: $(BINS) $(O)/tests/formats/write $(O)/tests/work/contend $(O)/tests/work/disk ## our formats read by others: go tool pprof, a JSON validator, Prometheus, the Firefox Profiler
	$(Q)O='$(O)' tests/run tests/formats/run tests/formats/prometheus tests/formats/firefox

browser-test: $(O)/flame $(O)/profile $(O)/tests/formats/write ## flame graphs and pages in a real browser: zoom, search, keys, hostile names
	$(Q)O='$(O)' tests/run tests/browser/run

soak: $(BINS) ## five tools at once, unattended: root, SOAK_SECONDS=600
	$(Q)O='$(O)' SOAK_SECONDS='$(SOAK_SECONDS)' tests/run tests/soak/run

# However long that takes: half an hour for a few tools.
churn: $(O)/tests/live/churn_test $(BINS) $(WORKS) ## each tool beside CHURN=100000 short processes: root (CHURN_TESTS="NAME ...")
	$(Q)CHURN=$(or $(CHURN),100000) TRACELETS_BIN='$(O)' TRACELETS_WORK='$(O)/tests/work' $< $(CHURN_TESTS)

# ---- on other kernels: linked once more, statically, and run in emulated machines ----

# The unit tests that are about the kernel or the architecture.
VM_UNITS := vmlinux_test entry_test
VM_MAKE   = +$(Q)$(MAKE) --no-print-directory O='$(O)/vm' PARTS='$(O)' OBJECTS='$(O)' LDFLAGS=-static LIBS='$(LIBS_STATIC)'
VM_RUN    = O='$(O)/vm' PARTS='$(O)'

vm: ## live tests on Debian's kernels from 5.10 on, emulated (KERNELS="6.1 7.2", ARCH=arm64, see tests/vm/run)
	$(VM_MAKE) $(if $(filter-out smoke,$(or $(VM_TESTS),all)),vm-files,static)
	$(Q)$(VM_RUN) tests/vm/run $(KERNELS)

vm-files: static $(BINS) $(LIVES) $(WORKS) $(VM_UNITS:%=$(O)/tests/unit/%) $(ORACLE_OBJECTS)

vm-oracle: ## the oracle of stacks on those kernels
	$(VM_MAKE) vm-files $(ORACLE_FILES:$(O)/%=$(O)/vm/%)
	$(Q)$(VM_RUN) VM_TESTS=oracle VM_TEST_LIMIT=2000 VM_LIMIT=1500 tests/vm/run $(KERNELS)

# These run with each release that Debian has; a guest takes three minutes of a CPU.
VM_PYTHON := bullseye/python3.9 bookworm/python3.11 trixie/python3.13 sid/python3.14 sid/python3.15
VM_JAVA   := bookworm/openjdk-17-jdk-headless trixie/openjdk-21-jdk-headless sid/openjdk-25-jdk-headless
VM_V8     := bookworm/nodejs trixie/nodejs sid/nodejs
vm-python: private TESTS = python_test python_calls_test python_lies_test
vm-java:   private TESTS = java_test
vm-v8:     private TESTS = v8_test

vm-python: ## frames of Python there: 3.9, 3.11, 3.13, 3.14 and 3.15
vm-java: ## frames of Java there: 17, 21 and 25
vm-v8: ## frames of JavaScript there: node 18, 20 and newer
vm-python vm-java vm-v8:
	$(VM_MAKE) vm-files $(ORACLE_FILES:$(O)/%=$(O)/vm/%)
	$(Q)for each in $(VM_$(shell echo $(@:vm-%=%) | tr a-z A-Z)); do echo "$$each"; \
		$(VM_RUN) VM_SUITE=$${each%/*} VM_PROGRAMS=$${each#*/} VM_TESTS='$(TESTS) oracle' VM_TEST_LIMIT=2000 \
			VM_LIMIT=2000 VM_ORACLE_ONLY=recall_$(@:vm-%=%) VM_ORACLE=full tests/vm/run $(KERNELS) || exit; done

arm64-deps: ## install what "make static ARCH=arm64" and "make vm ARCH=arm64" need
	$(Q)scripts/deps build arm64

# Linked statically, the workloads run in the image.
rescue-test: rescue ## boot what "make rescue" has made, emulated, and work on its console
	$(Q)$(MAKE) -s --no-print-directory O='$(O)/vm' PARTS='$(O)' OBJECTS='$(O)' LDFLAGS=-static \
		$(patsubst $(O)/%,$(O)/vm/%,$(filter-out %/inject.so,$(WORKS)))
	$(Q)O='$(O)' tests/run tests/vm/rescue
