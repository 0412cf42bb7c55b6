# Removes the members of leaving control planes one by one, dead ones first, so that the quorum lasts as long as possible. A
# leader hands over before it leaves (let-go.sh).
if none_of "$LEAVING"; then result let_go "$LEAVING"; exit 0; fi
check_etcd "$LEAVING" "$JOINING"
all=$(members) || fail 'the members of etcd cannot be listed'
dead= alive=
while read -r address id name learner; do
  case " $LEAVING " in *" $address "*) ;; *) continue ;; esac
  if lives "$address"; then alive="$alive$address $id $name"$'\n'; else dead="$dead$address $id $name"$'\n'; fi
done <<< "$all"
while read -r address id name; do [ -z "$address" ] || gone "$address" "$id" "$name"; done <<< "$dead"
[ -n "$ONLY_DEAD" ] || while read -r address id name; do
  [ -z "$address" ] || { hand_over "$address" "$name"; gone "$address" "$id" "$name"; }
done <<< "$alive"
# The leaving hosts are reset next, so those that stay need a quorum without them.
[ -z "$dead$alive" ] || check_etcd "$LEAVING" "$JOINING"
[ -z "$ONLY_DEAD" ] || exit 0
for try in $(seq 30); do
  none_of "$LEAVING" && { result let_go "$LEAVING"; exit 0; }
  sleep 1
done
fail "members that leave are in etcd still: $(members 2>&1)"
