# Removes links, packet rules, address sets and files of the pod network and of kube-proxy. In shared tables it removes only
# our chains.
stayed=0
if is_made link cni0; then
  for link in $(ip -o link show master cni0 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do ip link delete "$link" 2>/dev/null; done
fi
listed() { made_of "$1" | paste -sd'|'; }
ours=$(listed chains)
# by_nft FAMILY: removes what iptables has made as tables of nftables, if it is not the legacy one. One transaction a table.
by_nft() {
  local table commands
  for table in mangle nat filter raw; do
    commands=$(nft -a list table "$1" "$table" 2>/dev/null | awk -v at="$1 $table" -v ours="($ours)-" '
      $1 == "chain" { chain = $2; if (chain ~ "^" ours) { flush = flush "flush chain " at " " chain "\n"; gone = gone "delete chain " at " " chain "\n" } next }
      chain !~ "^" ours && ($0 ~ "(jump|goto) " ours || $0 ~ "comment \"" ours "ROUTER rule ") && /# handle [0-9]+$/ { rules = rules "delete rule " at " " chain " handle " $NF "\n" }
      END { printf "%s%s%s", flush, rules, gone }')
    [ -n "$commands" ] || continue
    nft -f <(printf '%s\n' "$commands") && changed "nft $1 $table" || { echo "packet rules of ours are left in table $1 $table" >&2; stayed=1; }
  done
}
for command in iptables ip6tables; do
  [ -n "$ours" ] || continue
  if ! has_tool $command; then
    names=$R/proc/net/ip_tables_names family=ip
    [ $command = iptables ] || names=$R/proc/net/ip6_tables_names family=ip6
    if ! command -v nft > /dev/null; then
      echo "whether chains ($ours)-… of $command are left is unknown: install iptables or nftables, and retry" >&2; stayed=1
    else
      by_nft $family
      [ ! -s "$names" ] || { echo "whether chains ($ours)-… are left in tables of $command-legacy ($(paste -sd' ' "$names")) is unknown: install iptables, and retry" >&2; stayed=1; }
    fi
    continue
  fi
  # kube-router's rules in shared chains are known by their comment.
  for table in mangle nat filter raw; do remove_chains $command $table "$ours" "($ours)-ROUTER rule " || stayed=1; done
done
sets=$(listed sets) left=
rm -f "$work/needed"
if [ -n "$sets" ] && ! has_tool ipset; then
  echo 'whether address sets of Matryoshka are left is unknown; install ipset on the host' >&2; stayed=1
elif [ -n "$sets" ]; then
  remove_sets "$sets" || left=yes
  # Without sets, their line leaves the manifest, as a later reset may lack the tools of the image. If a set remains, the tools
  # stay for the next reset.
  if [ -z "$left" ]; then write_file "$manifest" 644 "$(made_lines | grep -v "^$ROLE sets ")"$'\n' || stayed=1; else stayed=1; touch "$work/needed"; fi
fi
made_of shared | while read -r family table chain; do
  part=(table "$family" "$table")
  [ -z "$chain" ] || part=(chain "$family" "$table" "$chain")
  rules=$(nft list "${part[@]}" 2>/dev/null) || continue
  # A policy other than "accept" is a rule too.
  grep -qvE '^(table .*|\}|\s*(chain .*|\}|type .*policy accept;|))$' <<< "$rules" || nft delete "${part[@]}"
done
unmake || stayed=1
exit $stayed
