# Root file systems of the images, without Docker (deploy/rootfs.sh), and the chart's copy of the definition.
.PHONY: rootfs chart
rootfs: all ## root file systems of the images into build/rootfs/
	@mkdir -p build/rootfs
	@for role in controller agent; do rm -rf build/rootfs/$$role && deploy/rootfs.sh $$role build/rootfs/$$role $(B) && du -sh build/rootfs/$$role; done

chart: ## bring the chart's copy of crds/ up to date
	@cp crds/*.yaml helm/drdotnet/crds/
