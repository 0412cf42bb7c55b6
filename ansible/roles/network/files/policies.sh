# Where kube-router enforces policies: what it will make besides packet rules, sets of addresses, and the tools of its
# image by which a reset removes them; a host need not have them.
if unpack network-policies "$KUBE_ROUTER_IMAGE"; then rm -f "$work/network-policies/usr/local/bin/kube-router"; fi
if ! is_made before 'sets of addresses looked at'; then
  sets=$(chroot "$work/network-policies" ipset list -n) || fail 'cannot list sets of addresses (ipset)'
  mine=()
  for prefix in KUBE-SRC KUBE-DST TMP; do
    printf '%s\n' "$sets" | grep -qE "^(inet6:)?$prefix-" || mine+=(sets "$prefix")
  done
  own "${mine[@]}" before 'sets of addresses looked at'
fi
