# Finds out whether the member of etcd on this host has lost its data. Only other members can give it back: a single member is
# restored from a snapshot.
[ -e "$R/etc/matryoshka/joined" ] && [ -n "$ETCD_PEERS" ] || enough
# What etcd said before it ended. Each start of its container has a log of its own.
last_words() {
  local log
  if [ -n "$ETCD_HERE" ]; then
    log=$(find "$R/var/log/pods" -path '*/kube-system_etcd-*/etcd/*.log' -printf '%T@ %p\n' 2> /dev/null | sort -n | tail -1)
    [ -z "$log" ] || tail -n 100 "${log#* }"
  else journalctl -u matryoshka-etcd -n 100 --no-pager -o cat; fi
}
# Messages of etcd's server, raft, WAL and bbolt about data that is gone or damaged, and about a member that was removed.
LOST='raft log corrupted, truncated, or lost|crc mismatch|failed to find database snapshot|failed to recover v3 backend|invalid database|file size too small|already been bootstrapped|permanently removed'
if ! etcd_has_data; then result lost_data 'there is no data in /var/lib/etcd'
elif own=$(etcd_id_at "$IP"); then
  for address in $ETCD_PEERS; do
    theirs=$(etcd_id_at "$address") || continue
    [ "$own" = "$theirs" ] || result lost_data 'the data in /var/lib/etcd is of another etcd'
    break
  done
elif said=$(last_words | grep -oE "$LOST" | tail -1) && [ -n "$said" ]; then result lost_data "etcd does not start with the data in /var/lib/etcd: $said"; fi
