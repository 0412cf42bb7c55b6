# Runs an etcd member beside this control plane, as a static pod that kubeadm describes.
umask 077
mkdir -p "$state" || exit 1
trap 'rm -rf /etc/kubernetes/etcd.new "$state/etcd.yaml"' EXIT
own tree /var/lib/etcd
mkdir -p /var/lib/etcd || exit 1
bring_programs
write_file "$state/etcd.yaml" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR//etc/kubernetes/pki}"$'\n' || exit 1
phase() { out=$(kubeadm init phase "$@" --config "$state/etcd.yaml" 2>&1) || fail "$*: $(tail -3 <<< "$out")"; }
for certificate in etcd-server etcd-peer etcd-healthcheck-client apiserver-etcd-client; do phase certs $certificate; done
enter /var/lib/etcd
manifest=/etc/kubernetes/manifests/etcd.yaml new=/etc/kubernetes/etcd.new
if [ -n "$initial" ] || [ ! -e $manifest ]; then
  # kubeadm writes the manifest elsewhere first. The kubelet would start it at once, as the first member of a new etcd.
  rm -rf $new
  mkdir -p $new || exit 1
  KUBEADM_INIT_DRYRUN_DIR=$new phase etcd local --dry-run
  # With data, it starts as the member that it was.
  text=$(sed -e "${initial:+s#^\( *- --initial-cluster=\).*#\1$initial#}" $new/etcd.yaml) &&
    [ -n "$text" ] || fail "kubeadm wrote no manifest of etcd; see that there is room in /etc/kubernetes"
  write_file $manifest 600 "$text"$'\n' || exit 1
  rm -rf $new
  changed $manifest
fi
# A member that was removed again must not run beside this control plane. If no member answers, the others may still count
# it.
( promote ) || { none_of "$IP" && rm -f $manifest; exit 1; }
rm -f "$state/etcd.yaml"
forget_programs
