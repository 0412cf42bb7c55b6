# Upgrades this control plane. Finished work stays, so a retry continues.
components='kube-apiserver kube-controller-manager kube-scheduler'
has_settled() { # whether this control plane runs the new version, and is ready
  local pods
  serves "$KUBE_VERSION" || return 1
  # shellcheck disable=SC2046
  pods=$(kubectl -n kube-system get pods $(printf "%s-$NODE_NAME " $components) -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {.status.containerStatuses[0].image}{"\n"}{end}' 2> /dev/null) &&
    [ "$(grep -c "^True .*:$KUBE_VERSION\$" <<< "$pods")" = 3 ] || return 1
  [ "$(kubectl get node "$NODE_NAME" -o 'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = "$KUBE_VERSION True" ]
}
is_shown() { [[ $(kubectl -n kube-system get pod "kube-apiserver-$NODE_NAME" -o 'jsonpath={.spec.containers[0].image}' 2> /dev/null) == *":$KUBE_VERSION" ]]; }
await_settled() {
  local try
  for try in $(seq 240); do ! has_settled || return 0; sleep 1; done
  fail "the control plane on this host is not ready with $KUBE_VERSION; see the pods of kube-system on it, then retry"
}
# A member that another failure keeps away must not be one of two. A host whose upgrade has begun continues.
if [ -e "$R/etc/kubernetes/manifests/etcd.yaml" ] && [ ! -e "$work/upgrade/$FROM/begun" ] && [ "$OTHERS" != '' ]; then check_etcd "$IP" ''; fi
keep_files
write_file "$work/upgrade/$FROM/begun" 600 $'yes\n' || exit 1
put_program kubeadm "$KUBE_VERSION" "$KUBEADM_SHA256"
put_program kubectl "$KUBE_VERSION" "$KUBECTL_SHA256"
if ! has_static_pods "$KUBE_VERSION" || ! runs_kubelet "$KUBE_VERSION"; then
  # It refuses before anything changes.
  [ -z "$APPLIES" ] || is_applied || kubeadm_upgrade apply phase preflight --yes
  make_manifests
  write_file "$work/upgrade/$FROM/changing" 600 $'yes\n' || exit 1
  # A kubelet does not start with flags that its version no longer has.
  kubeadm_upgrade node phase kubelet-config
  kubeadm_upgrade node phase post-upgrade
  switch_to_new
fi
is_installed kubelet "$KUBELET_SHA256" || mark kubelet "$KUBELET_SHA256"
await_new || {
  why=$(last_words "$late")
  # Workers and the cluster may have the new version already.
  [ ! -e "$upgraded" ] || fail "$late does not become ready with $KUBE_VERSION; see the pods of kube-system on this host, then retry: $why"
  put_former "$FROM" "$(sha256_of < "$work/upgrade/$FROM/kubelet" | cut -d' ' -f1)"
  for try in $(seq 240); do ! serves "$FROM" || break; sleep 1; done
  serves "$FROM" || fail "$late does not become ready with $KUBE_VERSION, and the control plane does not with $FROM either; see the pods of kube-system on this host: $why"
  # The next attempt checks etcd again.
  rm -f "$work/upgrade/$FROM/begun"
  fail "$late does not become ready with $KUBE_VERSION, and $FROM is back on this host: $why"
}
# By the API servers' pods, kubeadm finds out whether all control planes have the version, and it may upgrade CoreDNS and
# kube-proxy.
for try in $(seq 240); do ! is_shown || break; sleep 1; done
is_shown || fail "the cluster does not show the new kube-apiserver of this host; see its kubelet (journalctl -u kubelet), then retry"
if [ ! -e "$upgraded" ] || { [ -n "$APPLIES" ] && ! is_applied; }; then
  if [ -n "$APPLIES" ]; then kubeadm_upgrade apply "$KUBE_VERSION" --yes --skip-phases=preflight,control-plane
  else kubeadm_upgrade node --skip-phases=control-plane; fi
  # The first control plane brings the kubelet's settings of the new version into the cluster.
  [ "$(kubelet_settings)" = "$(cat "$started_with" 2> /dev/null)" ] || { restart_kubelet; write_file "$started_with" 600 "$(kubelet_settings)"$'\n' || exit 1; }
  write_file "$upgraded" 600 $'yes\n' || exit 1
fi
await_settled
# Balancers use an API server again after two answers a second apart. The next control plane waits for that.
sleep 3
write_file "$work/upgrade/$KUBE_VERSION/done" 600 $'yes\n' || exit 1
version kubelet "$KUBE_VERSION"
did changed
