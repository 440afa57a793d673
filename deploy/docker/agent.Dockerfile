# docker build -f deploy/docker/agent.Dockerfile -t drdotnet-agent:$(cat VERSION) .
FROM debian:12-slim AS build
WORKDIR /src
COPY tests/setup/install.sh tests/setup/
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && tests/setup/install.sh build \
	&& rm -rf /var/lib/apt/lists/*
COPY . .
RUN make -j"$(nproc)" && deploy/rootfs.sh agent /rootfs

# Nothing but the program and what it is linked with: no shell, no package manager.
FROM scratch
COPY --from=build /rootfs/ /
# Capabilities come from the DaemonSet; Kubernetes gives them to uid 0 only.
USER 0:0
ENTRYPOINT ["/usr/bin/drdotnet-agent"]
