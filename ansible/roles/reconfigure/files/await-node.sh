# Waits until the node is ready, before the next one changes.
end=$((SECONDS + WAIT_SECONDS))
until [ "$(kubectl get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]; do
  [ "$SECONDS" -lt "$end" ] || fail "node $NODE_NAME is not ready $WAIT_SECONDS s after its settings changed"
  sleep 1
done
