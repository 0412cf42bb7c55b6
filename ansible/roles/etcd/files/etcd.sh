running() { # LABELS: of the containers of system pods that have these, one that runs
  ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' |
    grep -xF "$(ctr -n k8s.io containers ls -q "$1,labels.\"io.kubernetes.pod.namespace\"==kube-system")" | head -1
}
# container: prints the running member beside this control plane. Pods of users may have containers of that name.
container() { running 'labels."io.kubernetes.container.name"==etcd'; }
# sandbox: prints the sandbox of its pod. It stays until the kubelet has ended the pod, even while a container waits to start
# again.
sandbox() { running 'labels."component"==etcd,labels."tier"==control-plane'; }
# etcd ARGUMENT…: runs etcdctl of this host if it has the programs, else in the member's pod. ETCD_SECONDS: its limit.
etcd() {
  local container pair ca ask= limit=${ETCD_SECONDS:-20}
  # Any member can answer, unless the caller names one.
  case $1 in --endpoints) ;; *) ask=${ETCD_ENDPOINTS:+--endpoints=$ETCD_ENDPOINTS} ;; esac
  if [ -x "$work/etcd/usr/local/bin/etcdctl" ]; then
    for pair in /etc/matryoshka/etcd/server /etc/kubernetes/pki/etcd/server /etc/kubernetes/pki/apiserver-etcd-client; do
      [ ! -s $pair.key ] || break
    done
    for ca in /etc/matryoshka/etcd/ca.crt /etc/kubernetes/pki/etcd/ca.crt; do [ ! -s $ca ] || break; done
    timeout "$limit" "$work/etcd/usr/local/bin/etcdctl" $ask --cacert $ca --cert $pair.crt --key $pair.key \
      --command-timeout "$((limit - 10))s" "$@" 2>&1 < /dev/null
    return
  fi
  container=$(container)
  [ -n "$container" ] || { echo 'no etcd runs here' >&2; return 1; }
  # Standard input may be a list that a caller reads line by line.
  timeout "$limit" ctr -n k8s.io tasks exec --exec-id "matryoshka-$RANDOM$RANDOM" "$container" etcdctl \
    --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt \
    --key /etc/kubernetes/pki/etcd/server.key --command-timeout "$((limit - 10))s" $ask "$@" 2>&1 < /dev/null
}

# A host without a member unpacks the programs from the image. `forget_programs` deletes them afterwards.
bring_programs() { [ -x "$work/etcd/usr/local/bin/etcdctl" ] || [ -n "$(container)" ] || unpack etcd "$ETCD_IMAGE"; }
forget_programs() { [ -e /etc/matryoshka/etcd ] || rm -rf "$work/etcd" "$installed/etcd"; }

# members: prints lines `ADDRESS ID NAME LEARNER`. A member that never started has no name.
members() {
  local out= one listed= endpoints=${ETCD_ENDPOINTS:-here}
  # Members are asked one by one, because a learner or a dead member does not answer this.
  for one in ${endpoints//,/ }; do
    [ "$one" != here ] || one=
    out=$(etcd ${one:+--endpoints "$one"} member list -w simple) && listed=yes && break
  done
  [ -n "$listed" ] || { echo "$out" >&2; return 1; }
  awk -F', ' '/^[0-9a-f]+, / { url = $4; sub(/^https?:\/\//, "", url); sub(/:[0-9]+$/, "", url); gsub(/[][]/, "", url); print url, $1, ($3 == "" ? "-" : $3), $6 }' <<< "$out"
}

# none_of ADDRESSES: whether etcd answers, and its list of members has none of these.
none_of() {
  local all
  all=$(members 2> /dev/null) && ! awk -v of=" $1 " 'index(of, " " $1 " ") { y = 1 } END { exit !y }' <<< "$all"
}

# Prints the client URL of the member at an address.
at() { echo "https://$(in_url "$1"):2379"; }

answers() { [ "$1" != '-' ] && etcd --endpoints "$(at "$1")" endpoint health > /dev/null; }

# check_etcd LEAVING JOINING: refuses to change an etcd that is not healthy, and prints the arithmetic. The rules are those
# of Cluster API's control plane: every member that stays answers, none is a learner, and a quorum remains.
check_etcd() {
  local all address id name learner sick= voters=0 well=0 out end=$((SECONDS + ${ETCD_ANSWERS_WITHIN:-60}))
  # The limit is a time, since an attempt takes as long as members hang. The client's messages about each member do not help.
  until all=$(members 2> /dev/null) || [ $SECONDS -ge $end ]; do sleep 1; done
  [ -n "$all" ] || fail 'the members of etcd cannot be listed, since too few of them answer: start or restore them first; nothing was changed'
  while read -r address id name learner; do
    case " $1 " in *" $address "*) continue ;; esac
    if [ "$learner" = true ]; then
      # This learner is left by an interrupted join, which continues with it.
      case " $2 " in *" $address "*) continue ;; esac
      fail "etcd has a learner, $name ($address), that is not promoted yet; nothing was changed"
    fi
    voters=$((voters + 1))
    out=
    end=$((SECONDS + ${ETCD_ANSWERS_WITHIN:-30}))
    until answers "$address" && out=yes || [ $SECONDS -ge $end ]; do sleep 1; done
    # It may have left meanwhile, if several joins were interrupted.
    if [ -z "$out" ] && none_of "$address"; then voters=$((voters - 1)); continue; fi
    [ -n "$out" ] && well=$((well + 1)) || sick="$sick $name ($address)"
  done <<< "$all"
  [ "$voters" -gt 0 ] || fail 'no member of etcd would be left; nothing was changed'
  [ -z "$sick" ] || fail "members of etcd that stay do not answer:$sick; of $voters that would be left $well are healthy, $((voters / 2 + 1)) are needed, and each must be: mend or remove them first; nothing was changed"
}

# forget_learners ADDRESSES: removes the learners of interrupted joins, which have no vote. Each would keep all others out
# until its host joins again, in its turn.
forget_learners() {
  local address id name learner out
  while read -r address id name learner; do
    [ "$learner" = true ] || continue
    case " $1 " in *" $address "*) ;; *) continue ;; esac
    out=$(etcd member remove "$id") || fail "the learner that a join of $address has left cannot be removed: $(tail -1 <<< "$out")"
    changed "the learner that a join of $address has left is out of etcd"
  done <<< "$(members)"
}
