# Drains a worker before its upgrade. The node stays in the cluster.
begin_evicting
[ -z "$elsewhere" ] || fail "node $(cut -d' ' -f2,3 <<< "$elsewhere" | sed '/^$/d; s/ / has the address /'), not that of the host; $UNDONE"
[ -n "$present" ] && [ "$present" != ' ' ] || fail "the cluster has no node of this host; repair it first (operation annotation \"repairing\"); $UNDONE"
evict
changed "node ${present// /} is drained"
