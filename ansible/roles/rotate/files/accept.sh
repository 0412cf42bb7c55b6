# Lets the API server of this control plane accept the new keys. It still signs and encrypts by the former ones.
umask 077
mkdir -p "$state" || exit 1
stage=accept
has_next
made=$(block 1 "$next/sa.pub") former=$(signs)
[ -n "$made" ] && [ -n "$former" ] || fail 'the public keys of this host cannot be read; nothing was changed on it'
# A key from before the former one is no longer accepted.
[ "$former" = "$made" ] || uses "$pki/sa.pub" "$former"$'\n'"$made"
if [ -e "$encryption" ]; then
  keys=$(encryption_keys) new=$(cat "$next/encryption.key")
  [ -n "$keys" ] && [ -n "$new" ] || fail 'the keys of encryption cannot be read; nothing was changed on this host'
  case $'\n'$keys$'\n' in *$'\n'"$new"$'\n'*) ;; *) config=$(encryption_of "$keys"$'\n'"$new") || exit 1; uses "$encryption" "$config" ;; esac
fi
started kube-apiserver
did changed
