# Failure injection: the unit tests of the daemons' parts, linked with copies of the archives whose calls of the C library go through
# tests/resilience/failures/calls.c. FLAVOUR=asan only.
FAILING := $(B)/failures
FAILING_CALLS := $(B)/obj/tests/resilience/failures/calls.o
FAILING_MAIN := $(B)/obj/tests/resilience/failures/main.o $(B)/obj/tests/unit/plain_criterion.o $(FAILING_CALLS)
FAILING_LIBS := $(FAILING)/libcontroller.a $(FAILING)/libagent.a $(FAILING)/libcommon.a
FAILING_SRC := $(filter-out tests/unit/profiler/% tests/unit/common/proto/% tests/unit/controller/kubectl/%,$(UNIT_SRC))
FAILING_BIN := $(patsubst tests/unit/%.c,$(FAILING)/unit/%,$(FAILING_SRC))

$(FAILING)/renamed.txt: $(FAILING_CALLS)
	@mkdir -p $(@D)
	$(Q)nm --defined-only $< | sed -n 's/.* T failing_\(.*\)/\1 failing_\1/p' > $@
$(FAILING)/lib%.a: $(B)/lib%.a $(FAILING)/renamed.txt
	$(call say,COPY,$@)
	$(Q)objcopy --redefine-syms=$(FAILING)/renamed.txt $< $@
$(FAILING_BIN): $(FAILING)/unit/%: $(B)/obj/tests/unit/%.o $(FAILING_MAIN) $(FAILING_LIBS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -no-pie -Wl,--no-gc-sections -o $@ $< $(FAILING_MAIN) $(FAILING_LIBS) $(PKG_LIBS) -lm

# The profiler library's calls fail in a real process: a library to preload.
LIBRARY_CALLS := $(B)/profiler-tools/library_calls.so
$(LIBRARY_CALLS): tests/resilience/failures/library_calls.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -O2 -g -fPIC $(WARN) -shared -o $@ $< -ldl
test-tools: $(LIBRARY_CALLS)

# What the suite runs a part of: many calls, and none that waits.
FAILING_SUITE := $(patsubst %,$(FAILING)/unit/%,agent/jobs/test_spool agent/attach/test_stage agent/discover/test_shared_tmp \
	agent/profilers/cpu/test_report agent/symbols/test_native_symbols agent/host/test_runtime_kind agent/host/test_cgroup common/base/test_fsio \
	controller/store/test_report_store controller/store/test_object_store controller/link/test_link_pki)

.PHONY: failures-bin failures-suite-bin failures
failures-bin: $(FAILING_BIN)
failures-suite-bin: $(FAILING_SUITE)

failures: ## each allocation and system call of the daemons' unit tests and of the library fails once (FAILURES=every: each time)
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=asan failures-bin
	+@$(MAKE) --no-print-directory $(PARALLEL) all test-tools apps
	@PYTHONPATH=. python3 tests/resilience/failures/run.py $(or $(FAILURES),each)
	@PYTHONPATH=. python3 tests/resilience/failures/library.py
