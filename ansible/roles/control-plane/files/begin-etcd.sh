# begin_etcd: makes the data of a new etcd, for this host as its first member. kubeadm's manifest says "existing"
# (etcd.io, Clustering guide). By default it says "new": a first member that has lost its data would begin an empty etcd, and
# kubelets would end their pods, because its API server lists none.
begin_etcd() {
  local mount=$work/etcd.image peer out pid try well=
  peer=https://$(in_url "$IP"):2380
  out=$({ mkdir -p /var/lib/etcd && chmod 700 /var/lib/etcd; } 2>&1) || unfinished /var/lib/etcd "$out"
  mount_image "$ETCD_IMAGE" "$mount"
  # There are no certificates yet, so it listens on loopback alone.
  "$mount/usr/local/bin/etcd" --name="$NODE_NAME" --data-dir=/var/lib/etcd --initial-cluster="$NODE_NAME=$peer" \
    --initial-advertise-peer-urls="$peer" --listen-peer-urls=http://127.0.0.1:2380 \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls="https://$(in_url "$IP"):2379" > "$state/etcd.out" 2>&1 &
  pid=$!
  trap 'kill "$pid" 2>/dev/null' EXIT
  for try in $(seq 300); do
    ! curl -s -m 2 --noproxy '*' http://127.0.0.1:2379/health | grep -q '"health":"true"' || { well=yes; break; }
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill "$pid" 2>/dev/null; wait "$pid"
  trap - EXIT
  unmount_image "$mount"
  out=$(tail -1 "$state/etcd.out")
  # A full disk has no room for the reason.
  [ -n "$well" ] || fail "etcd does not start: ${out:-see that there is room in /run and /var/lib}"
}
