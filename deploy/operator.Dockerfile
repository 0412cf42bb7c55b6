# The operator: controller, server, webhook, artifact server and proxy of Ingresses. They are one program, with a subcommand
# for each. HAProxy serves Ingresses; setpriv ends it with the program that starts it.
# Context: dist/ of the checkout, with node beside the bundle.
FROM debian:trixie-slim AS programs
RUN apt-get update && apt-get install -y --no-install-recommends haproxy binutils
COPY dist/node /usr/local/bin/node
# Without names of functions, node is a sixth smaller.
RUN strip --strip-unneeded /usr/local/bin/node \
    && mkdir -m 1777 -p /image/tmp && mkdir -p /image/etc \
    && for program in /usr/local/bin/node /usr/sbin/haproxy /usr/bin/setpriv; do \
         echo "$program"; ldd "$program" | grep -o '/[^ ]*'; \
       done | sort -u >/tmp/files \
    && xargs -I '{}' cp -L --parents '{}' /image </tmp/files \
    # Scanners read there which packages the files are of, as in images without a shell elsewhere.
    && mkdir -p /image/var/lib/dpkg/status.d \
    && xargs realpath </tmp/files | xargs dpkg -S 2>/dev/null | cut -d: -f1 | sort -u >/tmp/packages \
    && while read -r package; do dpkg -s "$package" >"/image/var/lib/dpkg/status.d/$package"; done </tmp/packages \
    && cp -L --parents /etc/os-release /etc/debian_version /image \
    && echo 'matryoshka:x:10001:10001::/tmp:/usr/sbin/nologin' >/image/etc/passwd \
    && echo 'matryoshka:x:10001:' >/image/etc/group

# No shell and no package manager: nothing of them has to be kept up to date, and an intruder finds none.
FROM scratch
COPY --from=programs /image /
COPY dist/matryoshka*.js dist/package.json /opt/matryoshka/
COPY dist/matryoshka.cdx.json /usr/share/sbom/matryoshka.cdx.json
COPY dist/static /opt/matryoshka/static
COPY dist/page /opt/matryoshka/page
COPY dist/proto /opt/matryoshka/proto
COPY dist/host /opt/matryoshka/host
USER 10001:10001
# glibc keeps an arena for each thread, and memory that start-up freed stays in them.
ENV PATH=/usr/local/bin:/usr/bin:/usr/sbin NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
# The share is of the container's limit. The rest is for buffers, TLS and code; without it the kernel would end the process.
# The young generation may grow to 48 MiB by default, and an operator creates little garbage.
ENTRYPOINT ["/usr/local/bin/node", "--max-old-space-size-percentage=65", "--max-semi-space-size=4", "/opt/matryoshka/matryoshka.js"]
