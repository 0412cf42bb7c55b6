# Upgrades the kubelet of this worker. kubeadm rewrites the kubelet's configuration and flags, which the new kubelet needs.
keep_files
put_program kubeadm "$KUBE_VERSION" "$KUBEADM_SHA256"
if ! runs_kubelet "$KUBE_VERSION"; then
  kubeadm_upgrade node
  put_program kubelet "$KUBE_VERSION" "$KUBELET_SHA256"
  restart_kubelet
fi
version kubelet "$KUBE_VERSION"
did changed
