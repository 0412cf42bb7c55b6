# A member of etcd beside this control plane, as a static pod that kubeadm describes.
umask 077
mkdir -p "$state"
own tree /var/lib/etcd
mkdir -p /var/lib/etcd
bring_programs
printf '%s\n' "${KUBEADM_CONFIG//CERTIFICATES_DIR//etc/kubernetes/pki}" > "$state/etcd.yaml"
phase() { kubeadm init phase "$@" --config "$state/etcd.yaml" > "$state/etcd.out" 2>&1 || fail "$*: $(tail -3 "$state/etcd.out")"; }
for certificate in etcd-server etcd-peer etcd-healthcheck-client apiserver-etcd-client; do phase certs $certificate; done
enter /var/lib/etcd
manifest=/etc/kubernetes/manifests/etcd.yaml new=/etc/kubernetes/etcd.new
if [ -n "$initial" ] || [ ! -e $manifest ]; then
  # Made elsewhere first: the kubelet would start what kubeadm writes at once, a first member instead of one more.
  mkdir -p $new
  KUBEADM_INIT_DRYRUN_DIR=$new phase etcd local --dry-run
  # With data of its own it is the member that it was.
  [ -z "$initial" ] || sed -i "s#^\( *\)- --initial-cluster=.*#\1- --initial-cluster=$initial\n\1- --initial-cluster-state=existing#" $new/etcd.yaml
  mv -f $new/etcd.yaml $manifest || fail "cannot write $manifest"
  rm -rf $new
  changed $manifest
fi
# Taken out again it must not go on beside this control plane. Where nobody answers, it may be a member that others count.
( promote ) || { none_of "$IP" && rm -f $manifest; exit 1; }
rm -f "$state/etcd.yaml"
forget_programs
