# The operator: controller, server, webhook, artifact server and proxy of Ingresses. They are one bundle, with a subcommand
# for each.
# Context: dist/ of the checkout, with node beside the bundle.
FROM debian:trixie-slim
# HAProxy serves Ingresses. No other program here runs it.
RUN apt-get update && apt-get install -y --no-install-recommends haproxy && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY dist/node /usr/local/bin/node
COPY dist/matryoshka.js /opt/matryoshka/matryoshka.js
COPY dist/static /opt/matryoshka/static
COPY dist/page /opt/matryoshka/page
COPY dist/proto /opt/matryoshka/proto
COPY dist/host /opt/matryoshka/host
USER 10001:10001
# glibc keeps an arena for each thread, and memory that start-up freed stays in them.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
# The share is of the container's limit. The rest is for buffers, TLS and code; without it the kernel would end the process.
# The young generation may grow to 48 MiB by default, and an operator creates little garbage.
ENTRYPOINT ["/usr/local/bin/node", "--max-old-space-size-percentage=65", "--max-semi-space-size=4", "/opt/matryoshka/matryoshka.js"]
