# Runs kubeadm join of a further control plane. A complete one stays. One that was interrupted, or removed since, leaves
# etcd, is reset and joins again.
umask 077
mkdir -p "$state" || exit 1
trap 'rm -f "$state/kubeadm-join.yaml" "$state/discovery.conf"' EXIT
if [ -z "$WAS_REMOVED" ] && await_joined; then
  did joined
  exit 0
fi
[ -n "$PKI" ] || fail 'the keys of the control plane were not handed over'
begin_anew leave_etcd
mkdir -p /etc/kubernetes/pki || exit 1
untar_into /etc/kubernetes/pki "$PKI"
prepare_audit_log
# Protected: a member that etcd has just admitted must start before another run changes this host. The file with the token
# exists only during this step, because a run may be stopped before and after it.
kubeadm_join() { # BEFORE FLAG…
  local before=$1 code; shift
  write_file "$state/discovery.conf" 600 "$DISCOVERY"$'\n' && write_file "$state/kubeadm-join.yaml" 600 "$KUBEADM_CONFIG"$'\n' || exit 1
  /usr/local/sbin/matryoshka-fence protect kubeadm-join bash -c "$(declare -f unwritten write_file)
    $before kubeadm join --config $state/kubeadm-join.yaml $* && write_file /etc/matryoshka/joined 600 \$'$CLUSTER_ID $NAME $IP\\n'" >> "$state/join.out" 2>&1
  code=$?
  rm -f "$state/kubeadm-join.yaml" "$state/discovery.conf"
  return "$code"
}
: > "$state/join.out"
: > "$state/join.why"
kubeadm_join ''
code=$?
# With a slow etcd, kubeadm gives up halfway. After it has announced its member, it requests the list of members once, for 2
# s. If the answer to a promotion is lost, it requests the promotion again, also in a second run. So this script promotes the
# member, and kubeadm continues with the later phases. A member that does not catch up in time waits for the next attempt.
gave_up_halfway() {
  [ -e /etc/kubernetes/manifests/etcd.yaml ] &&
    tail -3 "$state/join.out" | grep 'error execution phase etcd-join' | grep -qv ' in sync with leader$'
}
promoted() (
  ETCD_ENDPOINTS=${ETCD_ENDPOINTS:-$FIRST_MEMBER}
  [ -x "$work/etcd/usr/local/bin/etcdctl" ] || unpack etcd "$ETCD_IMAGE"
  promote
  forget_programs
)
if [ "$code" != 0 ] && gave_up_halfway && promoted 2> "$state/join.why"; then
  # kubeadm asks this host's own API server first, which knows no token before it is ready.
  ready='until curl -sk -m 3 https://127.0.0.1:6443/readyz | grep -qx ok; do sleep 0.5; done'
  kubeadm_join "timeout 120 sh -c '$ready' || echo 'the API server of this host does not become ready' >&2;" \
    --skip-phases=preflight,control-plane-prepare,check-etcd,kubelet-start,etcd-join
  code=$?
fi
if [ "$code" != 0 ]; then
  out=$(grep -v -e addrConn -e '^{"level":' "$state/join.out" | tail -20)
  # The output could not be stored if the disk is full.
  out=${out:-"kubeadm ended with code $code; see that there is room in /run, /etc and /var/lib"}
  echo "${out//$SECRET/…}" >&2
  # The reason why the join did not continue comes last, because a long message keeps only its end.
  cat "$state/join.why" >&2
  exit 1
fi
changed 'kubeadm join of a control plane'
did joined
