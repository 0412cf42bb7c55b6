# Client certificates of kubelets. A kubelet renews its certificate itself, unless it was off for too long: with an expired
# one it does not start (kubernetes.io, TLS bootstrapping).
certificate=/var/lib/kubelet/pki/kubelet-client-current.pem
# The kubelet's own serving certificate, which it signs itself at its first start, and never again.
serving=/var/lib/kubelet/pki/kubelet
# ends_soon FILE: whether a certificate ends within 30 days, as condition CertificatesValid counts.
ends_soon() { ! openssl x509 -noout -checkend 2592000 -in "$R$1" > /dev/null 2>&1; }
serving_ends_soon() { [ -s "$R$serving.crt" ] && command -v openssl > /dev/null && ends_soon "$serving.crt"; }
# kubelet_code: prints the HTTP status that the API server answers to the certificate of this host's kubelet: 401 if it has
# expired.
kubelet_code() {
  local server
  server=$(sed -n 's/^ *server: *//p' "$R/etc/kubernetes/kubelet.conf" | head -1)
  curl -s --noproxy '*' -m 5 --cacert "$R/etc/kubernetes/pki/ca.crt" --cert "$R$certificate" -o /dev/null -w '%{http_code}' "${server:-none}/api/v1/nodes/$NODE_NAME"
}
# issue_kubelet NAME CONFIG: prints a certificate with its key, as the API server would sign it (kubernetes.io, Node
# authorization).
issue_kubelet() {
  local out pair
  out=$(kubeadm kubeconfig user --config "$2" --client-name "system:node:$1" --org system:nodes --validity-period 8760h 2> "$state/kubelet.err") ||
    fail "kubeadm kubeconfig user: $(tail -3 "$state/kubelet.err")"
  pair=$(sed -n 's/^ *client-\(certificate\|key\)-data: *//p' <<< "$out" | while read -r part; do base64 -d <<< "$part"; done)
  case $pair in *CERTIFICATE*KEY*) printf '%s\n' "$pair" ;; *) fail "kubeadm issued no certificate for $1" ;; esac
}
# put_kubelet PAIR: replaces the client certificate, as the kubelet itself does, and restarts the kubelet. Containers go on.
put_kubelet() {
  local pem said
  pem=${certificate%/*}/kubelet-client-$(date -u +%Y-%m-%d-%H-%M-%S).pem
  write_file "$R$pem" 600 "$1"$'\n' || exit 1
  said=$({ ln -sfn "$pem" "$R$certificate.matryoshka" && mv -fT "$R$certificate.matryoshka" "$R$certificate"; } 2>&1) || unfinished "$certificate" "$said"
  restart_kubelet
}
restart_kubelet() {
  # It signs a new one.
  ! serving_ends_soon || rm -f "$R$serving".{crt,key}
  systemctl restart kubelet || fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
  changed 'certificate of the kubelet'
}
