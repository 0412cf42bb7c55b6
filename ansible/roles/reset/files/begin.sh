# Whose remains these are, before anything is undone: only what our manifest, or the one that is reclaimed, lists.
by=$(made_by)
if [ -n "$ONLY_RECLAIMED" ]; then
  { [ -n "$by" ] && [ "$by" = "$RECLAIM" ] && [ "$by" != "$CLUSTER_ID" ]; } || enough
fi
[ -z "$by" ] || [ "$by" = "$CLUSTER_ID" ] || [ "$by" = "$RECLAIM" ] ||
  abort "HostConflict: $manifest lists what cluster $by has made here; it is left as it is"
# What an earlier reset was deleting when the host went down.
delete_asides || exit 1
