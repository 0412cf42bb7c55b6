# Removes what kube-router has left on this host, once its pod has gone: rules, address sets, and the tools of its image.
if is_made before 'sets of addresses looked at'; then
  for command in iptables ip6tables; do
    # Chains with this prefix that were here before the cluster are not ours.
    is_made chains KUBE && has_tool $command || continue
    remove_chains $command filter 'KUBE-ROUTER|KUBE-POD-FW|KUBE-NWPLCY' 'KUBE-ROUTER rule ' ||
      fail "rules of network policies remain; see whether a pod of kube-router still runs on this host, and ask again"
  done
  sets=$(made_of sets | paste -sd'|')
  [ -z "$sets" ] || remove_sets "$sets" || fail "sets of addresses of network policies remain, because a rule that is not ours names one; remove that rule, and ask again"
  # Were policies enforced again, sets that others have made since must not count as ours.
  write_file "$manifest" 644 "$(made_lines | grep -vE "^$ROLE (sets |before sets of addresses looked at\$)")"$'\n' || exit 1
  did changed
fi
said=$(rm -rf "$work/network-policies" "$installed/network-policies" 2>&1) || unfinished "$work/network-policies" "$said"
