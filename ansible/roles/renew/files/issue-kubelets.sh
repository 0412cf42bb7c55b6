# Issues certificates for kubelets that the API server refuses.
umask 077
config=$state/kubelets.yaml
trap 'rm -f "$config"' EXIT
write_file "$config" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR//etc/kubernetes/pki}"$'\n' || exit 1
while read -r address name; do
  [ -n "$address" ] || continue
  pair=$(issue_kubelet "$name" "$config") || exit 1
  result "kubelet_$address" "$(base64 -w0 <<< "$pair")"
done <<< "$KUBELETS"
