# Sends a packet through the pod network to each joining node, and waits for an answer. Nothing else shows a firewall that
# drops VXLAN between hosts. flannel gives the first address of a node's podCIDR to its own link there. Any answer counts:
# from the kubelet, which listens on all addresses, from a firewall that rejects, or to a ping.
case $NETWORK in flannel*) ;; *) exit 0 ;; esac
PORT=10250
deadline=$(($(date +%s) + ${REACH_SECONDS:-30}))
out=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address} | {.spec.podCIDRs[*]}{"\n"}{end}' 2>&1) || fail "$out"
here=" $(ip -o addr show | awk '{ sub(/\/.*/, "", $4); print $4 }' | paste -sd' ') "
answers() { # ADDRESS
  local said
  # Before flannel has set its route, the default gateway may answer.
  [[ $(ip route get "$1" 2>/dev/null) == *' dev flannel'* ]] || return 1
  said=$(LC_ALL=C timeout 2 bash -c "exec 3<>/dev/tcp/$1/$PORT" 2>&1) || [[ $said == *refused* || $said == *'No route to host'* ]] ||
    { command -v ping > /dev/null && ping -c 1 -W 1 "$1" > /dev/null 2>&1; }
}
while read -r node rest; do
  [[ " $NODES " == *" $node "* ]] || continue
  host=${rest%% *}
  for cidr in ${rest#*|}; do
    address=${cidr%/*}
    [[ $here != *" $address "* ]] || continue
    until answers "$address"; do
      [ "$(date +%s)" -lt "$deadline" ] ||
        fail "pods of node $node are not reached: neither port $PORT nor a ping of $address, which is $host in the pod network, is answered; let UDP 8472 (VXLAN) pass between all hosts, both ways, and let in what comes from the pod network"
      sleep 0.5
    done
  done
done <<< "$out"
