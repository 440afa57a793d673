# Unit tests: every tests/unit/*/test_*.c is one criterion program; `make unit` runs them under ASan and UBSan.
# Fuzzers: every tests/fuzz/fuzz_*.c is one libFuzzer program; corpora in tests/fuzz/corpus/<name>/.
UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
$(UNIT_BIN): $(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/libagent.a $(B)/libcontroller.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(B)/libcontroller.a $(B)/libagent.a $(B)/libcommon.a -lcriterion $(PKG_LIBS) -lm

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
$(FUZZ_BIN): $(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(B)/libagent.a $(B)/libcontroller.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $< $(B)/libcontroller.a $(B)/libagent.a $(B)/libcommon.a $(PKG_LIBS) -lm

.PHONY: unit-bin fuzz-bin
unit-bin: $(UNIT_BIN)
fuzz-bin: $(FUZZ_BIN)
.SECONDARY:
