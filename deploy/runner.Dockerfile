# The image of a Job's pod: ansibleinit as PID 1, ansible-core, OpenSSH, the playbooks.
# Context: deploy/, ansible/, dist/ of the checkout, and ca.crt if the package registry has a private CA.

FROM debian:trixie-slim AS ansible
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv ca-certificates
COPY deploy/runner-requirements.txt ca.cr[t] /tmp/
RUN python3 -m venv --without-pip /opt/ansible && python3 -m venv /tmp/pip \
    && if [ -f /tmp/ca.crt ]; then export PIP_CERT=/tmp/ca.crt; fi \
    && /tmp/pip/bin/pip --python /opt/ansible/bin/python install --no-cache-dir \
       -r /tmp/runner-requirements.txt \
    # Ansible's own tests are a third of it, and a Job runs none.
    && rm -rf /opt/ansible/lib/python3*/site-packages/ansible_test

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 openssh-client ca-certificates \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=ansible /opt/ansible /opt/ansible
# OpenSSH needs a name for its user.
RUN printf 'runner:x:10001:10001::/run/matryoshka:/usr/sbin/nologin\n' >>/etc/passwd && printf 'runner:x:10001:\n' >>/etc/group
COPY dist/node /usr/local/bin/node
COPY dist/node_modules /opt/matryoshka/node_modules
# Layers that change most often come last.
COPY ansible /opt/matryoshka/ansible
COPY dist/ansibleinit.cdx.json /usr/share/sbom/ansibleinit.cdx.json
COPY dist/ansibleinit.js dist/package.json /opt/matryoshka/
# glibc keeps an arena for each thread, and memory that is free again stays in them.
ENV PATH=/opt/ansible/bin:/usr/local/bin:/usr/bin:/bin \
    MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    LC_ALL=C.UTF-8 \
    ANSIBLE_CONFIG=/opt/matryoshka/ansible/ansible.cfg
WORKDIR /opt/matryoshka/ansible
USER 10001:10001
# Buffers of a snapshot's stream are collected earlier: half the memory, for a tenth more time of the processor.
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "/opt/matryoshka/ansibleinit.js"]
