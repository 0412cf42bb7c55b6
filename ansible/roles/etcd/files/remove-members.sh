# Members of control planes that leave go one by one, those that do not answer first: each time as many as can be are
# left to agree. A leader hands over before.
gone() { # ADDRESS ID NAME
  local to leader out
  leader=$(etcd --endpoints "$(at "$1")" endpoint status -w fields 2>/dev/null | awk -F' : ' '/^"(MemberID|Leader)"/ { v[$1] = $2 } END { if (v["\"MemberID\""] != "" && v["\"MemberID\""] == v["\"Leader\""]) print "yes" }')
  if [ "$leader" = yes ]; then
    to=$(members | awk -v leaving=" $LEAVING " 'index(leaving, " " $1 " ") == 0 && $4 == "false" { print $2; exit }')
    out=$(etcd --endpoints "$(at "$1")" move-leader "$to") || echo "$3 does not hand over as leader of etcd: $(tail -1 <<< "$out")"
  fi
  # Only a list of members that was answered, and that lacks it, says that it is gone: without a leader nobody answers.
  for try in $(seq 30); do
    out=$(etcd member remove "$2") && { changed "$3 left etcd"; return 0; }
    all=$(members) && ! awk '{ print $2 }' <<< "$all" | grep -qx "$2" && { changed "$3 left etcd"; return 0; }
    sleep 1
  done
  fail "$3 ($1) cannot be removed from etcd: $(tail -1 <<< "$out")"
}
check_etcd "$LEAVING" "$JOINING"
all=$(members) || fail 'the members of etcd cannot be listed'
dead= alive=
while read -r address id name learner; do
  case " $LEAVING " in *" $address "*) ;; *) continue ;; esac
  if answers "$address"; then alive="$alive$address $id $name"$'\n'; else dead="$dead$address $id $name"$'\n'; fi
done <<< "$all"
while read -r address id name; do
  [ -z "$address" ] || gone "$address" "$id" "$name"
done <<< "$dead$([ -n "$ONLY_DEAD" ] || printf %s "$alive")"
# Whoever leaves is reset next: those that stay must be able to agree without it.
[ -z "$dead$alive" ] || check_etcd "$LEAVING" "$JOINING"
if [ -z "$ONLY_DEAD" ]; then
  for try in $(seq 30); do
    all=$(members) && ! awk -v leaving=" $LEAVING " 'index(leaving, " " $1 " ") { y = 1 } END { exit !y }' <<< "$all" && exit 0
    sleep 1
  done
  fail "members that leave are in etcd still: $all"
fi
