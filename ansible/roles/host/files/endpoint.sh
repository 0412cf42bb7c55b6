# What the name of the API servers stands for on this host.
if [ -n "$ENDPOINT_ADDRESSES" ]; then
  lines=$(printf "%s $ENDPOINT_NAME # matryoshka $CLUSTER_ID\n" $ENDPOINT_ADDRESSES)
  if [ "$lines" != "$(grep '# matryoshka ' /etc/hosts)" ]; then
    # In place: the file may be a mount.
    own line /etc/hosts
    { grep -v '# matryoshka ' /etc/hosts; printf '%s\n' "$lines"; } > "$work/hosts" && cat "$work/hosts" > /etc/hosts
    rm -f "$work/hosts"; changed /etc/hosts
    # Pods on the host's network have a copy of the file, which the kubelet renews when it starts a container.
    for copy in $(grep -l "# matryoshka $CLUSTER_ID\$" /var/lib/kubelet/pods/*/etc-hosts 2>/dev/null); do
      { grep -v '# matryoshka ' "$copy"; printf '%s\n' "$lines"; } > "$work/hosts" && cat "$work/hosts" > "$copy"
      rm -f "$work/hosts"
    done
  fi
fi
[ -z "${DID-}" ] || did "$DID"
