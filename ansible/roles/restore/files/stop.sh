# Ends the control plane of this host, and keeps its keys and etcd's data (keep.sh). It asks no API server: etcd may have lost
# its quorum, or all of its members.
umask 077
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
mkdir -p "$state" || exit 1
[ -z "$HAS_ETCD" ] || own tree /var/lib/etcd
systemctl stop kubelet 2>/dev/null
for component in kube-apiserver etcd kube-controller-manager kube-scheduler; do
  for container in $(ctr -n k8s.io containers ls -q "labels.\"io.kubernetes.container.name\"==$component,labels.\"io.kubernetes.pod.namespace\"==kube-system" 2>/dev/null); do
    ctr -n k8s.io tasks kill -s SIGKILL "$container" 2>/dev/null
  done
done
keep_files "$R/etc/kubernetes" kubernetes
# Before any data moves: if this ends here, a later attempt or a restart of the host must not start an etcd without data. The
# reset must find no member either, since it would ask etcd to remove it.
rm -rf "$R/etc/matryoshka/joined" "$R/etc/kubernetes/manifests" "$R"/etc/kubernetes/*.conf
if [ -n "$HAS_ETCD" ]; then keep_data; else write_file "$kept/complete" 600 $'yes\n' || exit 1; fi
# The phase that is left out would empty etcd's folder with the former data.
kubeadm reset -f --cleanup-tmp-dir --skip-phases=remove-etcd-member > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
[ -z "$HAS_ETCD" ] || remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore || exit 1
write_resolv_conf
changed 'the control plane was stopped'
