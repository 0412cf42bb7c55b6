# kubeadm join of a worker. A join that was cut short is reset and done again.
set -u
umask 077
export PATH=/usr/local/sbin:/usr/local/bin:$PATH
state=/run/matryoshka
mkdir -p "$state"
changed() { echo "changed: $*"; }

if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /var/lib/kubelet/config.yaml ]; then
  kubeadm reset -f --cleanup-tmp-dir > "$state/reset.log" 2>&1 || { tail -5 "$state/reset.log" >&2; exit 1; }
  [ -z "$RESOLV_NAMESERVERS" ] || printf 'nameserver %s\n' $RESOLV_NAMESERVERS > /etc/kubernetes/resolv.conf
  changed 'reset after a join that was cut short'
fi
printf '%s\n' "$DISCOVERY" > "$state/discovery.conf"
printf '%s\n' "$KUBEADM_CONFIG" > "$state/kubeadm-join.yaml"
kubeadm join --config "$state/kubeadm-join.yaml" > "$state/join.out" 2>&1
code=$?
rm -f "$state/kubeadm-join.yaml" "$state/discovery.conf"
if [ "$code" != 0 ]; then
  grep -v -e addrConn -e "$SECRET" "$state/join.out" | tail -20 >&2
  exit "$code"
fi
echo "$CLUSTER_ID" > /etc/matryoshka/joined
changed 'kubeadm join'
