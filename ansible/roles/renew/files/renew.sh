# Issues all certificates and kubeconfigs of this control plane again, with new keys, by the authorities on this host. The API
# server and etcd read certificates when the files change or at each connection. So only the controller manager and the
# scheduler restart, which read their kubeconfigs at their start.
take_up || exit 1
pki=$kubernetes/pki pods='kube-controller-manager kube-scheduler'
# A run that was cut off may have left a pod without its manifest. take_up leaves it to its copy.
for pod in $pods; do
  of_pod=$kubernetes/manifests/$pod.yaml
  [ ! -s "$R$of_pod" ] && noted "pod $pod" || continue
  [ -n "$(copy_of "$of_pod")" ] || fail "$of_pod is missing, and there is no copy of it; replace the host"
  put_copy "$of_pod"
done
# The kubelet, kubeadm and the drift agent ignore this folder. A rename from there replaces a file at once.
new=$R$kubernetes/.renew.matryoshka config=$state/renew.yaml
trap 'rm -rf "$new" "$config"' EXIT
# Whether the certificate that the API server shows is the one in the file. Without openssl it cannot be compared.
shows_new() {
  command -v openssl > /dev/null || return 0
  [ "$(openssl s_client -connect "$(in_url "$IP"):6443" < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint -sha256 2> /dev/null)" = \
    "$(openssl x509 -noout -fingerprint -sha256 -in "$R$pki/apiserver.crt")" ]
}
serves() {
  curl -s --cacert "$R$pki/ca.crt" -m 3 --noproxy '*' "https://$(in_url "$IP"):6443/readyz" | grep -qx ok && shows_new &&
    { [ -z "$ETCD_HERE" ] || answers "$IP"; }
}
# Refuses new certificates that their authority has not signed, such as by a key of another one.
check_issued() { # FILE
  local authority=ca
  case $1 in
    pki/etcd/* | pki/apiserver-etcd-client.crt) authority=etcd/ca ;;
    pki/front-proxy-client.crt) authority=front-proxy-ca ;;
  esac
  openssl verify -CAfile "$R$pki/$authority.crt" "$new/$1" > /dev/null 2>&1 ||
    fail "$pki/$authority.key is not the key of $pki/$authority.crt; copy both from another control plane, and ask again; nothing was changed on this host"
}
served=
! healthy || served=yes

rm -rf "$new"
said=$({ mkdir -p "$new/pki/etcd" && cp -p "$R$pki"/{ca,front-proxy-ca}.{crt,key} "$new/pki/" && cp -p "$R$pki"/etcd/ca.{crt,key} "$new/pki/etcd/"; } 2>&1) ||
  unfinished "${new#"$R"}" "$said"
write_file "$config" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR/$new/pki}"$'\n' || exit 1
issue() {
  local out
  out=$(kubeadm init phase "$@" --config "$config" 2>&1 < /dev/null) || fail "kubeadm init phase $*: $(tail -3 <<< "$out")"
}
files=()
for name in apiserver apiserver-kubelet-client front-proxy-client apiserver-etcd-client ${ETCD_HERE:+etcd/server etcd/peer etcd/healthcheck-client}; do
  files+=("pki/$name".{crt,key})
done
for name in admin super-admin controller-manager scheduler; do
  # Only the first control plane has it.
  [ "$name" != super-admin ] || [ -e "$R$kubernetes/super-admin.conf" ] || continue
  files+=("$name.conf")
done
# kubeadm also writes some that are not used here, such as the kubelet's. With small keys, each of its starts would take longer.
issue certs all
issue kubeconfig all --kubeconfig-dir "$new"
# A full disk leaves empty files.
for file in "${files[@]}"; do
  [ -s "$new/$file" ] || fail "kubeadm wrote no $file; see that there is room in $kubernetes; nothing was changed on this host"
  case $file in *.crt) ! command -v openssl > /dev/null || check_issued "$file" ;; esac
done
said=$(sync -f "$new" 2>&1) || unfinished "${new#"$R"}" "$said"

for pod in $pods; do [ ! -s "$R$kubernetes/manifests/$pod.yaml" ] || note "pod $pod"; done
begin_exchange "${files[@]/#/$kubernetes/}"
for file in "${files[@]}"; do
  said=$(mv -fT "$new/$file" "$R$kubernetes/$file" 2>&1) || { take_up; unfinished "$kubernetes/$file" "$said"; }
done
sync -f "$R$kubernetes"
drop_exchanged
# Without its kubelet, this host starts no static pod.
if ! command -v openssl > /dev/null || ends_soon "$certificate"; then
  pair=$(issue_kubelet "$NODE_NAME" "$config") || exit 1
  put_kubelet "$pair"
fi
changed "certificates and kubeconfigs: ${#files[@]} files"

# An API server signs a certificate for itself at its start, valid for three years.
is_old() {
  local pid; pid=$(ctr -n k8s.io tasks ls | awk -v id="$(running 'labels."io.kubernetes.container.name"==kube-apiserver')" 'id != "" && $1 == id { print $2 }')
  [ -n "$pid" ] && [ -n "$(find "/proc/$pid" -maxdepth 0 -mtime +365 2> /dev/null)" ]
}
! is_old || { note 'pod kube-apiserver'; pods="$pods kube-apiserver"; }
declare -A exchanging_pods=()
for pod in $pods; do
  of_pod=$R$kubernetes/manifests/$pod.yaml copy=$R$kubernetes/.$pod.matryoshka
  # It is not run here.
  [ -s "$of_pod" ] || { done_with "pod $pod"; continue; }
  said=$({ cp -pT "$of_pod" "$copy" && cmp "$of_pod" "$copy" && sync "$copy"; } 2>&1) || unfinished "${copy#"$R"}" "$said" "$copy"
  protected_exchange "$pod" "$copy" & exchanging_pods[$pod]=$!
done
for pod in "${!exchanging_pods[@]}"; do
  wait "${exchanging_pods[$pod]}" || fail "$pod does not end; see the kubelet of this host, and ask again"
done
for pod in "${!exchanging_pods[@]}"; do
  for try in $(seq 240); do runs "$pod" && break; sleep 0.5; done
  runs "$pod" || fail "$pod does not start again"
  done_with "pod $pod"; changed "$pod restarted"
done
did changed
# An API server without a quorum of etcd gets one when the other control planes are renewed.
[ -n "$served" ] || exit 0
for try in $(seq 180); do serves && break; sleep 0.5; done
serves || fail 'the API server or the etcd member of this control plane does not become ready with its new certificates'
