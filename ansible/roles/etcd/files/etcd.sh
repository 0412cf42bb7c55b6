running() { # LABELS: of the containers of system pods that have these, one that runs
  ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' |
    grep -xF "$(ctr -n k8s.io containers ls -q "$1,labels.\"io.kubernetes.pod.namespace\"==kube-system")" | head -1
}
# container: the member beside this control plane, if it runs; pods of users may have containers of that name.
container() { running 'labels."io.kubernetes.container.name"==etcd'; }
# sandbox: that of its pod, which stays until the kubelet has let the pod go, whether a container runs in it or waits to be started anew.
sandbox() { running 'labels."component"==etcd,labels."tier"==control-plane'; }
# etcd ARGUMENT…: asks with the programs of this host where it has them, else with those in the member's pod.
etcd() {
  local container pair ca ask=
  # Any member will do, unless somebody asks for one.
  case $1 in --endpoints) ;; *) ask=${ETCD_ENDPOINTS:+--endpoints=$ETCD_ENDPOINTS} ;; esac
  if [ -x "$work/etcd/usr/local/bin/etcdctl" ]; then
    for pair in /etc/matryoshka/etcd/server /etc/kubernetes/pki/etcd/server /etc/kubernetes/pki/apiserver-etcd-client; do
      [ ! -s $pair.key ] || break
    done
    for ca in /etc/matryoshka/etcd/ca.crt /etc/kubernetes/pki/etcd/ca.crt; do [ ! -s $ca ] || break; done
    timeout 20 "$work/etcd/usr/local/bin/etcdctl" $ask --cacert $ca --cert $pair.crt --key $pair.key \
      --command-timeout 10s "$@" 2>&1 < /dev/null
    return
  fi
  container=$(container)
  [ -n "$container" ] || { echo 'no etcd runs here' >&2; return 1; }
  # Its standard input may be a list that somebody reads line by line.
  timeout 20 ctr -n k8s.io tasks exec --exec-id "matryoshka-$RANDOM$RANDOM" "$container" etcdctl \
    --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt \
    --key /etc/kubernetes/pki/etcd/server.key --command-timeout 10s $ask "$@" 2>&1 < /dev/null
}

# On a host without a member the programs come out of the image; `forget_programs` when they are not needed any more.
bring_programs() { [ -x "$work/etcd/usr/local/bin/etcdctl" ] || [ -n "$(container)" ] || unpack etcd "$ETCD_IMAGE"; }
forget_programs() { [ -e /etc/matryoshka/etcd ] || rm -rf "$work/etcd" "$installed/etcd"; }

# members: a line each, `ADDRESS ID NAME LEARNER`; one that was never started has no name.
members() {
  local out= one listed= endpoints=${ETCD_ENDPOINTS:-here}
  # One after the other: a learner, or one that is dead, does not answer this.
  for one in ${endpoints//,/ }; do
    [ "$one" != here ] || one=
    out=$(etcd ${one:+--endpoints "$one"} member list -w simple) && listed=yes && break
  done
  [ -n "$listed" ] || { echo "$out" >&2; return 1; }
  awk -F', ' '/^[0-9a-f]+, / { url = $4; sub(/^https?:\/\//, "", url); sub(/:[0-9]+$/, "", url); gsub(/[][]/, "", url); print url, $1, ($3 == "" ? "-" : $3), $6 }' <<< "$out"
}

# none_of ADDRESSES: whether an answered list of members has none of these
none_of() {
  local all
  all=$(members 2> /dev/null) && ! awk -v of=" $1 " 'index(of, " " $1 " ") { y = 1 } END { exit !y }' <<< "$all"
}

# client URL of the member at an address
at() { echo "https://$(in_url "$1"):2379"; }

answers() { [ "$1" != '-' ] && etcd --endpoints "$(at "$1")" endpoint health > /dev/null; }

# check_etcd LEAVING JOINING: refuses, with the arithmetic, to change an etcd that is not whole. The rules are those of
# Cluster API's control plane: every member that stays answers, none is a learner, a quorum is left.
check_etcd() {
  local all address id name learner sick= voters=0 well=0 out end=$((SECONDS + ${ETCD_ANSWERS_WITHIN:-60}))
  # By the clock, since a try takes as long as members hang. What its client says of each is no help to anybody.
  until all=$(members 2> /dev/null) || [ $SECONDS -ge $end ]; do sleep 1; done
  [ -n "$all" ] || fail 'the members of etcd cannot be listed, since too few of them answer: start or restore them first; nothing was changed'
  while read -r address id name learner; do
    case " $1 " in *" $address "*) continue ;; esac
    if [ "$learner" = true ]; then
      # Left by a join that was cut short: that join goes on with it.
      case " $2 " in *" $address "*) continue ;; esac
      fail "etcd has a learner, $name ($address), that is not promoted yet; nothing was changed"
    fi
    voters=$((voters + 1))
    out=
    end=$((SECONDS + ${ETCD_ANSWERS_WITHIN:-30}))
    until answers "$address" && out=yes || [ $SECONDS -ge $end ]; do sleep 1; done
    # It may have left meanwhile, as one of several whose joins were cut short.
    if [ -z "$out" ] && none_of "$address"; then voters=$((voters - 1)); continue; fi
    [ -n "$out" ] && well=$((well + 1)) || sick="$sick $name ($address)"
  done <<< "$all"
  [ "$voters" -gt 0 ] || fail 'no member of etcd would be left; nothing was changed'
  [ -z "$sick" ] || fail "members of etcd that stay do not answer:$sick; of $voters that would be left $well are healthy, $((voters / 2 + 1)) are needed, and each must be: mend or remove them first; nothing was changed"
}

# forget_learners ADDRESSES: a host whose join was cut short joins anew, and has its turn later; until then its learner
# would keep out all others. It has no vote.
forget_learners() {
  local address id name learner out
  while read -r address id name learner; do
    [ "$learner" = true ] || continue
    case " $1 " in *" $address "*) ;; *) continue ;; esac
    out=$(etcd member remove "$id") || fail "the learner that a join of $address has left cannot be removed: $(tail -1 <<< "$out")"
    changed "the learner that a join of $address has left is out of etcd"
  done <<< "$(members)"
}
