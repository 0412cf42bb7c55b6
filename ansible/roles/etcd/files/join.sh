# Becoming a member of an etcd that is there: a learner first, promoted once it has caught up (etcd.io, Learner).
peer() { echo "https://$(in_url "$1"):2380"; }
own_line() { members | awk -v ip="$IP" '$1 == ip'; }

# enter DATA: sets `initial` to the members that it starts with; empty, where it was a member before and has its data.
enter() {
  local all mine id out
  initial=
  for try in $(seq 30); do all=$(members) && break; sleep 1; done
  [ -n "$all" ] || fail 'the members of etcd cannot be listed; nothing was changed'
  mine=$(awk -v ip="$IP" '$1 == ip' <<< "$all")
  [ -z "$mine" ] || is_empty "$1" || return 0
  # A member whose data is gone can never be that member again (etcd.io, Runtime reconfiguration design).
  id=$(awk '{ print $2 }' <<< "$mine")
  [ -z "$id" ] || out=$(etcd member remove "$id") || fail "the member that $IP was cannot be removed: $(tail -1 <<< "$out")"
  find "$1" -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf --one-file-system {} +
  # Until members have known each other for some seconds etcd calls itself unhealthy.
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

# promote: a learner that does not catch up leaves again, so that etcd is as it was.
promote() {
  # By the clock: a try takes a second and more where etcd is slow to answer.
  local line out left until=$((SECONDS + LEARNER_SECONDS))
  while [ "$SECONDS" -lt "$until" ]; do
    line=$(own_line)
    [ -n "$line" ] && [ "$(awk '{ print $4 }' <<< "$line")" = false ] && break
    [ -n "$line" ] && out=$(etcd member promote "$(awk '{ print $2 }' <<< "$line")") || sleep 1
  done
  line=$(own_line)
  [ -n "$line" ] || fail "the members of etcd do not answer, or do not list $NAME, which may still be a member"
  if [ "$(awk '{ print $4 }' <<< "$line")" != false ]; then
    # An etcd to which a learner cannot catch up may be slow to let it go as well.
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
