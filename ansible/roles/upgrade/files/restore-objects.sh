# Restores the objects that kubeadm upgrades in the cluster, as they were before the upgrade.
objects=$work/upgrade/$KUBE_VERSION/cluster.yaml
[ -s "$objects" ] && ! is_applied || { echo 'the upgrade changed no object of the cluster'; exit 0; }
# An API server that has just started may not answer, or not know all permissions yet.
for try in $(seq 60); do
  out=$(kubectl apply --validate=false --server-side --field-manager=matryoshka-rollback --force-conflicts -f "$objects" 2>&1) && break
  [ "$try" != 60 ] || fail "the cluster's objects cannot be restored: $(tail -1 <<< "$out")"
  sleep 2
done
changed 'kubeadm-config, kubelet-config, kube-proxy and CoreDNS are as before'
