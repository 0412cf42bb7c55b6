# Finds this node's IPv6 address for dual-stack pods, on the interface of its IPv4 address. A fixed address precedes one that
# routers gave. The precheck (ipv6.ts) uses the same rule.
link=$(ip -o -4 address show | awk -v ip="$NODE_IP" '{ split($4, part, "/") } part[1] == ip { print $2; exit }')
[ -n "$link" ] || fail "no interface has the address $NODE_IP"
ip6=$(ip -o -6 address show dev "$link" | awk '
  !/ scope global( |$)/ || / (temporary|deprecated|tentative|dadfailed)( |$)/ { next }
  { split($4, part, "/"); if (/ dynamic( |$)/) passing = passing ? passing : part[1]; else if (!fixed) fixed = part[1] }
  END { print fixed ? fixed : passing }')
[ -n "$ip6" ] || fail "$link, which has $NODE_IP, has no global IPv6 address; give it a fixed one"
result ip6 "$ip6"
