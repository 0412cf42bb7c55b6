# Prints the nodes of these hosts that a user has deleted. The cluster no longer knows their pods, and would delete them
# within a minute. A kubelet that registers again must not adopt them.
nodes=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' 2>&1) || fail "the nodes of the cluster cannot be listed: $nodes"
missing=
for node in $NODES; do grep -qxF "$node" <<< "$nodes" || missing="$missing $node"; done
for node in $missing; do
  out=$(kubectl delete pods -A --field-selector "spec.nodeName=$node" --force --grace-period=0 --wait=false 2>&1) || fail "$out"
done
result missing "$missing"
