# Checks the owner before anything is undone: only things of our manifest, or of the one to reclaim, are removed.
by=$(made_by)
if [ -n "$ONLY_RECLAIMED" ]; then
  { [ -n "$by" ] && [ "$by" = "$RECLAIM" ] && [ "$by" != "$CLUSTER_ID" ]; } || enough
fi
[ -z "$by" ] || [ "$by" = "$CLUSTER_ID" ] || [ "$by" = "$RECLAIM" ] ||
  abort "HostConflict: $manifest lists what cluster $by has made here; it is left as it is"
# An earlier reset may have been deleting these when the host went down.
delete_asides || exit 1
