# One packet through the pod network to each node that joins, and its answer: a firewall that drops VXLAN between hosts shows
# nowhere else. flannel gives the first address of a node's podCIDR to its own link there, and the kubelet listens on all
# addresses; a refusal is an answer too.
case $NETWORK in flannel*) ;; *) exit 0 ;; esac
PORT=10250
deadline=$(($(date +%s) + ${REACH_SECONDS:-30}))
out=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address} | {.spec.podCIDRs[*]}{"\n"}{end}' 2>&1) || fail "$out"
own=" $(ip -o addr show | awk '{ sub(/\/.*/, "", $4); print $4 }' | paste -sd' ') "
answers() { # ADDRESS
  local said
  said=$(LC_ALL=C timeout 2 bash -c "exec 3<>/dev/tcp/$1/$PORT" 2>&1) || [[ $said == *refused* ]]
}
while read -r node rest; do
  [[ " $NODES " == *" $node "* ]] || continue
  host=${rest%% *}
  for cidr in ${rest#*|}; do
    address=${cidr%/*}
    [[ $own != *" $address "* ]] || continue
    until answers "$address"; do
      [ "$(date +%s)" -lt "$deadline" ] ||
        fail "pods of node $node are not reached: no answer from $address port $PORT, which is $host in the pod network; let UDP 8472 (VXLAN) pass between all hosts, both ways, and what comes from the pod network"
      sleep 0.5
    done
  done
done <<< "$out"
