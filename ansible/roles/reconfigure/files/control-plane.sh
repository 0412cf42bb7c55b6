# Changes the settings of this control plane: what API servers share, the certificate of the API server, the manifests, and the
# kubelet's configuration. If any of it does not become ready, all of it is undone.
umask 077
mkdir -p "$state" || exit 1
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
pki=$kubernetes/pki new=$R$kubernetes/.renew.matryoshka documents=$state/reconfigure.yaml
trap 'rm -rf "$new" "$documents"' EXIT
rm -rf "$new"
said=$({ mkdir -p "$new/pki/etcd" "$new/manifests" && cp -p "$R$pki"/{ca,front-proxy-ca}.{crt,key} "$new/pki/" && cp -p "$R$pki"/etcd/ca.{crt,key} "$new/pki/etcd/"; } 2>&1) ||
  unfinished "${new#"$R"}" "$said"
keep_former
# undone WHY: ends the script after all was put back.
undone() {
  undo_settings || fail "these settings do not work, and the former ones do not become ready either; repair the cluster: $1"
  fail "these settings do not work, and the former ones are back on this host: $1"
}
init_phase() { # CERTIFICATES-DIR ARGUMENT…
  local folder=$1 out; shift
  write_file "$documents" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR/$folder}"$'\n' || exit 1
  out=$(kubeadm init phase "$@" --config "$documents" 2>&1 < /dev/null) || undone "kubeadm init phase $*: $(tail -3 <<< "$out")"
}
# Each file is noted before it is put in place, so that an attempt that is cut short in between can be undone.
live=$shared shared=$new/matryoshka
make_settings
shared=$live
for file in audit-policy.yaml made-with patches; do [ ! -e "$new/matryoshka/$file" ] || keep_made "$pki/matryoshka/$file" "$new/matryoshka/$file"; done
for file in audit-policy.yaml made-with patches; do
  said=$({ if [ -d "$live/$file" ] || [ ! -e "$new/matryoshka/$file" ]; then rm -rf "${live:?}/$file"; fi &&
    { [ ! -e "$new/matryoshka/$file" ] || { mkdir -p "$live" && mv -fT "$new/matryoshka/$file" "$live/$file"; }; }; } 2>&1) || undone "$pki/matryoshka/$file cannot be written: ${said##*: }"
done

# The API server reads its certificate when the files change.
names() { openssl x509 -noout -ext subjectAltName -in "$1"; } # FILE
init_phase "$new/pki" certs apiserver
if ! command -v openssl > /dev/null || [ "$(names "$R$pki/apiserver.crt")" != "$(names "$new/pki/apiserver.crt")" ]; then
  for file in apiserver.{crt,key}; do [ -s "$new/pki/$file" ] || undone "kubeadm wrote no $file"; done
  for file in apiserver.{crt,key}; do keep_made "$pki/$file" "$new/pki/$file"; done
  said=$({ sync -f "$new" && mv -fT "$new/pki/apiserver.key" "$R$pki/apiserver.key" && mv -fT "$new/pki/apiserver.crt" "$R$pki/apiserver.crt" && sync -f "$R$pki"; } 2>&1) ||
    undone "$pki/apiserver.crt cannot be written: ${said##*: }"
  changed 'certificate of the API server'
fi

export KUBEADM_INIT_DRYRUN_DIR=$new/manifests
init_phase "$R$pki" control-plane all --dry-run
unset KUBEADM_INIT_DRYRUN_DIR
for pod in $components; do
  [ -s "$new/manifests/$pod.yaml" ] || undone "kubeadm wrote no manifest of $pod"
  keep_made "$kubernetes/manifests/$pod.yaml" "$new/manifests/$pod.yaml"
  # The API server reads its policy only at its start.
  if ! cmp -s "$R$kubernetes/manifests/$pod.yaml" "$new/manifests/$pod.yaml" ||
    { [ "$pod" = kube-apiserver ] && ! is_former $pki/matryoshka/audit-policy.yaml; }; then
    start_with "$pod" "$new/manifests/$pod.yaml"
    changed "$pod: restart"
  fi
  await_pod "$pod" 180 || undone "$pod does not become ready: $(tail -n 1 "$(ls -t /var/log/pods/kube-system_"$pod"-*/"$pod"/*.log 2> /dev/null | head -1)" 2> /dev/null | cut -c 1-300)"
done

# After these settings have started once, the cluster has them for hosts that join and for upgrades.
if [ -n "$APPLIES" ]; then
  keep_config_maps "$former" || undone 'the ConfigMaps kubeadm-config and kubelet-config of kube-system cannot be read'
  init_phase "$R$pki" upload-config all --kubeconfig /etc/kubernetes/admin.conf
  keep_config_maps "$made" || undone 'the ConfigMaps kubeadm-config and kubelet-config of kube-system cannot be read'
fi
take_kubelet_config || undone "$why"
for try in $(seq 240); do healthy && break; sleep 0.5; done
healthy || undone 'the API server of this control plane is not ready'
drop_former
# Balancers use an API server again after two answers a second apart. The next control plane waits for that.
sleep 3
did changed
