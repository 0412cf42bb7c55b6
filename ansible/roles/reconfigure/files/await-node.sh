# Waits until the node is ready, before the next one changes. Its Lease shows that the kubelet of now says so (kubernetes.io,
# Node heartbeats).
renewed() { kubectl -n kube-node-lease get lease "$NODE_NAME" -o 'jsonpath={.spec.renewTime}' 2> /dev/null; }
end=$((SECONDS + WAIT_SECONDS))
until before=$(renewed) && [ -n "$before" ] || [ "$SECONDS" -ge "$end" ]; do sleep 1; done
until [ "$(renewed)" != "$before" ] && [ "$(kubectl get node "$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]; do
  [ "$SECONDS" -lt "$end" ] || fail "node $NODE_NAME is not ready $WAIT_SECONDS s after the change"
  sleep 1
done
