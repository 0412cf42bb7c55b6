# Waits until every node that is not away has this version and is Ready, and lets pods on nodes that the upgrade has cordoned.
nodes() { kubectl --request-timeout=15s get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2> /dev/null; }
for try in $(seq "$WAIT_SECONDS"); do
  all=$(nodes) && late=$(awk -v names=" $NODES " -v version="$KUBE_VERSION" 'index(names, " " $1 " ") && ($2 != version || $3 != "True") { print $1 }' <<< "$all" | paste -sd' ') && [ -n "$all" ] && [ -z "$late" ] && break
  sleep 1
done
[ -n "$all" ] || fail "the nodes of the cluster cannot be listed within $WAIT_SECONDS s"
[ -z "$late" ] || fail "nodes are not Ready with $KUBE_VERSION within $WAIT_SECONDS s: $late"
# One question for all: a cluster may have a thousand nodes.
cordoned=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations.ecs\.yun\.com/cordoned}{"\n"}{end}') ||
  fail 'the nodes cannot be listed, and some may be cordoned'
for node in $(awk -v names=" $NODES " '$2 == "yes" && index(names, " " $1 " ") { print $1 }' <<< "$cordoned"); do
  said=$({ kubectl uncordon "$node" && kubectl annotate node "$node" ecs.yun.com/cordoned-; } 2>&1) || fail "node $node cannot be uncordoned: $(tail -1 <<< "$said")"
  changed "node $node is uncordoned"
done
