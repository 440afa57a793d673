# Dr-Dotnet for Kubernetes. One Makefile, not recursive; what each part is built of: <part>/sources.mk.
#
#   make               release binaries in build/release/
#   make FLAVOUR=asan  the same with AddressSanitizer and UBSan (also: debug, tsan)
#   make demo          the sample session against a sample .NET application
#   make test          all tests
#   make help          the other targets
#   make V=1           show the commands
FLAVOUR ?= release
Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)  $(2)')
VERSION := $(shell cat VERSION)

# ARCH=arm64 (or amd64): with the cross-compiler and Debian's libraries of that architecture, which tests/setup/cross.sh brings
GNU_amd64 := x86_64-linux-gnu
GNU_arm64 := aarch64-linux-gnu
CC := gcc
PKG_CONFIG := pkg-config
ifneq ($(filter-out $(shell dpkg --print-architecture 2>/dev/null),$(ARCH)),)
CROSS := $(or $(GNU_$(ARCH)),$(error ARCH=$(ARCH): neither amd64 nor arm64))
SYSROOT := $(CURDIR)/build/sysroot-$(ARCH)
CC := $(CROSS)-gcc --sysroot=$(SYSROOT)
AR := $(CROSS)-ar
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
endif
B := build/$(FLAVOUR)$(CROSS:%=-%)
CLANG ?= $(or $(shell command -v clang || command -v clang-14),clang)
PKGS := libcurl jansson yaml-0.1 libwebsockets openssl zlib libprotobuf-c glib-2.0 libarchive libpcre2-8 lua5.4
ifeq ($(shell $(PKG_CONFIG) --exists $(PKGS) 2>/dev/null && echo yes),yes)
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS))
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)) -lev
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wundef \
	-Wformat=2 -Wwrite-strings -Wno-format-nonliteral
# Defects that no test has met do no harm to a heap: what was not set is zero, a stack that overflows meets its guard, and what writes past an
# object of known size ends.
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero
CFLAGS_debug := -O0 -g3
CFLAGS_asan := -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan := -O0 -g1 -fsanitize=thread
CFLAGS_faults := -O1 -g -DDRDOTNET_FAULTS
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CFLAGS_smoke := -O0 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CFLAGS_cover := -O1 -g -fprofile-instr-generate -fcoverage-mapping -fsanitize=fuzzer-no-link
ifneq ($(filter fuzz smoke cover,$(FLAVOUR)),)
CC := $(CLANG)
endif
# In the library, which is in other people's processes, no number wraps but in functions marked WRAPS (common/proto/difference.h).
ifneq ($(filter fuzz smoke,$(FLAVOUR)),)
$(B)/obj/profiler/%.o: CFLAGS += -fsanitize=unsigned-integer-overflow
endif
ifneq ($(filter asan smoke,$(FLAVOUR)),)
LINKER := $(if $(shell command -v $(CROSS:%=%-)ld.gold),-fuse-ld=gold)
endif
CPPFLAGS := -I. -I$(B)/gen -D_GNU_SOURCE -DDRDOTNET_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
CFLAGS := -std=gnu11 -fPIC -fno-omit-frame-pointer -ffunction-sections $(WARN) $(CFLAGS_$(FLAVOUR))
LDFLAGS := -Wl,-z,defs -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,--as-needed -pthread $(LINKER) $(CFLAGS_$(FLAVOUR))

# The flavour faults has its own objects of what has steps (common/base/step.h) only; all others are those of the release build.
STEPPED := $(if $(filter faults,$(FLAVOUR)),$(shell grep -rl --include='*.c' 'common/base/step\.h"' common agent controller))
obj = $(foreach source,$(1),$(if $(filter faults,$(FLAVOUR)),$(if $(filter $(source),$(STEPPED)),$(B),build/release),$(B))/obj/$(source:.c=.o))

.DEFAULT_GOAL := all
include common/sources.mk
include profiler/sources.mk
include agent/sources.mk
include controller/sources.mk
include tests/tests.mk
-include deploy/deploy.mk

# objects and archives -------------------------------------------------------------------------------------------
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

ifeq ($(FLAVOUR),faults)
build/release/obj/%.o: %.c
	+$(Q)$(MAKE) --no-print-directory FLAVOUR=release $@
endif

