# Upgrades this control plane. Finished work stays, so a retry continues.
COMPONENTS='kube-apiserver kube-controller-manager kube-scheduler'
has_settled() { # whether this control plane runs the new version, and is ready
  local pods
  healthy && curl -sk -m 3 https://127.0.0.1:6443/version | grep -qF "\"$KUBE_VERSION\"" || return 1
  # shellcheck disable=SC2046
  pods=$(kubectl -n kube-system get pods $(printf "%s-$NODE_NAME " $COMPONENTS) -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {.status.containerStatuses[0].image}{"\n"}{end}' 2> /dev/null) &&
    [ "$(grep -c "^True .*:$KUBE_VERSION\$" <<< "$pods")" = 3 ] || return 1
  [ "$(kubectl get node "$NODE_NAME" -o 'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = "$KUBE_VERSION True" ]
}
# A member that another failure keeps away must not be one of two. A host whose upgrade has begun continues.
if [ -e /etc/kubernetes/manifests/etcd.yaml ] && [ ! -e "$work/upgrade/$FROM/begun" ] && [ "$OTHERS" != '' ]; then check_etcd "$IP" ''; fi
keep_files
write_file "$work/upgrade/$FROM/begun" 600 $'yes\n' || exit 1
put_program kubeadm "$KUBE_VERSION" "$KUBEADM_SHA256"
put_program kubectl "$KUBE_VERSION" "$KUBECTL_SHA256"
if [ -n "$APPLIES" ]; then
  [ -e "$upgraded" ] && has_static_pods "$KUBE_VERSION" && is_applied || kubeadm_upgrade apply "$KUBE_VERSION" --yes
elif ! { [ -e "$upgraded" ] && has_static_pods "$KUBE_VERSION"; }; then kubeadm_upgrade node
fi
has_static_pods "$KUBE_VERSION" || fail "kubeadm left the manifests of an older version; see $state/upgrade.out on this host"
put_program kubelet "$KUBE_VERSION" "$KUBELET_SHA256"
runs_kubelet "$KUBE_VERSION" || restart_kubelet
for try in $(seq 240); do has_settled && break; sleep 1; done
has_settled || fail "the control plane on this host is not ready with $KUBE_VERSION; see the pods of kube-system on it, then retry"
# Balancers use an API server again after two answers a second apart. The next control plane waits for that.
sleep 3
write_file "$work/upgrade/$KUBE_VERSION/done" 600 $'yes\n' || exit 1
version kubelet "$KUBE_VERSION"
did changed
