# Writes where etcd is into kubeadm's configuration, which joining control planes follow.
config=$(kubectl -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || fail "$config"
present=$(awk '/^etcd:/ { keep = 1; print; next } /^[^ ]/ { keep = 0 } keep' <<< "$config")
# Before a join only the kind of etcd matters: an abandoned move has left the other one.
[ -z "${ETCD_KIND-}" ] || ! grep -qE "(^|[ {\"])$ETCD_KIND\"?:" <<< "$present" || exit 0
# Arguments that a user has written stay.
[ -z "${KEEP_ARGUMENTS-}" ] || ! grep -q extraArgs <<< "$present" || exit 0
# The block `etcd:` ends at the next line that is not indented. JSON is YAML as well.
next=$(awk '/^etcd:/ { skip = 1; next } /^[^ ]/ { skip = 0 } !skip' <<< "$config"; sed 's/^{\(.*\)}$/\1/; s/^"etcd"/etcd/' <<< "$ETCD_STANZA")
[ "$next" != "$config" ] || exit 0
mkdir -p "$state"
write_file "$state/ClusterConfiguration" 600 "$next"$'\n' || exit 1
kubectl -n kube-system create configmap kubeadm-config --from-file="$state/ClusterConfiguration" --dry-run=client -o json |
  kubectl -n kube-system replace --validate=false -f - > /dev/null || fail 'kubeadm-config cannot be changed'
rm -f "$state/ClusterConfiguration"
