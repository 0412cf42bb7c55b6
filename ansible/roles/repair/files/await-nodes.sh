# Waits until nodes that were missing are Ready, with their labels and taints.
deadline=$(($(date +%s) + WAIT_SECONDS))
until_true() { # TEXT COMMAND…
  local text=$1; shift
  until "$@"; do [ "$(date +%s)" -lt "$deadline" ] || fail "$text within $WAIT_SECONDS s"; sleep 0.5; done
}
there() { kubectl get node "$1" > /dev/null 2>&1; }
is_ready() { [ "$(kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]; }
while read -r node patch; do
  [ -n "$node" ] || continue
  until_true "node $node was deleted, and its kubelet does not register it" there "$node"
  out=$(kubectl patch node "$node" --type merge --patch-file /dev/stdin 2>&1 <<< "$patch") || fail "$out"
done <<< "$LABELS"
while read -r node taint; do
  [ -n "$node" ] || continue
  out=$(kubectl taint node "$node" --overwrite "$taint" 2>&1) || fail "$out"
done <<< "$TAINTS"
while read -r node _; do
  [ -n "$node" ] || continue
  [ "$NETWORK" = none ] || until_true "node $node is not Ready" is_ready "$node"
  changed "node $node is there again"
done <<< "$LABELS"
