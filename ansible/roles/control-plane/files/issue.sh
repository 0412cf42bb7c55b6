# Certificates for members of etcd on hosts of their own, signed with the authority on this control plane. Whether the
# cluster is still to be made says `anew`: then what members hold of an earlier try is worth nothing.
umask 077
mkdir -p "$state"
if ! await_joined; then
  [ -n "$CREATES" ] || fail 'by what stands on it this host is no control plane of the cluster; nothing was changed'
  begin_anew
  # Authorities of an earlier try may be of another algorithm.
  remove_tree /etc/kubernetes/pki -mindepth 1 -maxdepth 1 || exit 1
  result anew yes
fi
pki=/etc/kubernetes/pki
issue() { # FOLDER CONFIG PHASE…
  local folder=$1 config=$2 phase; shift 2
  printf '%s\n' "${config//CERTIFICATES_DIR/$folder}" > "$state/certificates.yaml"
  for phase; do
    kubeadm init phase certs "$phase" --config "$state/certificates.yaml" > "$state/certificates.out" 2>&1 ||
      fail "$phase: $(tail -3 "$state/certificates.out")"
  done
  rm -f "$state/certificates.yaml"
}
[ -s $pki/etcd/ca.key ] || issue $pki "$KUBEADM_CONFIG" etcd-ca
[ -s $pki/apiserver-etcd-client.key ] || issue $pki "$KUBEADM_CONFIG" apiserver-etcd-client
while read -r address config; do
  [ -n "$address" ] || continue
  folder=$state/etcd-certificates
  rm -rf "$folder"; mkdir -p "$folder/etcd"
  cp $pki/etcd/ca.crt $pki/etcd/ca.key "$folder/etcd/"
  issue "$folder" "${config//DOCUMENT/$'\n---\n'}" etcd-server etcd-peer
  result "pki_$address" "$(tar -C "$folder/etcd" -czf - ca.crt {server,peer}.{crt,key} | base64 -w0)"
  rm -rf "$folder"
  changed "certificates of the member at $address"
done <<< "$MEMBERS"
