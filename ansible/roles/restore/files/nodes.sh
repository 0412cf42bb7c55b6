# Removes nodes of control planes that left: the restored data has them still.
for node in $LEFT; do kubectl delete node "$node" --ignore-not-found --wait=false > /dev/null || fail "node $node cannot be removed"; done
