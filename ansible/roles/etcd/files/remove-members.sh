# Members of control planes that leave go one by one, those that do not answer first: each time as many as can be are
# left to agree. A leader hands over before (let-go.sh).
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
# Whoever leaves is reset next: those that stay must be able to agree without it.
[ -z "$dead$alive" ] || check_etcd "$LEAVING" "$JOINING"
if [ -z "$ONLY_DEAD" ]; then
  for try in $(seq 30); do
    all=$(members) && ! awk -v leaving=" $LEAVING " 'index(leaving, " " $1 " ") { y = 1 } END { exit !y }' <<< "$all" && { result let_go "$LEAVING"; exit 0; }
    sleep 1
  done
  fail "members that leave are in etcd still: $all"
fi
