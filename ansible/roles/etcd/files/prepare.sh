# The programs of etcd, out of its image; they run as a unit of their own, without a kubelet.
unpack etcd "$ETCD_IMAGE"
version etcd "$("$work/etcd/usr/local/bin/etcd" --version | sed -n 's/^etcd Version: /v/p')"
version containerd "$(containerd --version | awk '{ print $3 }')"
did prepared
