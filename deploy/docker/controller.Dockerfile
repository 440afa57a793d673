# docker build -f deploy/docker/controller.Dockerfile -t drdotnet-controller:$(cat VERSION) .
FROM debian:12-slim AS build
WORKDIR /src
COPY tests/setup/install.sh tests/setup/
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && tests/setup/install.sh build \
	&& rm -rf /var/lib/apt/lists/*
COPY . .
RUN make -j"$(nproc)" && deploy/rootfs.sh controller /rootfs

# Nothing but the program and what it is linked with: no shell, no package manager.
FROM scratch
COPY --from=build /rootfs/ /
USER 65532:65532
ENTRYPOINT ["/usr/bin/drdotnet-controller"]
