# Stores the new keys, which another control plane has made. No component uses them yet.
umask 077
mkdir -p "$state" || exit 1
trap 'rm -rf "$next.new"' EXIT
rm -rf "$next.new"
mkdir -p "$next.new" || exit 1
untar_into "$next.new" "$KEYS"
is_whole "$next.new" || fail 'the other control plane has not given all new keys; ask for the rotation again'
if diff -rq "$next" "$next.new" > /dev/null 2>&1; then exit 0; fi
said=$({ rm -rf "$next" && sync -f "$next.new" && mv -T "$next.new" "$next" && sync "${next%/*}"; } 2>&1) || unfinished "${next#"$R"}" "$said" "$next.new"
changed 'new keys'
