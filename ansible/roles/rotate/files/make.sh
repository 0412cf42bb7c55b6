# Makes new keys, unless a rotation is unfinished: it goes on with its own. No component uses them yet.
umask 077
mkdir -p "$state" || exit 1
documents=$state/rotate.yaml
trap 'rm -rf "$documents" "$next.new"' EXIT
if ! is_whole "$next"; then
  rm -rf "$next.new"
  mkdir -p "$next.new" || exit 1
  write_file "$documents" 600 "${KUBEADM_CONFIG//CERTIFICATES_DIR/$next.new}"$'\n' || exit 1
  out=$(kubeadm init phase certs sa --config "$documents" 2>&1 < /dev/null) || fail "kubeadm init phase certs sa: $(tail -3 <<< "$out"); nothing was changed"
  for file in sa.key sa.pub; do [ -s "$next.new/$file" ] || fail "kubeadm wrote no $file; see that there is room in /etc/kubernetes; nothing was changed"; done
  [ ! -e "$encryption" ] || write_file "$next.new/encryption.key" 600 "$(key_name) $(head -c 32 /dev/urandom | base64 -w0)"$'\n' || exit 1
  is_whole "$next.new" || fail 'the new keys cannot be written; see that there is room in /etc/kubernetes; nothing was changed'
  said=$({ rm -rf "$next" && sync -f "$next.new" && mv -T "$next.new" "$next" && sync "${next%/*}"; } 2>&1) || unfinished "${next#"$R"}" "$said" "$next.new"
  changed 'new keys'
fi
made=$(block 1 "$next/sa.pub" | sha256sum)
result made "${made%% *}"
result keys "$(tar -C "$next" -czf - . | base64 -w0)"
