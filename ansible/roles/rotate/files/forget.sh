# Ends the rotation on this control plane. The former encryption key goes: no Secret needs it, so the API server that runs may
# keep it until it starts the next time. Tokens by the former signing key stay valid until the next rotation, since pods have
# them.
umask 077
mkdir -p "$state" || exit 1
if [ -e "$encryption" ] && is_whole "$next"; then
  config=$(encryption_of "$(cat "$next/encryption.key")") && [ -n "$config" ] || exit 1
  [ "$(cat "$encryption")" = "$config" ] || write_file "$encryption" 600 "$config"$'\n' || exit 1
fi
write_file "$ended" 600 "$SEQUENCE"$'\n' || exit 1
# Half of the folder, or one that comes back after a crash, would be taken for an unfinished rotation.
rm -rf "$next.done"
[ ! -e "$next" ] || said=$({ mv -T "$next" "$next.done" && sync "${next%/*}" && rm -rf "$next.done"; } 2>&1) || unfinished "${next#"$R"}" "$said"
did changed
