# Waits until the upgraded node is Ready, then lets pods on it again. A node that a user has cordoned stays so.
state_of_node() { kubectl get node "$NODE_NAME" -o 'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null; }
for try in $(seq "$WAIT_SECONDS"); do [ "$(state_of_node)" != "$KUBE_VERSION True" ] || break; sleep 1; done
[ "$(state_of_node)" = "$KUBE_VERSION True" ] || fail "node $NODE_NAME is not Ready with $KUBE_VERSION within $WAIT_SECONDS s: it says \"$(state_of_node)\""
cordoned=$(kubectl get node "$NODE_NAME" -o 'jsonpath={.metadata.annotations.ecs\.yun\.com/cordoned}') || fail "node $NODE_NAME cannot be read, and may be cordoned"
if [ "$cordoned" = yes ]; then
  said=$({ kubectl uncordon "$NODE_NAME" && kubectl annotate node "$NODE_NAME" ecs.yun.com/cordoned-; } 2>&1) || fail "node $NODE_NAME cannot be uncordoned: $(tail -1 <<< "$said")"
  changed "node $NODE_NAME is uncordoned"
fi
