# is_applied: whether kubeadm has upgraded the cluster itself: its configuration, CoreDNS and kube-proxy.
is_applied() {
  kubectl -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' 2> /dev/null | grep -q "^kubernetesVersion: *\"\{0,1\}$KUBE_VERSION\"\{0,1\}\$"
}
