# Links, packet rules and files of the pod network and of kube-proxy. Of shared tables only chains of ours go.
if is_made link cni0; then
  for link in $(ip -o link show master cni0 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do ip link delete "$link" 2>/dev/null; done
fi
ours=$(sed -n "s/^$ROLE chains //p" "$manifest" 2>/dev/null | paste -sd'|')
for command in iptables ip6tables; do
  [ -n "$ours" ] && command -v $command > /dev/null || continue
  for table in mangle nat filter raw; do
    rules=$($command -t $table -S 2>/dev/null) || continue
    chains=$(printf '%s\n' "$rules" | sed -nE "s/^-N (($ours)-[^ ]*)\$/\1/p")
    [ -n "$chains" ] || continue
    printf '%s\n' "$rules" | grep -E -- "^-A [^ ]+ .*-j ($ours)-" | sed 's/^-A/-D/' | while read -r rule; do
      eval "$command -t $table $rule" 2>/dev/null
    done
    for chain in $chains; do $command -t $table -F "$chain" 2>/dev/null; done
    for chain in $chains; do $command -t $table -X "$chain" 2>/dev/null; done
    changed "$command $table"
  done
done
sed -n "s/^$ROLE shared //p" "$manifest" 2>/dev/null | while read -r family table; do
  nft list table "$family" "$table" > /dev/null 2>&1 || continue
  nft list table "$family" "$table" | grep -qvE '^(table .*|\}|\s*(chain .*|\}|type .*|))$' || nft delete table "$family" "$table"
done
unmake
