# What a Job's pod runs: ansibleinit as PID 1, ansible-core, OpenSSH, the playbooks.
# Context: deploy/, ansible/, dist/ of the checkout and, where the way to the package registry has its own
# authority, ca.crt (`lab/main.ts runner-image` lays it out so).

FROM debian:trixie-slim AS ansible
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv ca-certificates
COPY deploy/runner-requirements.txt ca.cr[t] /tmp/
RUN python3 -m venv --without-pip /opt/ansible && python3 -m venv /tmp/pip \
    && if [ -f /tmp/ca.crt ]; then export PIP_CERT=/tmp/ca.crt; fi \
    && /tmp/pip/bin/pip --python /opt/ansible/bin/python install --no-cache-dir --no-binary :none: \
       -r /tmp/runner-requirements.txt \
    # Test and galaxy parts of ansible-core, which a Job never runs.
    && rm -rf /opt/ansible/lib/python3*/site-packages/ansible_test

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 openssh-client ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=ansible /opt/ansible /opt/ansible
COPY ansible /opt/matryoshka/ansible
ENV PATH=/opt/ansible/bin:/usr/local/bin:/usr/bin:/bin \
    LC_ALL=C.UTF-8 \
    ANSIBLE_CONFIG=/opt/matryoshka/ansible/ansible.cfg
WORKDIR /opt/matryoshka/ansible
# Node and the bundle of ansibleinit go here, last, because they change most often.
