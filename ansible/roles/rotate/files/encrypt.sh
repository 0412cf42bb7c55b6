# Writes all Secrets again, which encrypts them by the new key (kubernetes.io, Rotate a decryption key). A Secret that etcd still
# has in another form would be lost with the former key, so etcd decides.
[ -e "$encryption" ] || exit 0
has_next
mkdir -p "$state" || exit 1
name=$(cut -d ' ' -f 1 "$next/encryption.key")
# Who has changed a Secret since it was read has encrypted it by the new key.
why=$({ kubectl get secrets --all-namespaces --chunk-size=100 -o json | kubectl replace --validate=false -f - > /dev/null; } 2>&1 |
  grep -v -e '^Warning:' -e '(Conflict)' -e '(NotFound)' -e 'the object has been modified' -e 'no objects passed to replace' | head -3)
trap forget_programs EXIT
bring_programs
others=$(ETCD_SECONDS=300 etcd get --prefix /registry/secrets/ --print-value-only | grep -a '^k8s' | grep -avc "^k8s:enc:secretbox:v1:$name:"; exit "${PIPESTATUS[0]}") ||
  fail 'etcd cannot be asked for Secrets; ask for the rotation again'
[ "$others" = 0 ] || fail "$others Secrets in etcd are not encrypted by the new key yet${why:+: $why}; ask for the rotation again"
changed 'Secrets are encrypted by the new key'
