# Labels and schedulability of nodes, then waits until every node is Ready and every pod of the system runs.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:$PATH KUBECONFIG=/etc/kubernetes/admin.conf
changed() { echo "changed: $*"; }
deadline=$(($(date +%s) + WAIT_SECONDS))
left() { local rest=$((deadline - $(date +%s))); [ "$rest" -gt 1 ] && echo "$rest" || echo 1; }

while read -r node labels; do
  [ -n "$node" ] || continue
  out=$(kubectl label node "$node" --overwrite $labels 2>&1) || { echo "$out" >&2; exit 1; }
  case $out in *'not labeled'*) ;; *) changed "labels of $node" ;; esac
done <<< "$LABELS"
for node in $UNTAINT; do
  out=$(kubectl taint node "$node" node-role.kubernetes.io/control-plane:NoSchedule- 2>&1) && changed "$node takes ordinary pods"
done

kubectl wait --for=condition=Ready $NODES --timeout="$(left)s" > /dev/null 2> /run/matryoshka/wait.err || {
  echo "not Ready within $WAIT_SECONDS s:" >&2; cat /run/matryoshka/wait.err >&2
  kubectl get nodes -o wide >&2; exit 1; }
until waiting=$(kubectl get pods -A --no-headers 2>&1 | awk '
    $1 ~ /^kube-(system|flannel)$/ { split($3, n, "/"); if ($4 != "Completed" && (n[1] != n[2] || $4 != "Running")) print $1 "/" $2 " " $4 }
    $1 !~ /^kube-/ && /refused|error|Unable/ { print }') && [ -z "$waiting" ]; do
  [ "$(left)" -gt 1 ] || { echo "not running within $WAIT_SECONDS s:" >&2; echo "$waiting" >&2; exit 1; }
  sleep 0.5
done
