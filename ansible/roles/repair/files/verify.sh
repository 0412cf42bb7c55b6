# Checks at the end whether this host matches its baseline.
# An external etcd host of an earlier version has no drift agent. Condition HostsAsMade says so.
[ -z "$ETCD_ONLY" ] || [ -e "$seal" ] || exit 0
[ -e "$R/etc/matryoshka/joined" ] && [ -e "$seal" ] ||
  fail 'this host has no baseline, so its differences are unknown; replace the host'
why=$(cat "$pending.why" 2>/dev/null)
[ -z "$why" ] || [ ! -s "$pending" ] || fail "$why"
for try in $(seq "$TRIES"); do
  list=$(differing) || fail 'the differences from the baseline are unknown'
  said= never=
  while IFS=$'\t' read -r kind thing how; do
    [ -n "$kind" ] || continue
    because=$(obstacle "$kind" "$thing" "$how")
    [ "$(remedy "$kind" "$thing" "$how" "$list")" != none ] || never="$never${never:+, }$thing $how${because:+ ($because)}"
    said="$said${said:+, }$thing $how"
  done <<< "$list"
  [ -z "$never" ] || fail "cannot be made again: $never; nothing was changed on this host: put it back yourself, or replace the host"
  [ -n "$said" ] || { did changed; exit 0; }
  sleep 1
done
fail "still differs from what was made: $said; put it back yourself, or replace the host"
