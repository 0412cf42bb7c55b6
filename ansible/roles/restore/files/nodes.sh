# Removes nodes of control planes that left: the restored data has them still. The API servers refuse the node of one that was
# not reset, since its kubelet may come back (roles/drain/files/deny.yaml).
deny() {
  local data="{\"data\":{$1}}"
  kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "$data" > /dev/null 2>&1 ||
    kubectl -n kube-system create configmap matryoshka-removed-nodes > /dev/null || return 1
  kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "$data" > /dev/null || return 1
  kubectl apply --validate=false --server-side --field-manager=matryoshka --force-conflicts -f - > /dev/null <<< "$DENY"
}
names= now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
for node in $AWAY; do names="$names${names:+,}\"$node\":\"$now\""; done
if [ -n "$names" ]; then
  for try in 1 2 3 4 5; do
    said=$(deny "$names" 2>&1) && break
    [ "$try" != 5 ] || fail "nodes that left cannot be kept from coming back: $(tail -1 <<< "$said")"
    sleep 1
  done
fi
for node in $LEFT; do kubectl delete node "$node" --ignore-not-found --wait=false > /dev/null || fail "node $node cannot be removed"; done
