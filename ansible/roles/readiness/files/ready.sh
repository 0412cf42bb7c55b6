# Sets labels and schedulability of joining nodes, then waits until they and what we install on them are ready.
deadline=$(($(date +%s) + WAIT_SECONDS))
left() { local rest=$((deadline - $(date +%s))); [ "$rest" -gt 1 ] && echo "$rest" || echo 1; }

# nodes_ready: prints a line `NODE=True` for each ready node. If the user installs the pod network, a node that lacks nothing
# else counts as ready.
nodes_ready() {
  kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}' 2>&1 |
    awk -v network="$NETWORK" '{ if (network == "none" && index($0, "NetworkPluginNotReady")) sub(/=.*/, "=True"); print $1 }'
}
# The script polls, because `kubectl wait` gives up on a node that is not registered yet. Right after a start, an API server
# may also refuse for a moment what it will allow.
until missing=$(nodes_ready |
    awk -v nodes="$NODES" '{ seen[$0] = 1 } END { n = split(nodes, name, " "); for (i = 1; i <= n; i++) if (!((name[i] "=True") in seen)) print name[i] }') && [ -z "$missing" ]; do
  [ "$(left)" -gt 1 ] || { echo "not Ready within $WAIT_SECONDS s: $missing" >&2; kubectl get nodes -o wide >&2; exit 1; }
  sleep 0.5
done
while read -r node patch; do
  [ -n "$node" ] || continue
  # A label is data, whatever it contains. So it is in a patch, not in an argument.
  out=$(kubectl patch node "$node" --type merge --patch-file /dev/stdin 2>&1 <<< "$patch") || fail "$out"
  case $out in *'no change'*) ;; *) changed "labels of $node" ;; esac
done <<< "$LABELS"
for node in $UNTAINT; do
  out=$(kubectl taint node "$node" node-role.kubernetes.io/control-plane:NoSchedule- 2>&1) && changed "$node takes ordinary pods"
done

# Whether the script waits for this pod, by its owner. It waits only for static pods of the control planes that this run
# touches, and for kube-proxy, flannel and CoreDNS on joining nodes. Foreign pods in the same namespaces may fail for ever.
is_ours() { # NAMESPACE POD NODE OWNER-KIND/NAME K8S-APP
  case $1/$4 in
    kube-system/Node/*)
      case $2 in "kube-apiserver-$3" | "kube-controller-manager-$3" | "kube-scheduler-$3" | "etcd-$3") ;; *) return 1 ;; esac
      [[ " $NODES $CHANGED " == *" $3 "* ]] ;;
    kube-system/DaemonSet/kube-proxy) [[ " $NODES " == *" $3 "* ]] ;;
    # Other pods may need that network, or be part of it.
    kube-flannel/DaemonSet/kube-flannel-ds) [ "$NETWORK" != none ] && [[ " $NODES " == *" $3 "* ]] ;;
    kube-system/ReplicaSet/coredns-*-*) return 1 ;;
    # A pod without a node can only start on joining nodes if there are no others.
    kube-system/ReplicaSet/coredns-*)
      [ "$NETWORK" != none ] && [ "$5" = kube-dns ] && { [[ " $NODES " == *" $3 "* ]] || { [ -z "$3" ] && [ -z "$others" ]; }; } ;;
    *) return 1 ;;
  esac
}

# Prints what is not ready yet. The kubelet probes CoreDNS only every ten seconds, so this script sends the same probe. The
# kubelet probes a static pod for the first time after ten seconds, although kubeadm knows long before that it is healthy.
# So a static pod that runs and has no result yet (`started`) counts as ready, unless it has ended before. Pods of a node
# that is away do not count.
# One request gets nodes and pods, because starting kubectl costs more than the request.
waiting() {
  local kind namespace name phase ready node ip of started restarts since app message out away=' ' others=
  out=$(kubectl get nodes,pods -A -o 'jsonpath={range .items[*]}{.kind}|{.metadata.namespace}|{.metadata.name}|{.status.phase}|{.status.conditions[?(@.type=="Ready")].status}|{.spec.nodeName}|{.status.podIP}|{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}|{.status.containerStatuses[0].started}|{.status.containerStatuses[0].restartCount}|{.status.containerStatuses[0].state.running.startedAt}|{.metadata.labels.k8s-app}|{.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}' 2>&1) ||
    { echo "$out"; return; }
  [[ $'\n'$out == *$'\nPod|'* ]] || { echo 'no pods'; return; }
  while IFS='|' read -r kind namespace name phase ready node ip of started restarts since app message; do
    if [ "$kind" = Node ]; then
      [[ " $NODES " == *" $name "* ]] || others+="$name "
      [ "$ready" = True ] || { [ "$NETWORK" = none ] && [[ $message == *NetworkPluginNotReady* ]]; } || away+="$name "
      continue
    fi
    # A line of a message that continues has no kind.
    [ "$kind" = Pod ] && is_ours "$namespace" "$name" "$node" "$of" "$app" || continue
    [ -z "$node" ] || case $away in *" $node "*) continue ;; esac
    [ "$phase $ready" != 'Running True' ] || continue
    # Its controller has replaced this pod.
    case $phase/$of in Succeeded/* | Failed/DaemonSet/* | Failed/ReplicaSet/*) continue ;; esac
    [ "$phase ${of%%/*} $started $restarts" != 'Running Node false 0' ] || [ -z "$since" ] || continue
    case $name in coredns-*) [ -n "$ip" ] && curl -sf -m 1 "http://$(in_url "$ip"):8181/ready" > /dev/null && continue ;; esac
    echo "$namespace/$name $phase"
  done <<< "$out"
}
until missing=$(waiting) && [ -z "$missing" ]; do
  [ "$(left)" -gt 1 ] || { echo "not running within $WAIT_SECONDS s:" >&2; echo "$missing" >&2; exit 1; }
  sleep 0.5
done
