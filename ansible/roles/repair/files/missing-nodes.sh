# Names the nodes of these hosts that somebody has deleted. Pods that were on them are gone for the cluster, which would collect
# them within a minute; a kubelet that registers anew shall not take them for its own.
nodes=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' 2>&1) || fail "the nodes of the cluster cannot be listed: $nodes"
missing=
for node in $NODES; do grep -qxF "$node" <<< "$nodes" || missing="$missing $node"; done
for node in $missing; do
  out=$(kubectl delete pods -A --field-selector "spec.nodeName=$node" --force --grace-period=0 --wait=false 2>&1) || fail "$out"
done
result missing "$missing"
