# Issues certificates for external etcd members, signed by the CA on this control plane. `anew` says that the cluster does
# not exist yet: then certificates of an earlier attempt are worthless.
umask 077
mkdir -p "$state" || exit 1
# These files contain keys.
trap 'rm -rf "$state/etcd-certificates" "$state/certificates.yaml"' EXIT
# In a renewal or a restore, the API servers may wait for these certificates.
if [ -z "$HAS_AUTHORITIES" ] && ! await_joined; then
  [ -n "$CREATES" ] || fail 'by what stands on it this host is no control plane of the cluster; nothing was changed'
  begin_anew
  # CAs of an earlier attempt may use another algorithm.
  remove_tree /etc/kubernetes/pki -mindepth 1 -maxdepth 1 || exit 1
  result anew yes
fi
pki=/etc/kubernetes/pki
issue() { # FOLDER CONFIG PHASE…
  local folder=$1 config=$2 phase out; shift 2
  write_file "$state/certificates.yaml" 600 "${config//CERTIFICATES_DIR/$folder}"$'\n' || exit 1
  for phase; do
    out=$(kubeadm init phase certs "$phase" --config "$state/certificates.yaml" 2>&1) || fail "$phase: $(tail -3 <<< "$out")"
  done
  rm -f "$state/certificates.yaml"
}
[ -s $pki/etcd/ca.key ] || issue $pki "$KUBEADM_CONFIG" etcd-ca
[ -s $pki/apiserver-etcd-client.key ] || issue $pki "$KUBEADM_CONFIG" apiserver-etcd-client
while read -r address config; do
  [ -n "$address" ] || continue
  folder=$state/etcd-certificates
  rm -rf "$folder"
  said=$({ mkdir -p "$folder/etcd" && cp $pki/etcd/ca.crt $pki/etcd/ca.key "$folder/etcd/"; } 2>&1) || unfinished "$folder" "$said" "$folder"
  issue "$folder" "${config//DOCUMENT/$'\n---\n'}" etcd-server etcd-peer
  result "pki_$address" "$(tar -C "$folder/etcd" -czf - ca.crt {server,peer}.{crt,key} | base64 -w0)"
  rm -rf "$folder"
  changed "certificates of the member at $address"
done <<< "$MEMBERS"
