# Labels and taints of nodes as they are wanted now; what was set before and is not wanted any more is taken away.
while read -r node patch; do
  [ -n "$node" ] || continue
  # A patch and no argument of a command: a label is data, whatever stands in it.
  out=$(kubectl patch node "$node" --type merge --patch-file /dev/stdin 2>&1 <<< "$patch") || fail "$out"
  case $out in *'no change'*) ;; *) changed "labels of $node" ;; esac
done <<< "$LABELS"
while read -r node taint; do
  [ -n "$node" ] || continue
  out=$(kubectl taint node "$node" --overwrite "$taint" 2>&1) && changed "taint $taint of $node" && continue
  case $taint:$out in *-:*'not found'*) ;; *) fail "$out" ;; esac
done <<< "$TAINTS"
for host in $HOSTS; do did changed "$host"; done
