# Root file systems of the images, without Docker (deploy/rootfs.sh), and what is made of other files.
.PHONY: rootfs crds chart
rootfs: all ## root file systems of the images into build/rootfs/
	@mkdir -p build/rootfs
	@for role in controller agent cli; do rm -rf build/rootfs/$$role && deploy/rootfs.sh $$role build/rootfs/$$role $(B) && du -sh build/rootfs/$$role; done

# These are in the tree because users apply them from there; tests/system/crd and deploy hold them to their sources. The chart links to them.
crds chart: ## bring up to date what is made of crds/ and deploy/monitoring/: definitions without CEL, the dashboard, the PrometheusRule
	@crds/generate.py
	@deploy/monitoring/make.py

.PHONY: image-check
ARCH ?= $(shell dpkg --print-architecture 2>/dev/null)
image-check: ## carry the Dockerfile out without Docker for ARCH, into build/images/: some minutes
	@mkdir -p build/images
	@PYTHONPATH=. python3 -m tests.system.deploy.dockerfile $(ARCH) build/images

.PHONY: sbom
sbom: all ## bills of materials of the programs (CycloneDX; `make release` has them as SPDX, too) into build/$(FLAVOUR)/sbom/
	@deploy/sbom.py $(B)

.PHONY: rbac
rbac: setup-test ## take each right of the controller away in turn and see what breaks, into docs/rbac.md: some minutes
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@PYTHONPATH=. python3 -m tests.system.deploy.rights

# Static: they run in the containers of the tests, whatever libraries those have.
STATIC_HELPERS := $(B)/tests/under-seccomp $(B)/tests/try-calls
$(B)/tests/under-seccomp: $(B)/obj/tests/helpers/under_seccomp.o
$(B)/tests/try-calls: $(B)/obj/tests/helpers/try_calls.o
$(STATIC_HELPERS):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -static $(CFLAGS_$(FLAVOUR)) -o $@ $^ -lseccomp -ljansson
test-tools: $(STATIC_HELPERS)

# Where a packager wants it: make install DESTDIR=... PREFIX=/usr
.PHONY: install uninstall release
PREFIX ?= /usr/local
DESTDIR ?=
TO = $(DESTDIR)$(PREFIX)
COMPLETIONS = $(TO)/share/bash-completion/completions
ZSH_COMPLETIONS = $(TO)/share/zsh/site-functions
FISH_COMPLETIONS = $(TO)/share/fish/vendor_completions.d
MAN = $(TO)/share/man/man1
install: all ## programs, the profiler's library, completion and man pages into DESTDIR and PREFIX (/usr/local)
	install -d $(TO)/bin $(TO)/lib/drdotnet $(COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS) $(MAN) $(TO)/share/doc/drdotnet
	install -m 755 $(PROGRAMS) $(TO)/bin/
	install -m 755 deploy/completion/kubectl_complete-drdotnet $(TO)/bin/
	install -m 644 $(B)/libdrdotnet.so $(TO)/lib/drdotnet/
	install -m 644 deploy/completion/drdotnet.bash $(COMPLETIONS)/drdotnet
	install -m 644 deploy/completion/_drdotnet $(ZSH_COMPLETIONS)/
	install -m 644 deploy/completion/drdotnet.fish $(FISH_COMPLETIONS)/
	install -m 644 LICENSE README.md $(TO)/share/doc/drdotnet/
	@for program in $(notdir $(PROGRAMS)); do \
		deploy/man.sh $(if $(CROSS),build/release,$(B))/$$program > $(MAN)/$$program.1 && chmod 644 $(MAN)/$$program.1 || exit 1; done

uninstall: ## what `make install` has put there
	rm -f $(addprefix $(TO)/bin/,$(notdir $(PROGRAMS)) kubectl_complete-drdotnet) $(COMPLETIONS)/drdotnet
	rm -f $(ZSH_COMPLETIONS)/_drdotnet $(FISH_COMPLETIONS)/drdotnet.fish
	rm -f $(addprefix $(MAN)/,$(addsuffix .1,$(notdir $(PROGRAMS))))
	rm -rf $(TO)/lib/drdotnet $(TO)/share/doc/drdotnet

# Release files, without Docker: deploy/release.py. Without DRAFT=1 only where each fuzzer has run for an hour on these sources.
# The other architecture too, where tests/setup/cross.sh has brought its compiler and libraries.
RELEASE = build/dist
OTHER := $(filter-out $(shell dpkg --print-architecture 2>/dev/null),amd64 arm64)
CAN_CROSS = $(and $(shell command -v $(GNU_$(OTHER))-gcc),$(wildcard build/sysroot-$(OTHER)))
STAGE = $(abspath $(RELEASE))/stage/drdotnet-$(VERSION)-linux-
release: all ## archives, images, chart, manifests, bills of materials, provenance and checksums into build/dist/, signed with the keys that it is given
	$(if $(DRAFT),@echo 'release: a draft: nobody asked how long the fuzzers have run',@python3 tests/fuzz/long/record.py)
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	+@$(MAKE) -s --no-print-directory install DESTDIR= PREFIX=$(STAGE)$(ARCH) > /dev/null
	+$(if $(CAN_CROSS),@$(MAKE) -s --no-print-directory ARCH=$(OTHER) install DESTDIR= PREFIX=$(STAGE)$(OTHER) > /dev/null, \
		@echo 'release: without $(OTHER), whose compiler or libraries are not there: tests/setup/cross.sh $(OTHER)')
	@REVISION=$$(git rev-parse HEAD 2> /dev/null) SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2> /dev/null)} \
		deploy/release.py $(RELEASE) $(ARCH)=$(B) $(if $(CAN_CROSS),$(OTHER)=build/release-$(GNU_$(OTHER)))
