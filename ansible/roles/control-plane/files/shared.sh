# Beside their keys, what all API servers of the cluster share and kubeadm does not make. Made on the first control plane;
# the others get it with the keys. A reset of kubeadm clears it.
shared=$R/etc/kubernetes/pki/matryoshka

# forget_other_keys: those that an earlier try made with other settings are not mixed with what is made now.
forget_other_keys() {
  [ ! -e "$shared/made-with" ] || [ "$(cat "$shared/made-with")" = "$MADE_WITH" ] ||
    remove_tree /etc/kubernetes/pki -mindepth 1 -maxdepth 1
}

# make_shared: on the first control plane, before it starts.
make_shared() {
  mkdir -p "$shared" || exit 1
  write_file "$shared/made-with" 600 "$MADE_WITH"$'\n' || exit 1
  # Without `identity`: what is in etcd is encrypted, or is not taken for a Secret.
  [ -z "$ENCRYPTION_AT_REST" ] || write_file "$shared/encryption.yaml" 600 "apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
            - name: key1
              secret: $(head -c 32 /dev/urandom | base64 -w0)
" || exit 1
  rm -rf "$shared/patches"
  local name content
  while read -r name content; do
    [ -n "$name" ] || continue
    content=$(printf %s "$content" | base64 -d && echo .) || fail "patch $name is no base64"
    write_file "$shared/patches/$name" 600 "${content%.}" || exit 1
  done <<< "$PATCHES"
  [ -z "$AUDIT_POLICY" ] || write_file "$shared/audit-policy.yaml" 600 "$AUDIT_POLICY"$'\n' || exit 1
  prepare_audit_log
}

# prepare_audit_log: on each control plane where there is a policy. What is logged goes with the cluster.
prepare_audit_log() {
  [ -e "$shared/audit-policy.yaml" ] || return 0
  own dir /var/log/kubernetes tree /var/log/kubernetes/audit
  mkdir -p "$R/var/log/kubernetes/audit" || exit 1
}
