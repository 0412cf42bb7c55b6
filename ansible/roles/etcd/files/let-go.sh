# Members of etcd leave it before their data goes: a voter whose data is gone takes its vote with it.

# lives ADDRESS: where nothing listens it is dead at once; one that is slow to answer is asked again.
lives() {
  local try
  for try in 1 2; do timeout 2 bash -c ": < /dev/tcp/$1/2379" 2> /dev/null && answers "$1" && return 0; sleep 1; done
  return 1
}

hand_over() { # ADDRESS NAME: where it leads
  local to leader out
  leader=$(etcd --endpoints "$(at "$1")" endpoint status -w fields 2>/dev/null | awk -F' : ' '/^"(MemberID|Leader)"/ { v[$1] = $2 } END { if (v["\"MemberID\""] != "" && v["\"MemberID\""] == v["\"Leader\""]) print "yes" }')
  [ "$leader" = yes ] || return 0
  to=$(members | awk -v leaving=" $LEAVING " 'index(leaving, " " $1 " ") == 0 && $4 == "false" { print $2; exit }')
  out=$(etcd --endpoints "$(at "$1")" move-leader "$to") || echo "$2 does not hand over as leader of etcd: $(tail -1 <<< "$out")"
}

gone() { # ADDRESS ID NAME
  local out
  # Only a list of members that was answered, and that lacks it, says that it is gone: without a leader nobody answers.
  for try in $(seq 30); do
    out=$(etcd member remove "$2") && { changed "$3 left etcd"; return 0; }
    all=$(members) && ! awk '{ print $2 }' <<< "$all" | grep -qx "$2" && { changed "$3 left etcd"; return 0; }
    sleep 1
  done
  fail "$3 ($1) cannot be removed from etcd: $(tail -1 <<< "$out")"
}

# leave_etcd: what a join that was cut short has made of this host in etcd is undone there. Whatever records say, no data
# goes that a list of members, answered by others, still has; nor where others would be left without a quorum.
leave_etcd() {
  local all mine id name learner end
  [ -e "$R/etc/kubernetes/manifests/etcd.yaml" ] || [ -d "$R/var/lib/etcd/member" ] || return 0
  [ -n "$ETCD_ENDPOINTS" ] ||
    fail 'this host has data of etcd, and no other member is known to be asked about it: nothing was changed; take the host out by "scaling-down" first'
  [ -x "$work/etcd/usr/local/bin/etcdctl" ] || unpack etcd "$ETCD_IMAGE"
  # Of two voters both are needed to agree on anything.
  systemctl is-active -q kubelet || systemctl start kubelet 2> /dev/null
  end=$((SECONDS + ${ETCD_ANSWERS_WITHIN:-120}))
  until all=$(members 2> /dev/null) || [ $SECONDS -ge $end ]; do sleep 1; done
  [ -n "$all" ] || fail 'this host may be a member of etcd, and the others do not answer: its data is left; start or restore them first'
  mine=$(awk -v ip="$IP" '$1 == ip' <<< "$all")
  if [ -n "$mine" ]; then
    read -r _ id name learner <<< "$mine"
    LEAVING=$IP
    [ "$learner" = true ] || check_etcd "$IP" "$IP $JOINING_ETCD"
    hand_over "$IP" "$name"
    gone "$IP" "$id" "$name"
    none_of "$IP" || fail "$name ($IP) is a member of etcd still; its data is left"
  fi
  forget_programs
}
