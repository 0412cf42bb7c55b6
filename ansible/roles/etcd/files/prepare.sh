# Prepares an external host for an etcd member.
version etcd "$("$work/etcd/usr/local/bin/etcd" --version | sed -n 's/^etcd Version: /v/p')"
version containerd "$(containerd --version | awk '{ print $3 }')"
did prepared
