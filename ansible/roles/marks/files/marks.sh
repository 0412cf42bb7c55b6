# Sets the labels and taints of nodes, and removes those that were set before and are no longer wanted.
while read -r node patch; do
  [ -n "$node" ] || continue
  # A label is data, whatever it contains. So it is in a patch, not in an argument.
  out=$(kubectl patch node "$node" --type merge --patch-file /dev/stdin 2>&1 <<< "$patch") || fail "$out"
  case $out in *'no change'*) ;; *) changed "labels of $node" ;; esac
done <<< "$LABELS"
while read -r node taint; do
  [ -n "$node" ] || continue
  out=$(kubectl taint node "$node" --overwrite "$taint" 2>&1) && changed "taint $taint of $node" && continue
  case $taint:$out in *-:*'not found'*) ;; *) fail "$out" ;; esac
done <<< "$TAINTS"
for host in $HOSTS; do did changed "$host"; done
