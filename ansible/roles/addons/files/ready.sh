# Labels and schedulability of nodes, then waits until every node is Ready and every pod of the system runs.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:$PATH KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube
changed() { echo "changed: $*"; }
deadline=$(($(date +%s) + WAIT_SECONDS))
left() { local rest=$((deadline - $(date +%s))); [ "$rest" -gt 1 ] && echo "$rest" || echo 1; }

# Polled, because `kubectl wait` gives up on a node that has not registered yet, and right after a start an API
# server may refuse for a moment what it will allow.
until missing=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>&1 |
    awk -v nodes="$NODES" '{ seen[$0] = 1 } END { n = split(nodes, name, " "); for (i = 1; i <= n; i++) if (!((name[i] "=True") in seen)) print name[i] }') && [ -z "$missing" ]; do
  [ "$(left)" -gt 1 ] || { echo "not Ready within $WAIT_SECONDS s: $missing" >&2; kubectl get nodes -o wide >&2; exit 1; }
  sleep 0.5
done
while read -r node labels; do
  [ -n "$node" ] || continue
  out=$(kubectl label node "$node" --overwrite $labels 2>&1) || { echo "$out" >&2; exit 1; }
  case $out in *'not labeled'*) ;; *) changed "labels of $node" ;; esac
done <<< "$LABELS"
for node in $UNTAINT; do
  out=$(kubectl taint node "$node" node-role.kubernetes.io/control-plane:NoSchedule- 2>&1) && changed "$node takes ordinary pods"
done

until waiting=$(kubectl get pods -A --no-headers 2>&1 | awk '
    $1 ~ /^kube-(system|flannel)$/ { split($3, n, "/"); if ($4 != "Completed" && (n[1] != n[2] || $4 != "Running")) print $1 "/" $2 " " $4 }
    $1 !~ /^kube-/ && /refused|error|Unable/ { print }') && [ -z "$waiting" ]; do
  [ "$(left)" -gt 1 ] || { echo "not running within $WAIT_SECONDS s:" >&2; echo "$waiting" >&2; exit 1; }
  sleep 0.5
done
