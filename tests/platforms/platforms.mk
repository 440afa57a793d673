# What tests on other platforms need. Alpine: what a .NET for musl loads here, where musl-gcc is there to make it (tests/lib/musl.py).
MUSL_LIBRARIES := $(B)/tests/musl
ifneq ($(shell command -v musl-gcc),)
TOOL_BIN += $(MUSL_LIBRARIES)/libshim.so
endif

# A library of glibc needs its loader by name: there it finds nothing under it.
$(MUSL_LIBRARIES)/libshim.so: tests/platforms/musl/shim.c
	@mkdir -p $(@D)
	$(call say,CC,$< (musl))
	$(Q)cp -L $$($(CC) -print-file-name=libstdc++.so.6) $$($(CC) -print-file-name=libgcc_s.so.1) $(@D)/
	$(Q)musl-gcc -shared -fPIC -nostartfiles -Wl,-soname,ld-linux-x86-64.so.2 -o $(@D)/ld-linux-x86-64.so.2 -x c /dev/null
	$(Q)musl-gcc -std=gnu11 -O2 $(filter-out -Wmissing-prototypes,$(WARN)) -shared -fPIC -o $@.part $<
	$(Q)mv -f $@.part $@

.PHONY: platforms
platforms: setup-test ## what each profiler tells, on another platform: PLATFORM=musl
	+@$(MAKE) --no-print-directory $(PARALLEL) all test-tools
	@PYTHONPATH=. nice python3 -u tests/platforms/run.py $(or $(PLATFORM),musl)$(if $(ONLY), --only $(ONLY))
