# The library as it is in a runtime that is newer than those it knows, and with tables that a small process fills.
PROFILER_TOOLS := $(B)/profiler-tools/newer/libdrdotnet.so $(B)/profiler-tools/little/libdrdotnet.so
NEWER_CFLAGS := -DRUNTIME_NEWEST=9
LITTLE_CFLAGS := -DHEAP_STATICS_CAP=8u -DHEAP_THREADS_CAP=4u
NEWER_SRC := $(shell grep -rlE --include='*.c' 'RUNTIME_NEWEST|runtime_known\.h' profiler)
LITTLE_SRC := $(shell grep -rlE --include='*.c' 'HEAP_(STATICS|THREADS)_CAP|heap_threads\.h' profiler)
define library_for_tests # NAME FLAGS SOURCES: these are compiled with the flags, all other objects are those of the library
$(B)/obj/profiler-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$$(Q)$$(PROFILER_CC) -I. -D_GNU_SOURCE -DDRDOTNET_VERSION='"$$(VERSION)"' $$(PROFILER_CFLAGS) $(2) -MMD -MP -c -o $$@ $$<
$(B)/profiler-tools/$(1)/libdrdotnet.so: $(patsubst %.c,$(B)/obj/profiler-$(1)/%.o,$(3)) \
		$(patsubst %.c,$(B)/obj/profiler-lib/%.o,$(filter-out $(3),$(PROFILER_SRC) $(PROTO_SRC)))
	@mkdir -p $$(@D)
	$$(Q)$$(PROFILER_CC) $$(PROFILER_CFLAGS) $$(PROFILER_LDFLAGS) -o $$@ $$^
endef
$(eval $(call library_for_tests,newer,$(NEWER_CFLAGS),$(NEWER_SRC)))
$(eval $(call library_for_tests,little,$(LITTLE_CFLAGS),$(LITTLE_SRC)))

