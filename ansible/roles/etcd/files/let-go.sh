# Removes members from etcd before their data is deleted: a voter without data takes its vote with it.

# lives ADDRESS: a member without a listening port is dead at once. A slow one is asked again.
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
  # Only a list of members that lacks the member proves that it has left. Without a leader etcd answers no list.
  for try in $(seq 30); do
    out=$(etcd member remove "$2") && { changed "$3 left etcd"; return 0; }
    all=$(members) && ! awk '{ print $2 }' <<< "$all" | grep -qx "$2" && { changed "$3 left etcd"; return 0; }
    sleep 1
  done
  fail "$3 ($1) cannot be removed from etcd: $(tail -1 <<< "$out")"
}

# leave_etcd: removes from etcd what an interrupted join of this host has added. Its data stays if a list of members,
# answered by others, still has it, or if the others would lose their quorum.
leave_etcd() {
  local all mine id name learner end
  [ -e "$R/etc/kubernetes/manifests/etcd.yaml" ] || [ -d "$R/var/lib/etcd/member" ] || return 0
  [ -n "$ETCD_ENDPOINTS" ] ||
    fail 'this host has data of etcd, and no other member is known to be asked about it: nothing was changed; take the host out by "scaling-down" first'
  [ -x "$work/etcd/usr/local/bin/etcdctl" ] || unpack etcd "$ETCD_IMAGE"
  # Two voters need each other to agree on anything.
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
