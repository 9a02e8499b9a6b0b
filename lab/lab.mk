# SPDX-License-Identifier: GPL-2.0-only
# The instruments: lab/README.md says which question each answers. No test builds or runs them.

.PHONY: lab bench bench-deps bench-growth bench-probes bench-real check-go check-go-programs check-runtimes \
	vm-probes vm-programs

vpath %.bpf.c lab/bench

$(O)/lab/%: lab/%.c $(LIB)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TL_CFLAGS) $(filter %.c %.o,$^) $(filter %.a,$^) $(TL_LDFLAGS) $(LIBS) -o $@

$(O)/lab/%.o: lab/%.c $(O)/.versions
	$(call say,CC,$<)
	$(COMPILE)

# ---- benchmarks ----

# The workload's stack is walked along frame pointers by all contenders.
BENCH := $(addprefix $(O)/lab/bench/,bench.o binary.o programs.o work.o)
$(BENCH): private TL_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(BENCH): $(PARTS)/skel/empty.skel.h

$(O)/lab/bench/bench: $(BENCH) $(LIB)
	$(Q)$(CC) $(TL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/lab/bench/beside: $(O)/lab/bench/programs.o

$(O)/lab/bench/mapper $(O)/lab/bench/town: $(O)/lab/bench/%: lab/bench/%.c
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FRAMES) $< $(LDFLAGS) -o $@

# A program that maps many files, with frame pointers as its peers need them. The libraries are copies of
# one: each of them counts as a file.
MANY_LIBS   := $(patsubst %,$(O)/lab/bench/many-%.so,$(shell seq 60))
MANY_CFLAGS := -std=gnu11 -g0 -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE $(WARN)

$(O)/lab/bench/many: lab/bench/many.c
	$(Q)mkdir -p $(@D) && $(CC) $(MANY_CFLAGS) $< $(LDFLAGS) -ldl -o $@

$(O)/lab/bench/many-1.so: lab/bench/many_lib.c
	$(Q)mkdir -p $(@D) && $(CC) $(MANY_CFLAGS) -fPIC -shared $< $(LDFLAGS) -o $@

$(filter-out %/many-1.so,$(MANY_LIBS)): $(O)/lab/bench/many-1.so
	$(Q)cp $< $@

BENCH_FILES  := $(addprefix $(O)/,$(addprefix lab/bench/,bench formats many mapper symbols) tests/symbols/compare \
		tests/work/nofp) $(MANY_LIBS)
GROWTH_FILES := $(addprefix $(O)/lab/bench/,beside many-1.so town)
GO_FILES     := $(addprefix $(O)/lab/,go/heaps go/names go/stacks steps/steps)
PROBE_FILES  := $(addprefix $(O)/lab/probes/,cost entries)

$(O)/lab/probes/cost: $(PARTS)/skel/probes.skel.h

# ---- running them ----

lab: $(BENCH_FILES) $(GROWTH_FILES) $(GO_FILES) $(PROBE_FILES) ## build the instruments (lab/README.md), which no test does

bench: $(BINS) $(STATIC_BIN) $(BENCH_FILES) ## each tool beside its peers: root, minutes; BENCH_ROUNDS=5, BENCH_ONLY=TITLE, O/bench.json
	$(Q)$(O)/lab/bench/bench $(O) lab/bench $(O)/bench.json $(BENCH_ROUNDS)
	$(Q)$(O)/lab/bench/symbols $(O) $(BENCH_ROUNDS)
	$(Q)O='$(O)' BENCH_ROUNDS='$(BENCH_ROUNDS)' lab/bench/unwind
	$(Q)$(O)/lab/bench/formats $(O)

bench-real: $(BINS) ## what the tools and their peers take from real programs: root, an hour; REAL="redis postgres nginx compile go", BENCH_ROUNDS=7, REAL_SECONDS=5, O/real.md
	$(Q)O='$(O)' lab/bench/real

bench-growth: $(BINS) $(GROWTH_FILES) ## how cost grows with processes, threads, stacks, frames: root, minutes; O/growth.md, O/growth.svg
	$(Q)O='$(O)' lab/bench/growth

bench-deps: ## install the peers that "make bench" measures (Debian)
	$(Q)scripts/deps build bench

bench-probes: $(O)/lab/probes/cost ## what a uprobe costs, by where it sits: root, a minute
	$(Q)$<

# Toolchains are fetched from Debian's archive once: 2.7 GB, in O/go.
check-go: $(GO_FILES) ## names, lines, stacks and heaps of Go programs against Go's own, nine releases (CHECK_GO_VERSIONS="1.19 1.27")
	$(Q)O='$(O)' lab/go/check

check-go-programs: $(BINS) ## stacks of Debian's Go programs at work, on CPU and off: root, GO_PROGRAMS="etcd caddy"
	$(Q)O='$(O)' tests/run lab/go/programs

check-runtimes: $(BINS) ## stacks of node, Java, PHP, Erlang and others, as doc/runtimes.md has them: root, Debian's mirror
	$(Q)TRACELETS_BIN='$(O)' lab/runtimes/check

vm-probes: ## what a uprobe costs on other kernels, by where it sits, in the emulated time of the guest
	$(VM_MAKE) vm-files $(O)/vm/lab/probes/cost
	$(Q)$(VM_RUN) VM_TESTS=cost tests/vm/run $(KERNELS)
	$(Q)cd $(O)/vm/logs && grep -a -v '^@@' *.log

vm-programs: ## the oracle on other kernels with programs of Debian's, and how complete their stacks are (python3, perl, git, cc1, redis)
	$(VM_MAKE) vm-files $(ORACLE_FILES:$(O)/%=$(O)/vm/%)
	$(Q)$(VM_RUN) VM_PROGRAMS=all VM_TESTS='oracle completeness' VM_TEST_LIMIT=900 VM_LIMIT=2400 tests/vm/run $(KERNELS)
