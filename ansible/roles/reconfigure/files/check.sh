# Refuses to begin if this control plane is not healthy: its components restart one host at a time, which needs the others. What
# an attempt has left that was cut short is mended first.
umask 077
mkdir -p "$state" || exit 1
# A manifest was away when that attempt ended, and its copy must not leave the baseline.
close_seal || exit 1
cut=$(find "$R$kubernetes" -maxdepth 1 -type f -name '.kube-*.matryoshka' -printf '%f ' 2> /dev/null)
take_up || exit 1
undo_settings || fail 'an attempt to change settings was cut short on this host, and what was there before does not become ready; repair the cluster, then ask again'
for pod in $components; do
  case " $cut" in *" .$pod.matryoshka "*) ;; *) continue ;; esac
  [ -s "$R$kubernetes/manifests/$pod.yaml" ] || { put_copy "$kubernetes/manifests/$pod.yaml" && await_pod "$pod" 240; } ||
    fail "$pod does not become ready with its manifest, which an attempt that was cut short had moved; repair the cluster, then ask again"
done
healthy || fail 'the API server of this control plane is not ready; repair it first; nothing was changed'
for pod in $components; do
  [ -s "$R$kubernetes/manifests/$pod.yaml" ] || fail "$kubernetes/manifests/$pod.yaml is missing; repair the cluster (operation annotation \"repairing\"); nothing was changed"
done
has_static_pods "$KUBE_VERSION" ||
  fail "VersionDiffers: this control plane has manifests of another version than $KUBE_VERSION, so an upgrade is unfinished; finish it (\"updating\") or undo it (\"rollbacking\"); nothing was changed"
