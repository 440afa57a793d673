# Unit tests: every tests/unit/**/test_*.c is one program, written with criterion's macros (tests/unit/plain_main.c runs it), under ASan and UBSan;
# those that use threads under TSan too. Fuzzers: every tests/fuzz/fuzz_*.c is one libFuzzer program; seeds in tests/fuzz/corpus/<name>/.
# Python suites: tests/**/test_*.py, on the release programs; tests/resilience holds what makes parts fail. tests/run.py runs them all.
UNIT_SRC := $(sort $(shell find tests/unit -name 'test_*.c'))
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
UNIT_MAIN := $(B)/obj/tests/unit/plain_main.o $(B)/obj/tests/unit/plain_criterion.o
$(UNIT_BIN): $(B)/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_MAIN) $(B)/libagent.a $(B)/libcontroller.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--no-gc-sections -o $@ $< $(UNIT_MAIN) $(filter %/libkubectl.a,$^) $(B)/libcontroller.a $(B)/libagent.a $(B)/libcommon.a \
		$(PKG_LIBS) -lm
$(filter $(B)/unit/controller/kubectl/%,$(UNIT_BIN)): $(B)/libkubectl.a

THREADED_UNIT_SRC := $(if $(UNIT_SRC),$(shell grep -lE 'pthread_|tsan' $(UNIT_SRC)))
THREADED_UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(THREADED_UNIT_SRC))

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
$(FUZZ_BIN): $(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(B)/libkubectl.a $(B)/libagent.a $(B)/libcontroller.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $< $(B)/libkubectl.a $(B)/libcontroller.a $(B)/libagent.a $(B)/libcommon.a $(PKG_LIBS) -lm
$(B)/fuzz/fuzz_allocs $(B)/fuzz/fuzz_exceptions: LDFLAGS += -Wl,--wrap=kernel_symbols_load

# Programs that Python suites drive: tests/<part>/<name>.c becomes build/<flavour>/tests/<name>, with '-' for '_'.
TOOL_SRC := tests/system/link/hub_tool.c tests/system/controller/fake_hub.c tests/system/storage/storage_tool.c tests/helpers/deny_perf.c \
	tests/helpers/as_pid.c tests/helpers/fake_diagnostics.c tests/system/report/report_tool.c tests/system/leak/leak_tool.c
TOOL_SRC += tests/system/survivors/survivors_tool.c tests/system/pauses/pause_tool.c
TOOL_SRC += tests/system/walk/walk_tool.c
TOOL_SRC += tests/helpers/crypto_end.c
include tests/bench/bench.mk
tool = $(B)/tests/$(subst _,-,$(basename $(notdir $(1))))
define tool_rule
$(call tool,$(1)): $(B)/obj/$(1:.c=.o) $$(B)/libcontroller.a $$(B)/libagent.a $$(B)/libcommon.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(PKG_LIBS) -lm
endef
TOOL_BIN := $(foreach source,$(TOOL_SRC),$(call tool,$(source)))
$(foreach source,$(TOOL_SRC),$(eval $(call tool_rule,$(source))))
ILL_MACHINE := $(B)/tests/ill_machine.so
$(ILL_MACHINE): tests/helpers/ill_machine.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -o $@ $<
include tests/system/profiler/tests.mk
include tests/resilience/failures/failures.mk
include tests/resilience/soak/soak.mk
include tests/platforms/platforms.mk

.PHONY: unit-bin threaded-unit-bin fuzz-bin test-tools
test-tools: $(TOOL_BIN) $(ILL_MACHINE) profiler-tools
unit-bin: $(UNIT_BIN)
threaded-unit-bin: $(THREADED_UNIT_BIN)
fuzz-bin: $(FUZZ_BIN)
.SECONDARY:

# what the goals of a user need; each step is quick when there is nothing to do
.PHONY: setup setup-test apps test-programs unit test demo demo-cluster
FRAMEWORKS := net8.0 net9.0 net10.0 net11.0
JOBS ?= $(shell nproc)
# for sub-makes: as many jobs as processors, unless the make above hands out the jobs
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

setup:
	@tests/setup/install.sh build

setup-test:
	@tests/setup/install.sh build test
	@tests/setup/kubectl.sh
	@tests/setup/apiserver.sh
	@tests/setup/from_npm.sh

apps: ## publish the sample .NET applications into build/apps/ and build/apps-names/
	@tests/apps/publish.sh --app all $(FRAMEWORKS)
	@PYTHONPATH=. python3 -m tests.lib.platforms musl

# what most Python suites drive; tests/run.py has the others built beside the first tests (tests/lib/builds.py)
test-programs: all
	+$(MAKE) --no-print-directory $(PARALLEL) all test-tools
	+$(MAKE) --no-print-directory $(PARALLEL) faults-programs
.PHONY: arm64-programs asan-programs tsan-programs smoke-programs
arm64-programs: $(if $(shell command -v aarch64-linux-gnu-gcc),arm64-tools)
asan-programs:
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=asan all unit-bin failures-suite-bin
tsan-programs:
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=tsan threaded-unit-bin
smoke-programs:
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=smoke fuzz-bin

FUZZ_SECONDS ?= 3600
FUZZ_ROUND ?= 600
FUZZ_JOBS ?= $(JOBS)
.PHONY: fuzz fuzz-coverage
fuzz: ## until every fuzzer has run FUZZ_SECONDS (3600) on these sources, in rounds of FUZZ_ROUND (600), FUZZ_JOBS at a time; ONLY=name chooses
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=fuzz fuzz-bin
	@python3 tests/fuzz/long/fuzz.py run --seconds $(FUZZ_SECONDS) --round $(FUZZ_ROUND) --jobs $(FUZZ_JOBS) $(ONLY)

fuzz-coverage: ## what the fuzzers' inputs reach of the parsers, into docs/fuzzing.md
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=cover fuzz-bin
	@python3 tests/fuzz/long/fuzz.py coverage

# programs whose sessions wait at the steps that a test names (common/base/step.h)
.PHONY: faults-programs faults
faults-programs: all
	+$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=faults build/faults/drdotnet build/faults/drdotnet-agent build/faults/drdotnet-controller

faults: setup-test ## every fault at every step of a session: three quarters of an hour
	+@$(MAKE) --no-print-directory $(PARALLEL) apps all test-tools faults-programs
	@PYTHONPATH=. python3 tests/resilience/faults/every_step.py

.PHONY: runtimes
runtimes: setup-test ## tests of profilers that the suite runs on the newest runtime only, on .NET 8 and 9 as well
	+@DRDOTNET_EVERY_RUNTIME=1 $(MAKE) --no-print-directory $(PARALLEL) apps all test-tools
	@DRDOTNET_EVERY_RUNTIME=1 python3 tests/run.py --only tests.system.threads. --only tests.system.stucktasks. --only tests.system.slowrequests. \
		--only tests.system.deadlocks. --only tests.system.waits. --only tests.system.cpu.test_lines --only tests.system.starts. \
		--only tests.system.e2e.test_launch --only tests.system.leak.test_background --only tests.system.walk.test_walk

ifdef T
# a room ("agent/jobs"), or a module ("agent/jobs/spool", "spool")
T_SRC := $(or $(wildcard tests/unit/$(T)/test_*.c),$(filter %/test_$(patsubst test_%,%,$(notdir $(T))).c,$(UNIT_SRC)), \
	$(error T=$(T): no unit test of that name))
T_BIN := $(patsubst tests/%.c,build/asan/%,$(T_SRC))
unit:
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=asan $(T_BIN)
	@$(foreach program,$(T_BIN),echo $(program) && $(program) &&) true
else
unit: setup-test ## the unit tests only; T=agent/jobs builds and runs those of one room, T=spool of one module
	@python3 tests/run.py --only unit/
endif

.PHONY: check
check: ## the style tests, and the unit tests of what has changed since the commit SINCE (HEAD)
	@python3 tests/check.py

.PHONY: compile_commands.json
compile_commands.json: ## for editors and clang-tidy
	@$(MAKE) -Bnk V=1 FLAVOUR=asan all unit-bin | python3 tests/helpers/compile_commands.py > $@

.PHONY: tidy
tidy: compile_commands.json ## clang-tidy (.clang-tidy) on the sources; T=agent/jobs chooses a folder
	+@$(MAKE) --no-print-directory FLAVOUR=asan generated
	@run-clang-tidy-14 -quiet -j$(JOBS) '^$(CURDIR)/$(or $(T),(agent|common|controller|profiler))/'

test: setup-test ## all tests; ONLY=text chooses
	+@$(MAKE) --no-print-directory $(PARALLEL) apps test-programs
	@python3 tests/run.py $(if $(ONLY),--only '$(ONLY)')

.PHONY: check-fresh
check-fresh: ## what a fresh machine makes of a clone of HEAD: `make demo` and a short `make test` in a new Debian; before a release. ONLY=text chooses
	@tests/setup/fresh.sh $(ONLY)

.PHONY: corpus
corpus: ## all sick and healthy sample applications on each runtime, held against the truth: an hour. CORPUS_OPTIONS go to the program
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/apps/publish.sh --app CorpusApp $(FRAMEWORKS)
	@PYTHONPATH=. python3 tests/corpus/run.py $(CORPUS_OPTIONS)

.PHONY: platforms-arm64
platforms-arm64: ## the twelve profilers, once each, in an emulated kernel of arm64; writes tests/platforms/results/arm64.json. ARM64_SECONDS at most
	+@PYTHONPATH=. tests/platforms/arm64/run.sh $(ARM64_SECONDS)

demo: setup ## the sample session on a sample .NET application, without a cluster
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/demo/local.py

demo-cluster: ## the sample session through controller and agent, on a real API server
	@tests/setup/install.sh build test
	@tests/setup/kubectl.sh
	@test -n "$$KUBECONFIG" || tests/setup/apiserver.sh
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/apps/publish.sh net10.0
	@PYTHONPATH=. python3 tests/demo/cluster.py
