# Changes the settings of this control plane: what API servers share, the certificate of the API server, the manifests, and the
# kubelet's configuration. Finished work stays. A component that does not become ready gets its former manifest back.
umask 077
mkdir -p "$state" || exit 1
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
take_up || exit 1
pki=$kubernetes/pki new=$R$kubernetes/.renew.matryoshka documents=$state/reconfigure.yaml
trap 'rm -rf "$new" "$documents"' EXIT
make_settings
rm -rf "$new"
said=$({ mkdir -p "$new/pki/etcd" "$new/manifests" && cp -p "$R$pki"/{ca,front-proxy-ca}.{crt,key} "$new/pki/" && cp -p "$R$pki"/etcd/ca.{crt,key} "$new/pki/etcd/"; } 2>&1) ||
  unfinished "${new#"$R"}" "$said"
init_phase() { # CERTIFICATES-DIR ARGUMENT…
  local folder=$1 out; shift
  write_file "$documents" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR/$folder}"$'\n' || exit 1
  out=$(kubeadm init phase "$@" --config "$documents" 2>&1 < /dev/null) || fail "kubeadm init phase $*: $(tail -3 <<< "$out")"
}

# The API server reads its certificate when the files change.
names() { openssl x509 -noout -ext subjectAltName -in "$1"; } # FILE
init_phase "$new/pki" certs apiserver
if [ "$(names "$R$pki/apiserver.crt")" != "$(names "$new/pki/apiserver.crt")" ]; then
  files=("$pki"/apiserver.{crt,key})
  for file in "${files[@]}"; do [ -s "$new${file#"$kubernetes"}" ] || fail "kubeadm wrote no ${file##*/}; nothing was changed on this host"; done
  begin_exchange "${files[@]}"
  for file in "${files[@]}"; do
    said=$(mv -fT "$new${file#"$kubernetes"}" "$R$file" 2>&1) || { take_up; unfinished "$file" "$said"; }
  done
  sync -f "$R$kubernetes"
  drop_exchanged
  changed 'certificate of the API server'
fi

export KUBEADM_INIT_DRYRUN_DIR=$new/manifests
init_phase "$R$pki" control-plane all --dry-run
unset KUBEADM_INIT_DRYRUN_DIR
is_ready() { # POD
  runs "$1" && healthy && [ "$(kubectl -n kube-system get pod "$1-$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]
}
await_pod() { local try; for try in $(seq "$2"); do ! is_ready "$1" || return 0; sleep 0.5; done; return 1; } # POD TRIES
start_with() { # POD FILE
  local copy=$R$kubernetes/.$1.matryoshka said
  said=$({ cp -T "$2" "$copy" && cmp "$2" "$copy" && chmod 600 "$copy" && sync "$copy"; } 2>&1) || unfinished "${copy#"$R"}" "$said" "$copy"
  protected_exchange "$1" "$copy" || fail "$1 does not end; see the kubelet of this host, and ask again"
}
for pod in kube-apiserver kube-controller-manager kube-scheduler; do
  present=$R$kubernetes/manifests/$pod.yaml former=$state/$pod.former
  [ -s "$new/manifests/$pod.yaml" ] || fail "kubeadm wrote no manifest of $pod; nothing of it was changed on this host"
  if ! cmp -s "$present" "$new/manifests/$pod.yaml"; then
    said=$(cp -pT "$present" "$former" 2>&1) || unfinished "$former" "$said" "$former"
    start_with "$pod" "$new/manifests/$pod.yaml"
    if ! await_pod "$pod" 180; then
      said=$(tail -n 1 "$(ls -t /var/log/pods/kube-system_"$pod"-*/"$pod"/*.log 2> /dev/null | head -1)" 2> /dev/null | cut -c 1-300)
      start_with "$pod" "$former"
      await_pod "$pod" 240
      fail "$pod does not become ready with these settings; its former manifest is back on this host: ${said:-it left no log}"
    fi
    changed "$pod: new manifest"
  fi
  # An interrupted attempt may have left it on its way.
  await_pod "$pod" 240 || fail "$pod of this control plane is not ready"
done

# After these settings have started once, the cluster has them for hosts that join and for upgrades.
if [ -n "$APPLIES" ]; then
  former=$(kubectl -n kube-system get configmap kubelet-config -o 'jsonpath={.data.kubelet}') || fail "the cluster's kubelet-config cannot be read"
  put_back() {
    kubectl -n kube-system create configmap kubelet-config --from-literal=kubelet="$former" --dry-run=client -o yaml | kubectl replace -f - > /dev/null
  }
  init_phase "$R$pki" upload-config all --kubeconfig /etc/kubernetes/admin.conf
  (take_kubelet_config) || { put_back; exit 1; }
else
  take_kubelet_config
fi
for try in $(seq 240); do healthy && break; sleep 0.5; done
healthy || fail 'the API server of this control plane is not ready'
# Balancers use an API server again after two answers a second apart. The next control plane waits for that.
sleep 3
did changed
