# Moves ordinary pods off nodes and takes the nodes out of the cluster, all at once, each within a bound.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:$PATH KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube

leave() { # node, drain or not
  local out
  kubectl get node "$1" -o name > /dev/null 2>&1 || return 0
  if [ "$2" = drain ]; then
    out=$(kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --force --timeout="${DRAIN_SECONDS}s" 2>&1) ||
      echo "$1 was not drained within $DRAIN_SECONDS s: $(printf '%s\n' "$out" | tail -1)"
  fi
  for try in $(seq 5); do
    out=$(kubectl delete node "$1" --ignore-not-found --timeout=30s 2>&1) && { echo "changed: $1 left"; return 0; }
    sleep 1
  done
  echo "$out" >&2; return 1
}

pids= failed=0
for node in $ALIVE; do leave "$node" drain & pids="$pids $!"; done
# A dead host ends no pods; the cluster collects them once the node is gone.
for node in $DEAD; do leave "$node" no & pids="$pids $!"; done
for pid in $pids; do wait "$pid" || failed=1; done
exit $failed
