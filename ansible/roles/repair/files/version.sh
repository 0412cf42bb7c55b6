# Refuses a cluster that a user upgraded by hand: a repair would restore the recorded version, file by file. If no API server
# answers, the version is unknown, and the repair may be what makes one answer.
made=$(kubectl --request-timeout=10s -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' 2>/dev/null) || exit 0
has=$(sed -n 's/^kubernetesVersion: *//p' <<< "$made" | tr -d "\"'")
[ -z "$has" ] || [ "$has" = "$KUBE_VERSION" ] ||
  fail "VersionDiffers: the cluster says in ConfigMap kubeadm-config that it is $has, and Matryoshka made it as $KUBE_VERSION: a user upgraded it by hand. Nothing is changed, since repairing would take it back to $KUBE_VERSION; if the ConfigMap is wrong, set its kubernetesVersion to $KUBE_VERSION and ask again"
