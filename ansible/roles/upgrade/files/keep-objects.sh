# Keeps the objects that kubeadm upgrades in the cluster, for a way back.
objects=$work/upgrade/$FROM/cluster.yaml
text=$(kubectl --request-timeout=20s -n kube-system get -o yaml configmap/kubeadm-config configmap/kubelet-config configmap/kube-proxy configmap/coredns deployment/coredns daemonset/kube-proxy --ignore-not-found) ||
  fail 'the objects that an upgrade changes cannot be read; nothing was changed'
write_file "$objects" 600 "$(sed -E '/^ *(resourceVersion|uid|creationTimestamp|generation): /d' <<< "$text")"$'\n' || exit 1
