# Refuses to upgrade a cluster that is not healthy, or whose upgrade to another version is unfinished. Nothing was changed
# before. Says whether kubeadm has already upgraded the cluster itself.
has=$(kubectl --request-timeout=20s -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' | sed -n 's/^kubernetesVersion: *//p' | tr -d "\"'")
case $has in
  "$FROM") ;;
  "$KUBE_VERSION") result applied yes ;;
  '') fail 'ConfigMap kubeadm-config has no kubernetesVersion, so the version of the cluster is unknown; nothing was changed' ;;
  *) fail "VersionDiffers: the cluster says in ConfigMap kubeadm-config that it is $has, and Matryoshka made it as $FROM; nothing was changed" ;;
esac
# An upgrade that has begun continues, also with the host that is not healthy since.
[ "$has" = "$FROM" ] || exit 0
check_components "$STAYING"
# A kubelet that has just restarted is not Ready for a moment.
for try in $(seq 60); do
  nodes=$(kubectl --request-timeout=15s get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}') &&
    unready=$(grep -v '=True$' <<< "$nodes" | sed -n 's/=.*//p' | paste -sd' ') && [ -z "$unready" ] && exit 0
  sleep 1
done
[ -n "$nodes" ] || fail 'the nodes of the cluster cannot be listed; nothing was changed'
fail "nodes are not Ready: $unready; repair or remove them first; nothing was changed"
