# kubeadm init on the first control plane. Complete: left. Cut short: reset and done again.
set -u
umask 077
export PATH=/usr/local/sbin:/usr/local/bin:$PATH KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube
state=/run/matryoshka
mkdir -p "$state"
changed() { echo "changed: $*"; }

healthy() { curl -sk -m 3 "https://127.0.0.1:6443/readyz" | grep -qx ok; }

if [ -e /etc/matryoshka/joined ] && [ -s /etc/kubernetes/admin.conf ]; then
  systemctl is-active -q kubelet || systemctl start kubelet
  for try in $(seq 240); do healthy && break; sleep 0.5; done
  healthy || { echo 'the control plane was initialised, but its API server does not become ready' >&2; exit 1; }
  # What a re-run may still change without touching the running parts.
  echo "result: initialised=before"
  exit 0
fi

if [ -n "$(ls -A /etc/kubernetes/manifests 2>/dev/null)" ] || [ -e /etc/kubernetes/admin.conf ] || [ -e /var/lib/kubelet/config.yaml ] || [ -n "$(ls -A /var/lib/etcd 2>/dev/null)" ]; then
  kubeadm reset -f --cleanup-tmp-dir > "$state/reset.log" 2>&1 || { tail -5 "$state/reset.log" >&2; exit 1; }
  rm -rf /var/lib/etcd /etc/cni/net.d/10-flannel.conflist
  [ -z "$RESOLV_NAMESERVERS" ] || printf 'nameserver %s\n' $RESOLV_NAMESERVERS > /etc/kubernetes/resolv.conf
  changed 'reset after an initialisation that was cut short'
fi

# The token is only ever in files; the workers get it from there.
id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
printf '%s\n' "$KUBEADM_CONFIG" | sed "s/BOOTSTRAP_TOKEN/$id.$secret/" > "$state/kubeadm-init.yaml"
echo "$id.$secret" > "$state/token"
# The mark is written in the protected step itself: who awaits it sees it done or not done.
/usr/local/sbin/matryoshka-fence protect kubeadm-init sh -c "kubeadm init --config $state/kubeadm-init.yaml && echo $CLUSTER_ID > /etc/matryoshka/joined" > "$state/init.out" 2>&1
code=$?
rm -f "$state/kubeadm-init.yaml"
if [ "$code" != 0 ]; then
  grep -v -e addrConn -e "$secret" "$state/init.out" | tail -20 >&2
  exit "$code"
fi
changed 'kubeadm init'
echo "result: initialised=now"
