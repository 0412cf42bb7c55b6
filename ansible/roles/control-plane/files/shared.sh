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
  mkdir -p "$shared"
  printf '%s\n' "$MADE_WITH" > "$shared/made-with"
  # Without `identity`: what is in etcd is encrypted, or is not taken for a Secret.
  [ -z "$ENCRYPTION_AT_REST" ] || cat > "$shared/encryption.yaml" <<Y
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
            - name: key1
              secret: $(head -c 32 /dev/urandom | base64 -w0)
Y
  rm -rf "$shared/patches"
  while read -r name content; do
    [ -n "$name" ] || continue
    mkdir -p "$shared/patches"
    base64 -d <<< "$content" > "$shared/patches/$name"
  done <<< "$PATCHES"
  [ -z "$AUDIT_POLICY" ] || printf '%s\n' "$AUDIT_POLICY" > "$shared/audit-policy.yaml"
  prepare_audit_log
}

# prepare_audit_log: on each control plane where there is a policy. What is logged goes with the cluster.
prepare_audit_log() {
  [ -e "$shared/audit-policy.yaml" ] || return 0
  own dir /var/log/kubernetes tree /var/log/kubernetes/audit
  mkdir -p "$R/var/log/kubernetes/audit"
}
