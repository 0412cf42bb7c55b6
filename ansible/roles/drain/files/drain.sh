# Drains the nodes of hosts that leave, as `kubectl drain` does, and removes them from the cluster, all at once. No node is
# removed unless every pod on these nodes is evicted or terminating. From then on the API servers refuse writes of a removed
# node (roles/drain/files/deny.yaml).
[ -n "$LEAVING" ] || exit 0
begin_evicting
while read -r host node address; do
  [ -n "$host" ] || continue
  echo "node $node has the address $address, not $host; it stays"
  did left "$host"
done <<< "$elsewhere"
[ -n "$own" ] || exit 0

leave() { # HOST NODE reached|unreached
  local out try
  is_present "$2" || return 0
  for try in $(seq 5); do
    out=$(kubectl delete node "$2" --ignore-not-found --timeout=30s 2>&1) && break
    [ "$try" != 5 ] || fail "$2: $out"
    sleep 1
  done
  changed "$2 left"
  # The cluster would delete pods of a host that is away only within a minute, and replace them only then.
  [ "$3" = reached ] || for namespace in kube-system kube-flannel; do
    kubectl -n $namespace delete pods --field-selector "spec.nodeName=$2" --force --grace-period=0 --wait=false > /dev/null 2>&1
  done
}

evict
# From here on these hosts count as changed, however far the script comes.
while read -r host _; do [ -z "$host" ] || did left "$host"; done <<< "$own"
# The policy follows only now: a kubelet that may not report the end of a pod never releases it.
names=$(awk -v now="$(date -u +%Y-%m-%dT%H:%M:%SZ)" 'NF { printf "%s\"%s\":\"%s\"", comma, $2, now; comma = "," }' <<< "$own")
denied='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"matryoshka-removed-nodes","namespace":"kube-system"},"data":{'$names'}}'
deny() {
  # The patch adds names to those of earlier operations, and replaces none.
  kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "{\"data\":{$names}}" > /dev/null 2>&1 ||
    kubectl create --validate=false -f - > /dev/null <<< "$denied" || return 1
  kubectl apply --validate=false --server-side --field-manager=matryoshka --force-conflicts -f - > /dev/null <<< "$DENY"
}
for try in 1 2 3 4 5; do
  said=$(deny 2>&1) && break
  [ "$try" != 5 ] || fail "nodes that leave cannot be kept from coming back, and none was removed: $(tail -1 <<< "$said")"
  sleep 1
done

side_by_side leave
