# Finds out whether the member of etcd on this host has lost its data. Only a majority of members of one etcd can give it back:
# otherwise a snapshot must be restored.
rm -f "$pending.why"
[ -e "$R/etc/matryoshka/joined" ] && [ -n "$ETCD_PEERS" ] || enough
# Prints the id of the etcd to which a majority of all members belongs, this one left out.
majority() {
  local address
  for address in $ETCD_PEERS; do etcd_id_at "$address"; done |
    awk -v peers="$(wc -w <<< "$ETCD_PEERS")" '{ has[$1]++ } END { for (id in has) if (has[id] * 2 > peers + 1) print id }'
}
is_learner() {
  local address
  for address in $ETCD_PEERS; do
    listed_at "$address" | grep -o '{[^{}]*}' | grep -F "\"https://$(in_url "$IP"):2380\"" | grep -q '"isLearner":true' && return
  done
  return 1
}
# Whether this member may have its data in another place than /var/lib/etcd. Then the others know it as healthy or stopped, and
# it stays as it is.
is_elsewhere() {
  local copy said
  if [ -n "$ETCD_HERE" ]; then
    [ -e "$R$kubernetes/manifests/etcd.yaml" ] && copy=$(copy_of $kubernetes/manifests/etcd.yaml) &&
      [ "$(places "$R$kubernetes/manifests/etcd.yaml")" != "$(places "$copy")" ] && return
    grep -lE -- '(data|wal)-dir' "$R$kubernetes"/manifests/* 2> /dev/null | grep -qvx "$R$kubernetes/manifests/etcd.yaml"
  else
    copy=$(copy_of $etcd_unit) || copy=$R$etcd_unit
    said=$(diff "$copy" "$R$etcd_unit" 2> /dev/null | sed -n 's/^[<>] //p'
      systemctl show -P DropInPaths matryoshka-etcd.service 2> /dev/null | tr ' ' '\n' | while read -r copy; do [ -z "$copy" ] || cat "$R$copy"; done)
    may_have_other_data "$said"
  fi
}
# Prints the log of etcd since its last start. Each start of the container has a separate log.
last_words() {
  local log id
  if [ -n "$ETCD_HERE" ]; then
    log=$(find "$R/var/log/pods" -path "*/kube-system_etcd-${NAME}_*/etcd/*.log" -printf '%T@ %p\n' 2> /dev/null | sort -n | tail -1)
    [ -z "$log" ] || tail -n 100 "${log#* }"
  else
    id=$(systemctl show -P InvocationID matryoshka-etcd.service)
    [ -z "$id" ] || journalctl "_SYSTEMD_INVOCATION_ID=$id" -n 100 --no-pager -o cat
  fi
}
# Messages of etcd's server, raft, WAL and bbolt about data that is gone or damaged, and about a member that was removed.
LOST='raft log corrupted, truncated, or lost|crc mismatch|failed to find database snapshot|failed to recover v3 backend|invalid database|file size too small|already been bootstrapped|permanently removed'
theirs=$(majority)
[ -n "$theirs" ] || enough
lost() { result etcd_id "$theirs"; result lost_data "$1"; }
if own=$(etcd_id_at "$IP"); then
  if [ "$own" != "$theirs" ]; then lost 'the data in /var/lib/etcd is of another etcd'
  elif is_learner; then lost 'it is a learner, left by an interrupted repair'; fi
elif is_elsewhere; then enough
elif ! etcd_has_data; then lost 'there is no data in /var/lib/etcd'
elif said=$(last_words | grep -oE "$LOST" | tail -1) && [ -n "$said" ]; then lost "etcd does not start with the data in /var/lib/etcd: $said"; fi
