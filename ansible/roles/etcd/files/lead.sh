# Points the API server of this host at other members of etcd. If it does not become ready with them, it gets its former
# list.
manifest=/etc/kubernetes/manifests/kube-apiserver.yaml
server() { # prints the process of this host's API server; pods may run others
  local process name
  for process in /proc/[0-9]*; do
    { IFS= read -r name < "$process/comm"; } 2>/dev/null && [ "$name" = kube-apiserver ] || continue
    tr '\0' '\n' < "$process/cmdline" 2>/dev/null | grep -qxF -- "--advertise-address=$IP" || continue
    echo "${process#/proc/}"; return
  done
}
asks() { tr '\0' '\n' < "/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "--etcd-servers=$2"; } # PROCESS ETCD-SERVERS
serves() { # ETCD-SERVERS: the API server that runs asks them, and is ready
  local process; process=$(server)
  [ -n "$process" ] && asks "$process" "$1" && curl -sk -m 3 https://127.0.0.1:6443/readyz | grep -qx ok
}
lead() { # ETCD-SERVERS
  local text process deaf=0 end=$((SECONDS + 180))
  # The file is read and written as a whole: if the kubelet finds less, it ends the API server.
  text=$(sed "s#^\( *- --etcd-servers=\).*#\1$1#" $manifest) && [ -n "$text" ] && write_file $manifest 600 "$text"$'\n' || return 1
  until serves "$1"; do
    [ $SECONDS -lt $end ] || return 1
    process=$(server)
    # A terminating API server no longer listens, but holds watches for half a minute. It is killed, and its clients reconnect.
    if [ -n "$process" ] && ! asks "$process" "$1"; then
      curl -sk -m 2 -o /dev/null https://127.0.0.1:6443/readyz
      [ $? = 7 ] && deaf=$((deaf + 1)) || deaf=0
      [ $deaf -lt 10 ] || kill -KILL "$process"
    fi
    sleep 0.5
  done
}
same() { [ "$(tr , '\n' <<< "$1" | sort)" = "$(tr , '\n' <<< "$2" | sort)" ]; } # in whatever order
has=$(sed -n 's/^ *- --etcd-servers=//p' $manifest)
[ -n "$has" ] || fail "$manifest names no etcd"
# If members join or leave, the API server must answer with those that stay. Otherwise its readiness does not matter here.
if ! same "$has" "$ETCD_SERVERS" || { [ -n "$AWAIT" ] && ! serves "$has"; }; then
  lead "$ETCD_SERVERS" || { lead "$has"; fail "the API server does not become ready with etcd at $ETCD_SERVERS; it asks $has again"; }
  changed "the API server asks $ETCD_SERVERS"
  # Balancers use an API server again after two answers a second apart. The next one waits for that.
  sleep 3
fi
[ -z "$DID" ] || did "$DID"
