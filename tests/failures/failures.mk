# Failure injection: the unit tests of the daemons' parts, linked with copies of the archives whose calls of the C library go through
# tests/failures/calls.c. FLAVOUR=asan only.
FAILING := $(B)/failures
FAILING_CALLS := $(B)/obj/tests/failures/calls.o
FAILING_MAIN := $(B)/obj/tests/failures/main.o $(B)/obj/tests/unit/plain_criterion.o $(FAILING_CALLS)
FAILING_LIBS := $(FAILING)/libcontroller.a $(FAILING)/libagent.a $(FAILING)/libcommon.a
FAILING_SRC := $(filter-out tests/unit/profiler/% tests/unit/proto/%,$(UNIT_SRC))
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
	$(Q)$(CC) $(LDFLAGS) -no-pie -Wl,--no-gc-sections -o $@ $< $(FAILING_MAIN) $(FAILING_LIBS) -lcriterion $(PKG_LIBS) -lm

.PHONY: failures-bin failures
failures-bin: $(FAILING_BIN)

failures: ## every allocation and system call of the daemons' unit tests fails once; and those of the profiler library
	+@$(MAKE) --no-print-directory $(PARALLEL) FLAVOUR=asan failures-bin
	+@$(MAKE) --no-print-directory $(PARALLEL) all test-tools
	@PYTHONPATH=. python3 tests/failures/run.py every
