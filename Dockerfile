# Node and the npm package built from this checkout. The image contains no build tools.
# For repeatable builds, give the base image by digest: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:...
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts --include=dev --no-audit --no-fund \
 && npm pack --pack-destination /tmp \
 && mv /tmp/offpeak-*.tgz /tmp/offpeak.tgz

FROM ${NODE_IMAGE}
RUN --mount=type=bind,from=build,source=/tmp/offpeak.tgz,target=/tmp/offpeak.tgz \
    npm install --global --ignore-scripts --no-audit --no-fund /tmp/offpeak.tgz \
 && npm cache clean --force \
 && install --directory --owner node --group node --mode 0700 /data
# Save memory for a little more CPU (docs/sizing.md).
ENV MALLOC_ARENA_MAX=2 NODE_OPTIONS=--max-semi-space-size=16
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8080
# `drain` is 25 seconds: stop the container with at least --stop-timeout 30.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OFFPEAK_PORT || process.env.PORT || 8080}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["offpeak"]
CMD ["serve", "--host", "0.0.0.0", "--data", "/data"]
