# Puts the former version back on this host: programs, static pods and the kubelet's settings. KUBE_VERSION is the former one.
was_healthy=
[ -z "$IS_MASTER" ] || ! healthy || was_healthy=yes
rm -f "$work"/upgrade/*/upgraded "$work"/upgrade/*/done "$work"/upgrade/*/begun
# Files of a host that has nothing of the later version stay as they are: they may have changed since they were kept.
if ! runs_kubelet "$KUBE_VERSION" || ! has_static_pods "$KUBE_VERSION" || [ -e "$work/upgrade/$KUBE_VERSION/changing" ]; then
  put_former "$KUBE_VERSION" "$KUBELET_SHA256"
fi
for name in kubeadm ${KUBECTL_PATH:+kubectl}; do
  case $name in kubeadm) sum=$KUBEADM_SHA256 ;; kubectl) sum=$KUBECTL_SHA256 ;; esac
  put_program "$name" "$KUBE_VERSION" "$sum"
done
if [ -n "$IS_MASTER" ]; then
  # If too few members of etcd run, this API server becomes ready only after the next host is back. So it waits for a while.
  for try in $(seq 90); do serves "$KUBE_VERSION" && break; sleep 1; done
  [ -z "$was_healthy" ] || serves "$KUBE_VERSION" || fail "the control plane on this host does not become ready with $KUBE_VERSION; see the pods of kube-system on it, then retry"
fi
version kubelet "$KUBE_VERSION"
did changed
