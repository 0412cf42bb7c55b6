# Files that all API servers of the cluster share and kubeadm does not write. The first control plane writes them, and the
# others get them with the keys. A reset by kubeadm removes them.
shared=$R/etc/kubernetes/pki/matryoshka

# forget_other_keys: deletes keys that an earlier attempt made with other settings, so that they do not mix with new ones.
forget_other_keys() {
  [ ! -e "$shared/made-with" ] || [ "$(cat "$shared/made-with")" = "$MADE_WITH" ] ||
    remove_tree /etc/kubernetes/pki -mindepth 1 -maxdepth 1
}

# make_shared: runs on the first control plane, before it starts.
make_shared() {
  make_settings
  [ -z "$ENCRYPTION_AT_REST" ] || write_file "$shared/encryption.yaml" 600 "$(encryption_config "key1 $(head -c 32 /dev/urandom | base64 -w0)")"$'\n' || exit 1
}

# encryption_config LINES: prints the configuration with the keys of lines `NAME SECRET`. The first one encrypts. There is no
# provider `identity`: data in etcd that is not encrypted is not accepted as a Secret.
encryption_config() {
  printf '%s\n' 'apiVersion: apiserver.config.k8s.io/v1' 'kind: EncryptionConfiguration' 'resources:' \
    '  - resources: [secrets]' '    providers:' '      - secretbox:' '          keys:'
  printf '%s\n' "$1" | awk 'NF { printf "            - name: %s\n              secret: %s\n", $1, $2 }'
}
# encryption_keys: prints the keys of the configuration in that form.
encryption_keys() { awk '$2 == "name:" { name = $3 } $1 == "secret:" { print name, $2 }' "$shared/encryption.yaml"; }

# make_settings: writes the files that depend on the settings alone.
make_settings() {
  local name content
  mkdir -p "$shared" || exit 1
  write_file "$shared/made-with" 600 "$MADE_WITH"$'\n' || exit 1
  rm -rf "$shared/patches"
  while read -r name content; do
    [ -n "$name" ] || continue
    content=$(printf %s "$content" | base64 -d && echo .) || fail "patch $name is no base64"
    write_file "$shared/patches/$name" 600 "${content%.}" || exit 1
  done <<< "$PATCHES"
  if [ -n "$AUDIT_POLICY" ]; then write_file "$shared/audit-policy.yaml" 600 "$AUDIT_POLICY"$'\n' || exit 1
  else rm -f "$shared/audit-policy.yaml"; fi
  prepare_audit_log
}

# prepare_audit_log: runs on each control plane if there is a policy. The log is removed with the cluster.
prepare_audit_log() {
  [ -e "$shared/audit-policy.yaml" ] || return 0
  own dir /var/log/kubernetes tree /var/log/kubernetes/audit
  mkdir -p "$R/var/log/kubernetes/audit" || exit 1
}
