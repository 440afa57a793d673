PROFILER_SRC := $(sort $(wildcard profiler/*.c profiler/*/*.c))

# The library is loaded into processes of any libc: nothing linked, no symbol that only one libc has (fortified calls, stack
# protector, C99 scanf), no thread-local storage, no outline atomics. Its symbols are resolved by the process it is loaded into.
# Of its name and its search path the agent makes, in the file for a process with musl, a need for itself (agent/attach/named_library.h).
PROFILER_CFLAGS := -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -ffunction-sections -fno-omit-frame-pointer -fno-stack-protector \
	-U_FORTIFY_SOURCE -fno-plt $(WARN)
PROFILER_LDFLAGS := -shared -nostdlib -Wl,-z,now,-z,relro,-z,noexecstack -Wl,--gc-sections -Wl,--hash-style=both \
	-Wl,--version-script=profiler/exports.map -Wl,-soname,libdrdotnet-0000000000000000.so -Wl,-rpath,'$$ORIGIN'
PROFILER_CC := $(if $(filter fuzz,$(FLAVOUR)),gcc,$(CC))
PROFILER_CFLAGS += $(if $(filter aarch64%,$(CROSS)),-mno-outline-atomics)
# For tests: a process that is to load it preloads the runtimes of both sanitizers. It is not where a program finds its library by itself.
PROFILER_LIB := $(B)/libdrdotnet.so
ifeq ($(FLAVOUR),asan)
PROFILER_CFLAGS += -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
PROFILER_SANITIZED := sanitized
PROFILER_LIB := $(B)/checked/libdrdotnet.so
endif
PROFILER_OBJ = $(patsubst %.c,$(B)/obj/profiler-lib/%.o,$(PROFILER_SRC) $(PROTO_SRC))

$(B)/obj/profiler-lib/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(PROFILER_CC) -I. -D_GNU_SOURCE -DDRDOTNET_VERSION='"$(VERSION)"' $(PROFILER_CFLAGS) -MMD -MP -c -o $@ $<

$(PROFILER_LIB): $(PROFILER_OBJ) profiler/exports.map profiler/check-library
	@mkdir -p $(@D)
	$(if $(PROFILER_SANITIZED),@rm -f $(B)/libdrdotnet.so)
	$(call say,LD,$@)
	$(Q)$(PROFILER_CC) $(PROFILER_CFLAGS) $(PROFILER_LDFLAGS) -o $@.part $(PROFILER_OBJ)
	$(Q)OBJDUMP=$$($(PROFILER_CC) -print-prog-name=objdump) profiler/check-library $@.part $(PROFILER_SANITIZED)
	$(Q)mv -f $@.part $@

# arm64: the library, and the agent's end of its channel as objects. Tests run what of it an emulator can run (tests/system/profiler).
ARM64_CC ?= aarch64-linux-gnu-gcc
ARM64_OBJ = $(patsubst %.c,$(B)/obj/profiler-arm64/%.o,$(PROFILER_SRC) $(PROTO_SRC))
ARM64_CHANNEL_SRC := agent/attach/profiler_channel.c agent/attach/code_client.c $(wildcard agent/attach/channel_*.c) agent/attach/function_cache.c \
	common/base/index_set.c common/base/err.c common/base/mem.c common/base/buf.c common/base/clock.c common/base/log.c common/base/text.c
ARM64_CHANNEL_OBJ = $(patsubst %.c,$(B)/obj/arm64/%.o,$(ARM64_CHANNEL_SRC) $(PROTO_SRC))

$(B)/obj/profiler-arm64/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (arm64))
	$(Q)$(ARM64_CC) -I. -D_GNU_SOURCE -DDRDOTNET_VERSION='"$(VERSION)"' $(PROFILER_CFLAGS) -mno-outline-atomics -MMD -MP -c -o $@ $<

$(B)/obj/arm64/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (arm64))
	$(Q)$(ARM64_CC) -I. -D_GNU_SOURCE -DDRDOTNET_VERSION='"$(VERSION)"' -std=gnu11 -O2 -g -fPIC -fno-omit-frame-pointer $(WARN) -MMD -MP -c -o $@ $<

$(B)/arm64/libdrdotnet.so: $(ARM64_OBJ) profiler/exports.map profiler/check-library
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(ARM64_CC) $(PROFILER_CFLAGS) -mno-outline-atomics $(PROFILER_LDFLAGS) -o $@.part $(ARM64_OBJ)
	$(Q)OBJDUMP=$$($(ARM64_CC) -print-prog-name=objdump) profiler/check-library $@.part
	$(Q)mv -f $@.part $@

.PHONY: arm64
arm64: $(B)/arm64/libdrdotnet.so $(ARM64_CHANNEL_OBJ) ## cross-compile the profiler library and the agent's end of its channel for arm64
