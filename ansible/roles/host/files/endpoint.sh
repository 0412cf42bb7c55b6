# Sets the addresses of the API servers' name on this host.
# set_lines FILE: writes our lines to its end, in place, because it may be a mount. Other lines keep their bytes (grep -a).
set_lines() {
  local new=$work/hosts.new said
  said=$({ others_of "$1" && printf '%s\n' "$lines"; } 2>&1 > "$new") || unfinished "$new" "$said" "$new"
  overwrite "$1" "$new"
}
others_of() { # FILE: its lines but ours; no line at all is no failure
  grep -av '# matryoshka ' "$1" || [ $? = 1 ]
}
if [ -n "$ENDPOINT_ADDRESSES" ]; then
  # shellcheck disable=SC2086
  lines=$(printf "%s $ENDPOINT_NAME # matryoshka $CLUSTER_ID\n" $ENDPOINT_ADDRESSES)
  if [ "$lines" != "$(grep -a '# matryoshka ' /etc/hosts)" ]; then
    is_made line /etc/hosts || [ -z "$(tail -c 1 /etc/hosts | tr '\0' x)" ] || own before '/etc/hosts without an end of its last line'
    own line /etc/hosts
    set_lines /etc/hosts; changed /etc/hosts
    # Pods on the host's network have a copy of the file, which the kubelet renews when it starts a container.
    for copy in $(grep -al "# matryoshka $CLUSTER_ID\$" /var/lib/kubelet/pods/*/etc-hosts 2>/dev/null); do set_lines "$copy"; done
  fi
fi
[ -z "${DID-}" ] || did "$DID"
