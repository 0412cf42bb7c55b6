# The programs of etcd, out of its image; they run as a unit of their own, without a kubelet.
systemctl is-active -q containerd || systemctl start containerd
unpack etcd "$ETCD_IMAGE" || true
