# Unpacks the programs of etcd from its image. They run as a separate unit, without a kubelet.
systemctl is-active -q containerd || systemctl start containerd
unpack etcd "$ETCD_IMAGE" || true
