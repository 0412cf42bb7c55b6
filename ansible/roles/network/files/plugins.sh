# Installs CNI plugins, and lists what the pod network and kube-proxy will make: links, tables and chains of packet rules.
mine=(dir /opt/cni /opt/cni/bin /etc/cni /etc/cni/net.d tree /var/lib/cni /run/flannel /opt/cni/bin/.cni-plugins.matryoshka)
[ "$NETWORK" = none ] || mine+=(file /etc/cni/net.d/10-flannel.conflist /opt/cni/bin/flannel tree /opt/cni/bin/.flannel-cni-plugin.matryoshka)
[ -e /run/xtables.lock ] || mine+=(file /run/xtables.lock)
if [ -z "$(made_of before)" ]; then
  for link in cni0 flannel.1 flannel-v6.1 kube-ipvs0; do ip link show "$link" > /dev/null 2>&1 || mine+=(link "$link"); done
  tables=$(nft list tables 2>/dev/null)
  for table in 'ip kube-proxy' 'ip6 kube-proxy' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do
    printf '%s\n' "$tables" | grep -qxF "table $table" || mine+=(table "$table")
  done
  # Shared tables and their base chains are removed only if they are empty again and did not exist before.
  for family in ip ip6; do
    while read -r table hooks; do
      if ! printf '%s\n' "$tables" | grep -qxF "table $family $table"; then mine+=(shared "$family $table"); continue; fi
      chains=$(nft list table "$family" "$table" 2>/dev/null | sed -n 's/^\tchain \([^ ]*\) {.*/\1/p')
      for chain in $hooks; do printf '%s\n' "$chains" | grep -qxF "$chain" || mine+=(shared "$family $table $chain"); done
    done <<< 'mangle PREROUTING INPUT FORWARD OUTPUT POSTROUTING
nat PREROUTING INPUT OUTPUT POSTROUTING
filter INPUT FORWARD OUTPUT
raw PREROUTING OUTPUT'
  done
  rules=$({ iptables-save; ip6tables-save; } 2>/dev/null)
  for prefix in KUBE CNI FLANNEL; do
    printf '%s\n' "$rules" | grep -q "^:$prefix-" || mine+=(chains "$prefix")
  done
  mine+=(before 'rules and links looked at')
fi
own "${mine[@]}"
mkdir -p /opt/cni/bin || exit 1
archive cni-plugins "$CNI_PATH" "$CNI_SHA256" /opt/cni/bin
if [ -n "$FLANNEL_PATH" ]; then
  archive flannel-cni-plugin "$FLANNEL_PATH" "$FLANNEL_SHA256" /opt/cni/bin
  cmp -s /opt/cni/bin/flannel-amd64 /opt/cni/bin/flannel ||
    said=$({ cp /opt/cni/bin/flannel-amd64 /opt/cni/bin/.flannel && sync /opt/cni/bin/.flannel && mv -fT /opt/cni/bin/.flannel /opt/cni/bin/flannel; } 2>&1) ||
    unfinished /opt/cni/bin/flannel "$said" /opt/cni/bin/.flannel
fi
