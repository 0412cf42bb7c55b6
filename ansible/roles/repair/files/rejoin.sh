# Replaces the member of etcd on this host by a new one, which gets its data from the others. A member without its data can
# never become that member again (etcd.io, Runtime reconfiguration design).
umask 077
data=$R/var/lib/etcd aside=$R/var/lib/etcd/.before-repair unit=matryoshka-etcd-rejoin
if [ -n "$ETCD_HERE" ]; then described=$kubernetes/manifests/etcd.yaml; else described=$etcd_unit; fi

# set_aside: keeps former data beside the new data, because it may be the only copy.
set_aside() {
  local said
  if [ -e "$data/member" ] && [ ! -e "$aside/$SEQUENCE/member" ]; then
    said=$({ mkdir -p "$aside/$SEQUENCE" && mv -T "$data/member" "$aside/$SEQUENCE/member"; } 2>&1) || unfinished "$aside/$SEQUENCE" "$said"
    changed "former data of etcd is set aside in ${aside#"$R"}/$SEQUENCE"
  fi
  said=$({ rm -rf --one-file-system "$data/member" && mkdir -p "$data" && chmod 700 "$data"; } 2>&1) || unfinished "$data" "$said"
}
# join_apart MANIFEST: runs the new member apart from the static pod until it has its data, with which the pod starts as that
# member. The kubelet ends no pod while no API server answers on this host, and there is none without etcd.
join_apart() {
  local flags try id
  mapfile -t flags < <(sed -n 's/^ *- \(--[a-z0-9-]*=.*\)$/\1/p' "$1" | grep -v '^--initial-cluster')
  for try in $(seq 5); do
    # A manifest of an earlier version may have begun an empty etcd meanwhile.
    id=$(container)
    [ -z "$id" ] || ctr -n k8s.io tasks kill -s KILL "$id" 2> /dev/null
    set_aside
    systemctl stop $unit 2> /dev/null
    systemd-run --quiet --collect --unit=$unit --property=RuntimeMaxSec=3600 --property=LimitNOFILE=65536 \
      "$work/etcd/usr/local/bin/etcd" "${flags[@]}" --initial-cluster="$initial" --initial-cluster-state=existing || fail 'etcd does not start apart from its pod'
    sleep 2
    ! systemctl is-active -q $unit || break
  done
  promote
  systemctl stop $unit
  # An API server without etcd takes requests and does not answer, which holds up the kubelet.
  id=$(running 'labels."io.kubernetes.container.name"==kube-apiserver')
  [ -z "$id" ] || ctr -n k8s.io tasks kill -s KILL "$id" 2> /dev/null
  # The kubelet waits longer after each start of a container, and anew after its own.
  systemctl restart kubelet
  for try in $(seq 360); do answers "$IP" && healthy && return; sleep 0.5; done
  fail 'the API server of this control plane does not become ready'
}
join_as_unit() { # UNIT-FILE
  local text
  text=$(member_unit "$1" "$initial") && [ -n "$text" ] || fail "$1 cannot be read"
  keep_replaced "$described"
  write_file "$R$described" 644 "$text"$'\n' || exit 1
  systemctl daemon-reload
  systemctl restart matryoshka-etcd || fail "etcd does not start: $(journalctl -u matryoshka-etcd -n 5 --no-pager -o cat)"
  promote
  settle_unit "$R$described" && systemctl daemon-reload
}

rejoin() {
  local copy said address
  # Left by an interrupted repair.
  systemctl stop $unit 2> /dev/null
  copy=$(copy_of "$described") || copy=$R$described
  [ -s "$copy" ] || fail "there is no copy of $described; replace this host"
  # Only members of that etcd are asked: one that has begun another would answer too.
  ETCD_ENDPOINTS=
  for address in $ETCD_PEERS; do
    [ "$(etcd_id_at "$address")" != "$ETCD_ID" ] || ETCD_ENDPOINTS=$ETCD_ENDPOINTS${ETCD_ENDPOINTS:+,}$(at "$address")
  done
  [ -n "$ETCD_ENDPOINTS" ] || fail 'no other member of etcd answers'
  systemctl is-active -q containerd || systemctl start containerd || fail "containerd does not start: $(journalctl -u containerd -n 3 --no-pager -o cat)"
  # A container that starts and ends cannot be asked, so this host gets etcd's own program.
  [ -x "$work/etcd/usr/local/bin/etcdctl" ] || unpack etcd "$ETCD_IMAGE"
  # This refuses while another member does not answer, unless it is replaced too.
  check_etcd "$ALL_LOST" "$IP"
  said=$(mkdir -p "$aside" 2>&1) || unfinished "$aside" "$said"
  [ -n "$ETCD_HERE" ] || systemctl stop matryoshka-etcd
  set_aside
  enter "$data"
  if [ -n "$ETCD_HERE" ]; then join_apart "$copy"; else join_as_unit "$copy"; fi
  forget_programs
  find "$aside" -mindepth 1 -maxdepth 1 ! -name "$SEQUENCE" -exec rm -rf --one-file-system {} + 2> /dev/null
  changed "the member of etcd on this host is a new one: $LOST_DATA"
}

# The repair continues on other hosts. They may be what is missing here, and the last step names this host.
mkdir -p "$state" || exit 1
( rejoin ) 2> "$state/rejoin.why" && exit 0
code=$?
cat "$state/rejoin.why" >&2
case $(cat "$state/rejoin.why") in *cannot\ be\ written*) exit $code ;; esac
if [ -n "$ETCD_HERE" ]; then note 'pod etcd'; else note 'start matryoshka-etcd'; fi
later "etcd of this host has lost its data, and gets no new member: $(tail -1 "$state/rejoin.why")" 'ask again' || exit 0
