# Our image: worker, gateway, API, kennel and every command of `fetch`, by command. docker-compose.yml runs it.
#
#   docker build -t fetch-durable:0.2.0 .
#
# Classic syntax only, so that engines without BuildKit can build it, too. BASE may be any image with Node 24, npm and apt.
ARG BASE=node:24-bookworm-slim

# the package as `npm pack` makes it
FROM ${BASE} AS package
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && npm pack --ignore-scripts --silent && mkdir /package && tar -xzf fetch-durable-*.tgz -C /package --strip-components=1

# what it needs of others, at the versions of the lock file
FROM ${BASE} AS packages
WORKDIR /opt/fetch
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json \
 && rm package-lock.json
COPY --from=package /package ./
COPY deploy/slim.js ./
RUN node slim.js && rm slim.js

FROM ${BASE}
# The kennel's host clones and pushes with git. Perl, twice as large as git itself, is only for commands of git that nobody here uses.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git \
 && dpkg --purge --force-depends $(dpkg-query --show --showformat '${Package}\n' | grep -E '^(perl|libperl5.*|perl-modules-.*|liberror-perl|git-man)$') \
 && git --version \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/debconf/*-old
COPY --from=packages /opt/fetch /opt/fetch
COPY deploy/healthy.sh deploy/first-start.sh /opt/fetch/deploy/
# a volume that is mounted here belongs to our user, too
RUN ln -s /opt/fetch/bin/fetch.js /usr/local/bin/fetch && install -d -o 1000 -g 1000 -m 0700 /var/lib/fetch

# nothing is written outside of FETCH_HOME and /tmp
ENV FETCH_HOME=/var/lib/fetch FETCH_HEALTH_FILE=/tmp/fetch-health HOME=/tmp XDG_CACHE_HOME=/tmp/cache TZ=UTC NODE_ENV=production
# the settings of memory with which `fetch start` runs its roles
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072
USER 1000:1000
WORKDIR /tmp
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["sh", "/opt/fetch/deploy/healthy.sh"]
# the flags with which `fetch start` runs its roles
ENTRYPOINT ["node", "--max-semi-space-size=8", "--import=file:///opt/fetch/bin/idle-memory.js", "/opt/fetch/bin/fetch.js"]
CMD ["--help"]

ARG VERSION=0.2.0
LABEL org.opencontainers.image.title="Fetch" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="MIT" \
      fetch.sbom="/opt/fetch/sbom.cdx.json"
