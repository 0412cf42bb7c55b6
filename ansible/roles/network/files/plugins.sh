# CNI plugins, and what the pod network and kube-proxy will make: links, tables and chains of packet rules.
own dir /opt/cni /opt/cni/bin /etc/cni /etc/cni/net.d
own tree /var/lib/cni /run/flannel
mkdir -p /opt/cni/bin
[ "$NETWORK" != flannel ] || own file /etc/cni/net.d/10-flannel.conflist
[ -e /run/xtables.lock ] || own file /run/xtables.lock
if ! grep -q "^$ROLE before " "$manifest"; then
  for link in cni0 flannel.1 kube-ipvs0; do ip link show "$link" > /dev/null 2>&1 || own link "$link"; done
  tables=$(nft list tables 2>/dev/null)
  for table in 'ip kube-proxy' 'ip6 kube-proxy' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do
    printf '%s\n' "$tables" | grep -qxF "table $table" || own table "$table"
  done
  # Tables of many users go only when they were not there before and are empty again.
  for family in ip ip6; do
    for table in mangle nat filter raw; do printf '%s\n' "$tables" | grep -qxF "table $family $table" || own shared "$family $table"; done
  done
  for prefix in KUBE CNI FLANNEL; do
    { iptables-save; ip6tables-save; } 2>/dev/null | grep -q "^:$prefix-" || own chains "$prefix"
  done
  own before 'rules and links looked at'
fi
archive cni-plugins "$CNI_PATH" "$CNI_SHA256" /opt/cni/bin
if [ -n "$FLANNEL_PATH" ]; then
  archive flannel-cni-plugin "$FLANNEL_PATH" "$FLANNEL_SHA256" /opt/cni/bin
  own file /opt/cni/bin/flannel
  [ -e /opt/cni/bin/flannel ] || cp /opt/cni/bin/flannel-amd64 /opt/cni/bin/flannel
fi
