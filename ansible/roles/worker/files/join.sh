# Runs kubeadm join of a worker. An interrupted join, perhaps as a control plane, is reset and done again.
[ -z "$HAS_JOINED" ] || { did joined; exit 0; }
umask 077
mkdir -p "$state" || exit 1
trap 'rm -f "$state/kubeadm-join.yaml" "$state/discovery.conf"' EXIT
for tree in /etc/kubernetes /var/lib/kubelet; do
  is_made tree $tree || is_made content $tree || fail "$tree was not made by Matryoshka"
done
if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /var/lib/kubelet/config.yaml ]; then
  leave_etcd
  kubeadm reset -f --cleanup-tmp-dir > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
  ! is_made tree /var/lib/etcd && ! is_made content /var/lib/etcd || remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found || exit 1
  write_resolv_conf
  changed 'reset after a join that was cut short'
fi
write_file "$state/discovery.conf" 600 "$DISCOVERY"$'\n' && write_file "$state/kubeadm-join.yaml" 600 "$KUBEADM_CONFIG"$'\n' || exit 1
kubeadm join --config "$state/kubeadm-join.yaml" > "$state/join.out" 2>&1
code=$?
rm -f "$state/kubeadm-join.yaml" "$state/discovery.conf"
if [ "$code" != 0 ]; then
  out=$(grep -v -e addrConn -e '^{"level":' "$state/join.out" | tail -20)
  # The output could not be stored if the disk is full.
  out=${out:-"kubeadm ended with code $code; see that there is room in /run, /etc and /var/lib"}
  echo "${out//$SECRET/…}" >&2
  exit 1
fi
write_file /etc/matryoshka/joined 600 "$CLUSTER_ID $NAME $IP"$'\n' || exit 1
changed 'kubeadm join'
did joined
