# Root file systems of the images, without Docker (deploy/rootfs.sh), and the chart's copy of the definition.
.PHONY: rootfs crds chart
rootfs: all ## root file systems of the images into build/rootfs/
	@mkdir -p build/rootfs
	@for role in controller agent; do rm -rf build/rootfs/$$role && deploy/rootfs.sh $$role build/rootfs/$$role $(B) && du -sh build/rootfs/$$role; done

# A chart holds all that it renders, a PrometheusRule its rules: copies, which tests/deploy holds to their sources.
crds chart: ## bring up to date what is made of crds/ and deploy/monitoring/: copies without CEL, the chart's, the dashboard
	@crds/generate.py
	@deploy/monitoring/make.py
	@cp deploy/monitoring/rules.yaml deploy/monitoring/dashboard.json helm/drdotnet/files/

.PHONY: sbom
sbom: all ## bills of materials of the programs (CycloneDX) into build/$(FLAVOUR)/sbom/
	@deploy/sbom.py $(B)

.PHONY: rbac
rbac: setup-test ## take each right of the controller away in turn and see what breaks, into docs/rbac.md: some minutes
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@PYTHONPATH=. python3 -m tests.deploy.rights

# Static: they run in the containers of the tests, whatever libraries those have.
STATIC_HELPERS := $(B)/tests/under-seccomp $(B)/tests/try-calls
$(B)/tests/under-seccomp: $(B)/obj/tests/helpers/under_seccomp.o
$(B)/tests/try-calls: $(B)/obj/tests/helpers/try_calls.o
$(STATIC_HELPERS):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -static $(CFLAGS_$(FLAVOUR)) -o $@ $^ -lseccomp -ljansson
test-tools: $(STATIC_HELPERS)
