# Prepares enforcement of policies by kube-router. Lists its address sets, and unpacks the tools of its image by which a
# reset removes them. The host need not have these tools.
if unpack network-policies "$KUBE_ROUTER_IMAGE"; then rm -f "$work/network-policies/usr/local/bin/kube-router"; fi
if ! is_made before 'sets of addresses looked at'; then
  sets=$(chroot "$work/network-policies" ipset list -n) || fail 'cannot list sets of addresses (ipset)'
  mine=()
  for prefix in KUBE-SRC KUBE-DST TMP; do
    printf '%s\n' "$sets" | grep -qE "^(inet6:)?$prefix-" || mine+=(sets "$prefix")
  done
  own "${mine[@]}" before 'sets of addresses looked at'
fi
