# Ends the control plane of this host, and keeps its keys and etcd's data in before-restore. It asks no API server: etcd may
# have lost its quorum, or all of its members.
umask 077
kept=$work/before-restore
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
mkdir -p "$state" || exit 1
own tree /var/lib/etcd
mkdir -p /var/lib/etcd || exit 1
systemctl stop kubelet 2>/dev/null
for component in kube-apiserver etcd kube-controller-manager kube-scheduler; do
  for container in $(ctr -n k8s.io containers ls -q "labels.\"io.kubernetes.container.name\"==$component,labels.\"io.kubernetes.pod.namespace\"==kube-system" 2>/dev/null); do
    ctr -n k8s.io tasks kill -s SIGKILL "$container" 2>/dev/null
  done
done
# A restore that did not finish has kept the data of before already.
if [ ! -e "$kept" ] || [ -e "$kept/finished" ]; then
  said=$({ rm -rf "$kept.new" && mkdir -p "$kept.new/etcd" "$kept.new/kubernetes" &&
    { [ ! -d /etc/kubernetes ] || cp -a /etc/kubernetes/. "$kept.new/kubernetes/"; } && sync -f "$kept.new" &&
    rm -rf "$kept" && mv -T "$kept.new" "$kept"; } 2>&1) || unfinished "$kept" "$said" "$kept.new"
fi
# Before any data moves: if this ends here, a later attempt or a restart of the host must not start an etcd without data. The
# reset must find no member either, since it would ask etcd to remove it.
rm -rf /etc/matryoshka/joined /etc/kubernetes/manifests /etc/kubernetes/*.conf
# Until this mark exists, etcd's folder has only data of before. What was copied halfway is still there, and is copied again.
if [ ! -e "$kept/complete" ]; then
  while IFS= read -r -d '' entry; do
    said=$({ rm -rf "${kept:?}/etcd/${entry##*/}" && mv -t "$kept/etcd" "$entry"; } 2>&1) || unfinished "$kept" "$said"
  done < <(find /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found -print0)
  write_file "$kept/complete" 600 $'yes\n' || exit 1
  changed "the former data of etcd is in $kept"
fi
kubeadm reset -f --cleanup-tmp-dir > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found || exit 1
write_resolv_conf
changed 'the control plane was stopped'
