# Joins an existing etcd: a member is a learner first, and is promoted once it has caught up (etcd.io, Learner).
peer() { echo "https://$(in_url "$1"):2380"; }
own_line() { members | awk -v ip="$IP" '$1 == ip'; }

# enter DATA: sets `initial` to the members that it starts with. It is empty if this was a member before and has its data.
enter() {
  local all mine id out
  initial=
  for try in $(seq 30); do all=$(members) && break; sleep 1; done
  [ -n "$all" ] || fail 'the members of etcd cannot be listed; nothing was changed'
  mine=$(awk -v ip="$IP" '$1 == ip' <<< "$all")
  [ -z "$mine" ] || [ ! -d "$1/member" ] || return 0
  # A member without its data can never become that member again (etcd.io, Runtime reconfiguration design).
  id=$(awk '{ print $2 }' <<< "$mine")
  [ -z "$id" ] || out=$(etcd member remove "$id") || fail "the member that $IP was cannot be removed: $(tail -1 <<< "$out")"
  find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name '.before-*' -exec rm -rf --one-file-system {} +
  # Etcd reports itself unhealthy until its members have been connected for some seconds.
  for try in $(seq 60); do
    out=$(etcd member add "$NAME" --learner --peer-urls="$(peer "$IP")") && break
    case $out in *'too many learner'*) fail "etcd has a learner that is not promoted yet: $(members | awk '$4 == "true" { print $1 }')" ;; esac
    [ "$try" != 60 ] || fail "etcd does not take in $NAME: $(tail -1 <<< "$out")"
    sleep 1
  done
  initial=$(sed -n 's/^ETCD_INITIAL_CLUSTER="\(.*\)"$/\1/p' <<< "$out")
  [ -n "$initial" ] || fail "etcd took in $NAME, but did not name its members: $out"
  changed "$NAME is a learner of etcd"
}

# promote: promotes the learner, or removes it if it does not catch up, so that etcd is unchanged.
promote() {
  # The limit is a time: an attempt takes a second or more if etcd is slow.
  local line out left until=$((SECONDS + LEARNER_SECONDS))
  while [ "$SECONDS" -lt "$until" ]; do
    line=$(own_line)
    [ -n "$line" ] && [ "$(awk '{ print $4 }' <<< "$line")" = false ] && break
    [ -n "$line" ] && out=$(etcd member promote "$(awk '{ print $2 }' <<< "$line")") || sleep 1
  done
  line=$(own_line)
  [ -n "$line" ] || fail "the members of etcd do not answer, or do not list $NAME, which may still be a member"
  if [ "$(awk '{ print $4 }' <<< "$line")" != false ]; then
    # An etcd in which a learner cannot catch up may be slow to remove it too.
    left='was taken out again' until=$((SECONDS + 60))
    until etcd member remove "$(awk '{ print $2 }' <<< "$line")" > /dev/null || none_of "$IP"; do
      [ "$SECONDS" -lt "$until" ] || { left='cannot be taken out again'; break; }
      sleep 1
    done
    fail "$NAME did not catch up with etcd within $LEARNER_SECONDS s and $left: $(tail -1 <<< "${out-}")"
  fi
  until=$((SECONDS + 60))
  until answers "$IP"; do
    [ "$SECONDS" -lt "$until" ] || fail "$NAME is a member of etcd, but does not answer"
    sleep 1
  done
}

# member_unit FILE INITIAL-CLUSTER: prints the unit for a new member of an existing etcd.
member_unit() {
  sed -e '/^\[X-Matryoshka\]$/d' -e '/^Members=/d' -e "s#--initial-cluster=[^ ]* --initial-cluster-state=[^ ]*#--initial-cluster=$2 --initial-cluster-state=existing#" "$1"
}
# settle_unit FILE: the unit of a member with data names this member alone, as one of an existing etcd. So a member that has
# lost its data does not start, neither as a new etcd nor under its old identity. The drift agent reads `Members`.
settle_unit() {
  local text all
  ! grep -q '^Members=' "$1" || return 0
  all=$(sed -n 's/^ *--initial-cluster=\([^ ]*\) .*/\1/p' "$1")
  text=$(member_unit "$1" "$NAME=$(peer "$IP")") && [ -n "$all" ] || return 0
  write_file "$1" 644 "$text"$'\n[X-Matryoshka]\n'"Members=$all"$'\n'
}