# protocol buffers: generated, then compiled with the compiler's own style
gen_c = $(patsubst %.proto,$(B)/gen/%.pb-c.c,$(1))
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(B)/gen
	$(call say,GEN,$<)
	$(Q)protoc-c --c_out=$(B)/gen $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(B)/obj/agent/stacks/report_pprof.o: | $(call gen_c,$(AGENT_PROTO))
$(B)/obj/agent/report/report_view.o: $(wildcard agent/report/assets/*)
$(patsubst %.c,$(B)/obj/%.o,$(wildcard agent/profilers/*/*_report.c)): $(wildcard agent/profilers/*/*_view.js)
$(B)/obj/agent/cli/cli_completion.o: $(wildcard deploy/completion/*)

# the web page: every file of common/web_ui/ that is not C, compressed, and the list of them
PAGE_FILES := $(sort $(filter-out %.c %.h,$(wildcard common/web_ui/*)))
PAGE_GZ := $(patsubst common/web_ui/%,$(B)/gen/page/%.gz,$(PAGE_FILES))
$(PAGE_GZ): $(B)/gen/page/%.gz: common/web_ui/%
	@mkdir -p $(@D)
	$(call say,GZIP,$<)
	$(Q)gzip -9nc $< > $@
$(B)/gen/page/files.h: common/web_ui
	@mkdir -p $(@D)
	$(Q)for file in $(sort $(notdir $(PAGE_FILES))); do \
		echo "PAGE_FILE($$(echo $$file | tr -c 'a-z0-9\n' _), \"$$file\")"; done > $@
$(B)/obj/common/web_ui/page_files.o: $(B)/gen/page/files.h $(PAGE_GZ)
$(B)/obj/common/web_ui/page_files.o: CPPFLAGS += -DPAGE_FOLDER='"$(B)/gen/page/"'

# the catalogue of findings: every YAML file of catalogue/, and the list of them
CATALOGUE_FILES := $(sort $(wildcard catalogue/*/*.yaml))
$(B)/gen/catalogue/files.h: $(sort $(wildcard catalogue catalogue/*/))
	@mkdir -p $(@D)
	$(Q)for file in $(CATALOGUE_FILES:catalogue/%=%); do \
		echo "CATALOGUE_FILE($$(echo $$file | tr -c 'A-Za-z0-9\n' _), \"$$file\")"; done > $@
$(B)/obj/agent/catalogue/catalogue.o: $(B)/gen/catalogue/files.h $(CATALOGUE_FILES)

$(B)/obj/common/rest/rest_openapi.o: common/rest/openapi.json

$(B)/libcommon.a: $(call obj,$(COMMON_SRC)) common/sources.mk
$(B)/libagent.a: $(call obj,$(AGENT_SRC)) $(patsubst %.c,%.o,$(call gen_c,$(AGENT_PROTO))) agent/sources.mk
$(B)/libcontroller.a: $(call obj,$(CONTROLLER_SRC)) controller/sources.mk
$(B)/libkubectl.a: $(call obj,$(KUBECTL_SRC)) controller/sources.mk
$(B)/obj/controller/kubectl/doctor_schemas.o: $(wildcard crds/*.yaml crds/legacy/*.yaml)
%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# programs -------------------------------------------------------------------------------------------------------
PROGRAMS := $(B)/drdotnet $(B)/drdotnet-agent $(B)/drdotnet-controller $(B)/kubectl-drdotnet
$(B)/drdotnet: $(call obj,$(DRDOTNET_MAIN)) $(B)/libagent.a $(B)/libcommon.a
$(B)/drdotnet-agent: $(call obj,$(AGENT_MAIN)) $(B)/libagent.a $(B)/libcommon.a
$(B)/drdotnet-controller: $(call obj,$(CONTROLLER_MAIN)) $(B)/libcontroller.a $(B)/libcommon.a
$(B)/kubectl-drdotnet: $(call obj,$(KUBECTL_MAIN)) $(B)/libkubectl.a $(B)/libcontroller.a $(B)/libcommon.a
$(PROGRAMS):
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm

.PHONY: all programs help clean
programs: $(PROGRAMS)

all: programs $(PROFILER_LIB) ## build everything into build/$(FLAVOUR)/

.PHONY: generated
generated: $(call gen_c,$(AGENT_PROTO)) $(B)/gen/page/files.h $(PAGE_GZ) $(B)/gen/catalogue/files.h

.PHONY: build-folder
build-folder:
	@echo $(B)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

clean: ## remove build/
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
