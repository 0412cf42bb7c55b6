# Ends the control plane of this host, and keeps its keys and etcd's data in a folder of this operation in before-restore. It
# asks no API server: etcd may have lost its quorum, or all of its members.
umask 077
data=$R/var/lib/etcd
kept=$work/before-restore/$SEQUENCE
# On a disk of its own the data is only renamed, since a copy would need time, and room on another disk.
if mountpoint -q "$data"; then former=$data/.before-restore/$SEQUENCE; else former=$kept/etcd; fi
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
mkdir -p "$state" || exit 1
own tree /var/lib/etcd
mkdir -p "$data" || exit 1
systemctl stop kubelet 2>/dev/null
for component in kube-apiserver etcd kube-controller-manager kube-scheduler; do
  for container in $(ctr -n k8s.io containers ls -q "labels.\"io.kubernetes.container.name\"==$component,labels.\"io.kubernetes.pod.namespace\"==kube-system" 2>/dev/null); do
    ctr -n k8s.io tasks kill -s SIGKILL "$container" 2>/dev/null
  done
done
# A further attempt of this operation finds it.
if [ ! -e "$kept" ]; then
  said=$({ rm -rf "$kept.new" && mkdir -p "$kept.new/kubernetes" &&
    { [ ! -d "$R/etc/kubernetes" ] || cp -a "$R/etc/kubernetes/." "$kept.new/kubernetes/"; } && sync -f "$kept.new" &&
    mv -T "$kept.new" "$kept"; } 2>&1) || unfinished "$kept" "$said" "$kept.new"
fi
# Before any data moves: if this ends here, a later attempt or a restart of the host must not start an etcd without data. The
# reset must find no member either, since it would ask etcd to remove it.
rm -rf "$R/etc/matryoshka/joined" "$R/etc/kubernetes/manifests" "$R"/etc/kubernetes/*.conf
# Until this mark exists, etcd's folder has only data of before.
disk() { find "$1" -maxdepth 0 -printf %D; } # PATH
if [ ! -e "$kept/complete" ]; then
  said=$(mkdir -p "$former" 2>&1) || unfinished "$former" "$said"
  while IFS= read -r -d '' entry; do
    to=$former/${entry##*/}
    # A whole copy is there under its own name; what was copied halfway is copied again.
    if [ ! -e "$to" ] && [ "$(disk "$former")" = "$(disk "$entry")" ]; then said=$(mv -T "$entry" "$to" 2>&1) || unfinished "$former" "$said"
    elif [ ! -e "$to" ]; then
      said=$({ rm -rf "$kept/.copy" && cp -aT "$entry" "$kept/.copy" && sync -f "$kept" && mv -T "$kept/.copy" "$to" && sync -f "$kept"; } 2>&1) || unfinished "$former" "$said" "$kept/.copy"
    fi
    rm -rf "$entry"
  done < <(find "$data" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore -print0)
  write_file "$kept/complete" 600 $'yes\n' || exit 1
  changed "the former data of etcd is in $former"
fi
# The phase that is left out would empty etcd's folder with the former data.
kubeadm reset -f --cleanup-tmp-dir --skip-phases=remove-etcd-member > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore || exit 1
write_resolv_conf
changed 'the control plane was stopped'
