# Lets this control plane sign and encrypt by the new keys. All API servers accept them, and the former ones.
umask 077
mkdir -p "$state" || exit 1
stage=use
has_next
made=$(block 1 "$next/sa.pub") former=$(signs)
if [ "$former" != "$made" ] || ! cmp -s "$next/sa.key" "$pki/sa.key"; then
  # If this ends between the two files, a further attempt finds the former key second.
  [ "$former" != "$made" ] || former=$(block 2 "$pki/sa.pub")
  uses "$pki/sa.key" "$(cat "$next/sa.key")"
  uses "$pki/sa.pub" "$made"$'\n'"$former"
fi
if [ -e "$encryption" ]; then
  keys=$(encryption_keys) new=$(cat "$next/encryption.key")
  [ -n "$keys" ] && [ -n "$new" ] || fail 'the keys of encryption cannot be read; they were not changed on this host'
  lines=$new IFS=$'\n'
  for line in $keys; do [ "$line" = "$new" ] || lines=$lines$'\n'$line; done
  unset IFS
  config=$(encryption_of "$lines") || exit 1
  uses "$encryption" "$config"
fi
started kube-apiserver kube-controller-manager
did changed
