# Refuses to upgrade if a member of etcd is not healthy. Prints the address of the leader, which is upgraded last.
# An upgrade that has begun checks the other members before each one.
[ -n "$APPLIED" ] || check_etcd '' ''
leader=$(etcd endpoint status --cluster -w table | awk -F'|' '
  /IS LEADER/ { for (i = 1; i <= NF; i++) if ($i ~ /IS LEADER/) at = i }
  at && $at ~ /true/ { url = $2; gsub(/ |https:\/\/|:[0-9]+ *$/, "", url); gsub(/[][]/, "", url); print url; exit }')
result leader "$leader"
