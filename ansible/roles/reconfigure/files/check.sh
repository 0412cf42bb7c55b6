# Settings change one host at a time, which needs the others. An attempt that was cut short is undone first.
umask 077
mkdir -p "$state" || exit 1
take_up || exit 1
undo_settings || fail 'an attempt to change settings was cut short on this host, and what was there before does not become ready; repair the cluster, then ask again'
healthy || fail 'the API server of this control plane is not ready; repair it first; nothing was changed'
has_static_pods "$KUBE_VERSION" ||
  fail "VersionDiffers: this control plane has manifests of another version than $KUBE_VERSION, so an upgrade is unfinished; finish it (\"updating\") or undo it (\"rollbacking\"); nothing was changed"
