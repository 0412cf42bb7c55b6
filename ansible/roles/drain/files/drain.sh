# Moves ordinary pods off nodes and takes the nodes out of the cluster, all at once, each within a bound. Where a
# disruption budget holds a pod, no node leaves. What a node that was removed still writes is refused from now on
# (roles/drain/files/deny.yaml).
[ -n "$LEAVING" ] || exit 0

# A name may have passed to another host between two tries: a Node is this host's only if it has its address.
nodes=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}') ||
  fail 'the nodes of the cluster cannot be listed; none was removed'
own= present=' '
while read -r host node how; do
  [ -n "$host" ] || continue
  found=$(awk -v node="$node" '$1 == node' <<< "$nodes")
  case "$found " in
    ' ') own="$own$host $node $how"$'\n' ;;
    *" $host "*) own="$own$host $node $how"$'\n' present="$present$node " ;;
    *) echo "node $node has the address ${found#* }, not $host; it stays"; did left "$host" ;;
  esac
done <<< "$LEAVING"
[ -n "$own" ] || exit 0

OURS=ecs.yun.com/cordoned
side_by_side() { # FUNCTION: for each host that leaves; answers 1 when one failed
  local pids= pid failed=0
  while read -r host node how; do
    [ -n "$host" ] || continue
    ( "$1" "$host" "$node" "$how" ) & pids="$pids $!"
  done <<< "$own"
  for pid in $pids; do wait "$pid" || failed=1; done
  return $failed
}

empty() { # HOST NODE drain-or-no
  local out held here
  # A host that is away ends no pods; the cluster collects them once the node is gone.
  [ -z "${present##* $2 *}" ] && [ "$3" = drain ] || return 0
  # What a person has cordoned stays so, what a try of ours has does not, though it was cut short.
  [ "$(kubectl get node "$2" -o 'jsonpath={.spec.unschedulable}')" = true ] || kubectl annotate node "$2" "$OURS=yes" --overwrite > /dev/null
  out=$(kubectl drain "$2" --ignore-daemonsets --delete-emptydir-data --force --timeout="${DRAIN_SECONDS}s" 2>&1) && return 0
  # Evictions are tried again until the bound: only who is still there was held back to the end.
  held=$(sed -n "s/.*evicting pods\?\/\"\([^\"]*\)\" -n \"\([^\"]*\)\".*disruption budget.*/\2 \1/p" <<< "$out" | sort -u)
  # Where nobody tells who is still there, all count as held.
  ! here=$(kubectl get pods -A --field-selector "spec.nodeName=$2" -o 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}') ||
    held=$(comm -12 <(echo "$held") <(sort -u <<< "$here") | sed '/^$/d')
  if [ -n "$held" ]; then
    printf '%s\n' "$held" | while read -r namespace pod; do echo "$2 $namespace/$pod $(budgets "$namespace")"; done > "$notes/held.$2"
  else
    echo "$2 was not drained within $DRAIN_SECONDS s: $(printf '%s\n' "$out" | tail -1)"
  fi
}

budgets() { # NAMESPACE: names of its PodDisruptionBudgets that let no pod go
  kubectl -n "$1" get poddisruptionbudgets -o 'jsonpath={range .items[?(@.status.disruptionsAllowed==0)]}{.metadata.name}{" "}{end}' | sed 's/ $//; s/ /, /g'
}

leave() { # HOST NODE drain-or-no
  local out
  if [ -z "${present##* $2 *}" ]; then
    for try in $(seq 5); do
      out=$(kubectl delete node "$2" --ignore-not-found --timeout=30s 2>&1) && break
      [ "$try" != 5 ] || fail "$2: $out"
      sleep 1
    done
    changed "$2 left"
    # What ran on a host that is away the cluster would collect within a minute, and replace only then.
    [ "$3" = drain ] || for namespace in kube-system kube-flannel; do
      kubectl -n $namespace delete pods --field-selector "spec.nodeName=$2" --force --grace-period=0 --wait=false > /dev/null 2>&1
    done
  fi
}

notes=$(mktemp -d)
side_by_side empty
held=$(cat "$notes"/held.* 2> /dev/null)
rm -rf "$notes"
if [ -n "$held" ]; then
  for node in $present; do
    [ "$(kubectl get node "$node" -o "jsonpath={.metadata.annotations['${OURS//./\\.}']}")" = yes ] || continue
    kubectl uncordon "$node" > /dev/null && kubectl annotate node "$node" "$OURS-" > /dev/null
  done
  fail "pods may not be evicted, and no node was removed: $(awk '{ of = $3; for (i = 4; i <= NF; i++) of = of " " $i
    printf "%s%s on %s (held by %s)", sep, $2, $1, of == "" ? "a disruption budget" : "disruption budget " of; sep = "; " }' <<< "$held"); give them another node, change the budget or delete the pods, then ask again"
fi
# From here on none of them is what it was, however far this comes.
while read -r host _; do [ -z "$host" ] || did left "$host"; done <<< "$own"
# Not before: a kubelet that may not say that a pod has ended never lets it go.
names=$(awk -v now="$(date -u +%Y-%m-%dT%H:%M:%SZ)" 'NF { printf "%s\"%s\":\"%s\"", comma, $2, now; comma = "," }' <<< "$own")
denied='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"matryoshka-removed-nodes","namespace":"kube-system"},"data":{'$names'}}'
{
  # Added to those of earlier operations, never in their place.
  kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "{\"data\":{$names}}" > /dev/null 2>&1 ||
    kubectl create --validate=false -f - > /dev/null <<< "$denied"
} && kubectl apply --validate=false --server-side --field-manager=matryoshka --force-conflicts -f - > /dev/null <<< "$DENY" ||
  fail 'nodes that leave cannot be kept from coming back; none was removed'

side_by_side leave
