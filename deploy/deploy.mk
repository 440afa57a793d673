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
sbom: all ## bills of materials of the programs (CycloneDX) into build/$(FLAVOUR)/sbom/
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
.PHONY: install uninstall dist
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
	@for program in $(notdir $(PROGRAMS)); do deploy/man.sh $(B)/$$program > $(MAN)/$$program.1 && chmod 644 $(MAN)/$$program.1 || exit 1; done

uninstall: ## what `make install` has put there
	rm -f $(addprefix $(TO)/bin/,$(notdir $(PROGRAMS)) kubectl_complete-drdotnet) $(COMPLETIONS)/drdotnet
	rm -f $(ZSH_COMPLETIONS)/_drdotnet $(FISH_COMPLETIONS)/drdotnet.fish
	rm -f $(addprefix $(MAN)/,$(addsuffix .1,$(notdir $(PROGRAMS))))
	rm -rf $(TO)/lib/drdotnet $(TO)/share/doc/drdotnet

# The same commit and build, the same archives: names, owners and times are fixed.
DIST := drdotnet-$(VERSION)
TAR := tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(or $(SOURCE_DATE_EPOCH),0) \
	--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime
dist: all sbom ## archives of the programs, the deployment and the chart, with their checksums, into build/dist/
	@rm -rf build/dist && mkdir -p build/dist/stage/$(DIST)-linux-$(ARCH)/sbom build/dist/stage/$(DIST)-deploy
	@$(MAKE) -s --no-print-directory install DESTDIR= PREFIX=$(CURDIR)/build/dist/stage/$(DIST)-linux-$(ARCH) > build/dist/install.log
	@cp $(B)/sbom/*.json build/dist/stage/$(DIST)-linux-$(ARCH)/sbom/
	@cp -r --parents crds deploy/manifests deploy/manifests-legacy deploy/manifests-shared-tmp deploy/kustomize deploy/monitoring deploy/samples \
		deploy/seccomp docs LICENSE build/dist/stage/$(DIST)-deploy/
	@find build/dist/stage -name __pycache__ -prune -exec rm -r {} +
	@cd build/dist/stage && for folder in *; do $(TAR) -c $$folder | gzip -9n > ../$$folder.tar.gz; done
	@$(TAR) -C helm -hc drdotnet | gzip -9n > build/dist/drdotnet-chart-$(VERSION).tgz
	@rm -rf build/dist/stage build/dist/install.log && cd build/dist && sha256sum * > SHA256SUMS && cat SHA256SUMS