# The command, to which such a runtime is new, too.
PROFILER_TOOLS += $(B)/profiler-tools/newer/drdotnet
$(B)/obj/agent-newer/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (newer))
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(NEWER_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/profiler-tools/newer/drdotnet: $(call obj,$(DRDOTNET_MAIN)) $(B)/obj/agent-newer/agent/host/engine_support.o $(B)/libagent.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm

# What tests/system/profiler uses: a driver of the agent's end of the channel, another profiler, a library with signal handlers, one
# that forks, one that makes locks slow, one that makes walks slow, one that keeps a process from reading its own memory,
# one that keeps the library from a thread, and a loader linked with musl.
PROFILER_TOOLS += $(B)/profiler-tools/channel_driver $(B)/profiler-tools/other_profiler.so \
	$(B)/profiler-tools/listening_profiler.so $(B)/profiler-tools/own_handler.so $(B)/profiler-tools/no_memory.so $(B)/profiler-tools/no_thread.so \
	$(B)/profiler-tools/forking.so $(B)/profiler-tools/slow_lock.so $(B)/profiler-tools/slow_walk.so $(B)/profiler-tools/passing_profiler.so \
	$(B)/profiler-tools/load_check $(if $(shell command -v musl-gcc),$(B)/profiler-tools/load_check_musl)

$(B)/profiler-tools/channel_driver: $(patsubst %,$(B)/obj/tests/system/profiler/%.o,channel_driver driver_allocs) $(B)/libagent.a $(B)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm

$(B)/profiler-tools/%.so: tests/system/profiler/%.c tests/system/profiler/little_profiler.h profiler/clr/cor_abi.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -shared -o $@ $< -ldl

$(B)/profiler-tools/load_check $(B)/profiler-tools/load_check_musl: tests/system/profiler/load_check.c $(PROTO_SRC)
	@mkdir -p $(@D)
	$(if $(findstring musl,$@),musl-gcc,$(CC)) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -o $@ $^ $(if $(findstring musl,$@),,-ldl)


# The library's modules as an archive, for its unit tests and fuzzers (the library itself is compiled with flags of its own).
PROFILER_UNIT_BIN := $(filter $(B)/unit/profiler/%,$(UNIT_BIN)) $(B)/fuzz/fuzz_signature $(B)/fuzz/fuzz_metadata $(B)/fuzz/fuzz_allocation_event \
	$(B)/fuzz/fuzz_exception_event $(B)/fuzz/fuzz_request_event
$(B)/libprofiler.a: $(patsubst %.c,$(B)/obj/$(if $(PROFILER_SANITIZED),profiler-lib/)%.o,$(PROFILER_SRC)) profiler/sources.mk
$(PROFILER_UNIT_BIN): $(B)/libprofiler.a
$(PROFILER_UNIT_BIN): private PKG_LIBS += $(B)/libprofiler.a $(B)/libcommon.a

# arm64: the same unit tests (with the plain runner), the loader and the fuzzers' seeds, for an emulator.
# The emulator has neither ptrace(2), nor timers on the CPU clocks of threads, nor TCP_INFO.
ARM64_UNIT := $(filter-out tests/unit/profiler/stacks/test_thread_timers.c tests/unit/profiler/requests/test_unanswered.c,\
	$(filter tests/unit/profiler/% tests/unit/common/proto/%,$(UNIT_SRC)))
ARM64_TOOLS := $(patsubst tests/unit/%.c,$(B)/arm64/unit/%,$(ARM64_UNIT)) $(B)/arm64/load_check \
	$(B)/arm64/replay_channel $(B)/arm64/replay_wire $(B)/arm64/replay_signature
arm64_objects = $(patsubst %.c,$(B)/obj/arm64/%.o,$(1))
ARM64_ALL = $(ARM64_OBJ) $(call arm64_objects,$(ARM64_CHANNEL_SRC))

$(B)/obj/arm64/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(call say,CC,$< (arm64))
	$(Q)$(ARM64_CC) -I. -D_GNU_SOURCE -DDRDOTNET_VERSION='"$(VERSION)"' -std=gnu11 -O1 -fPIC -fno-omit-frame-pointer $(WARN) -MMD -MP -c -o $@ $<
$(B)/arm64/libtested.a: $(ARM64_ALL)
$(B)/arm64/unit/%: $(B)/obj/arm64/tests/unit/%.o $(B)/obj/arm64/tests/unit/plain_main.o $(B)/obj/arm64/tests/unit/plain_criterion.o \
		$(B)/arm64/libtested.a
	@mkdir -p $(@D)
	$(ARM64_CC) -pthread -o $@ $^
$(B)/arm64/load_check: $(call arm64_objects,tests/system/profiler/load_check.c $(PROTO_SRC))
	@mkdir -p $(@D)
	$(ARM64_CC) -o $@ $^
$(B)/arm64/replay_%: $(B)/obj/arm64/tests/fuzz/fuzz_%.o $(B)/obj/arm64/tests/system/profiler/replay_main.o $(B)/arm64/libtested.a
	@mkdir -p $(@D)
	$(ARM64_CC) -pthread -o $@ $^


SOAK_SECONDS ?= 600
.PHONY: soak-profiler
soak-profiler: profiler-tools ## sessions in real processes for SOAK_SECONDS (600): nothing may stay, however they end
	@PYTHONPATH=. python3 tests/system/profiler/soak.py --seconds $(SOAK_SECONDS)

CHECKED_SECONDS ?= 600
.PHONY: soak-checked
soak-checked: all profiler-tools ## sessions for CHECKED_SECONDS (600) in real processes whose memory is checked: sanitizers, malloc's own checks
	+@$(MAKE) --no-print-directory FLAVOUR=asan build/asan/checked/libdrdotnet.so
	@PYTHONPATH=. python3 tests/system/profiler/checked.py --seconds $(CHECKED_SECONDS)

# A stand-in for a runtime, where none can be had: with glibc, with musl, and for arm64 (see test_portable.py).
FAKE_RUNTIME := tests/system/profiler/fake_runtime.c $(PROTO_SRC)
FAKE_CFLAGS := -I. -D_GNU_SOURCE -std=gnu11 -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls $(WARN) -rdynamic -pthread
PROFILER_TOOLS += $(B)/profiler-tools/fake_runtime $(if $(shell command -v musl-gcc),$(B)/profiler-tools/fake_runtime_musl)
$(B)/profiler-tools/fake_runtime: $(FAKE_RUNTIME) profiler/clr/cor_abi.h common/proto/channel.h
	@mkdir -p $(@D)
	$(CC) $(FAKE_CFLAGS) -o $@ $(FAKE_RUNTIME) -ldl
$(B)/profiler-tools/fake_runtime_musl: $(FAKE_RUNTIME) profiler/clr/cor_abi.h common/proto/channel.h
	@mkdir -p $(@D)
	musl-gcc $(FAKE_CFLAGS) -o $@ $(FAKE_RUNTIME)
ARM64_TOOLS += $(B)/arm64/fake_runtime $(B)/arm64/fake_diagnostics
$(B)/arm64/fake_runtime: $(FAKE_RUNTIME) profiler/clr/cor_abi.h common/proto/channel.h
	@mkdir -p $(@D)
	$(ARM64_CC) $(FAKE_CFLAGS) -o $@ $(FAKE_RUNTIME)

$(B)/arm64/fake_diagnostics: $(call arm64_objects,tests/helpers/fake_diagnostics.c)
	@mkdir -p $(@D)
	$(ARM64_CC) -pthread -o $@ $^

.PHONY: profiler-tools
profiler-tools: $(PROFILER_LIB) $(PROFILER_TOOLS)

.PHONY: arm64-tools
arm64-tools: arm64 $(ARM64_TOOLS)
