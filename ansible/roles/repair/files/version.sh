# Refuses a cluster of another version: a repair would restore the recorded one, file by file, and a joining host would have
# it. If no API server answers, the version is unknown, and the repair may be what makes one answer.
made=$(kubectl --request-timeout=10s -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' 2>/dev/null) || exit 0
has=$(sed -n 's/^kubernetesVersion: *//p' <<< "$made" | tr -d "\"'")
[ -z "$has" ] || [ "$has" = "$KUBE_VERSION" ] ||
  fail "VersionDiffers: the cluster says in ConfigMap kubeadm-config that it is $has, and Matryoshka made it as $KUBE_VERSION: an upgrade is unfinished, or a user upgraded it by hand. Nothing was changed. Finish the upgrade (\"updating\") or undo it (\"rollbacking\"); if the ConfigMap is wrong, set its kubernetesVersion to $KUBE_VERSION and ask again"
