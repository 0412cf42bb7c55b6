# kubeadm init on the first control plane. Complete: left. Cut short: reset and done again.
umask 077
mkdir -p "$state"
healthy() { curl -sk -m 3 "https://127.0.0.1:6443/readyz" | grep -qx ok; }

if [ -e /etc/matryoshka/joined ] && [ -s /etc/kubernetes/admin.conf ]; then
  systemctl is-active -q kubelet || systemctl start kubelet
  for try in $(seq 240); do healthy && break; sleep 0.5; done
  healthy || fail 'the control plane was initialised, but its API server does not become ready'
  # What was made with other networks or under another name stays so, whatever this run was given.
  made=$(kubectl -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || fail "$made"
  for net in "podSubnet $POD_CIDR" "serviceSubnet $SERVICE_CIDR"; do
    has=$(sed -n "s/^ *${net% *}: *//p" <<< "$made")
    [ "$has" = "${net#* }" ] || fail "the control plane on this host was made with ${net% *} $has, not ${net#* }; ask for that, or reset the host first"
  done
  [ -e "/var/lib/kubelet/pki/kubelet-client-current.pem" ] &&
    name=$(openssl x509 -noout -subject -nameopt multiline -in /var/lib/kubelet/pki/kubelet-client-current.pem 2>/dev/null | sed -n 's/^ *commonName *= system:node://p') &&
    [ -n "$name" ] && [ "$name" != "$NODE_NAME" ] && fail "this host is node $name of the cluster, not $NODE_NAME; ask for that, or reset the host first"
  result initialised before
  did joined
  exit 0
fi

# Somebody's etcd ends the script here. What is ours and there all the same is a try that was cut short.
own tree /var/lib/etcd
for tree in /etc/kubernetes /var/lib/kubelet; do
  is_made tree $tree || is_made content $tree || fail "$tree was not made by Matryoshka"
done
if [ -n "$(ls -A /etc/kubernetes/manifests 2>/dev/null)" ] || [ -e /etc/kubernetes/admin.conf ] || [ -e /var/lib/kubelet/config.yaml ] || ! is_empty /var/lib/etcd; then
  kubeadm reset -f --cleanup-tmp-dir > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
  remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found || exit 1
  ! is_made file /etc/cni/net.d/10-flannel.conflist || rm -f /etc/cni/net.d/10-flannel.conflist
  # shellcheck disable=SC2086
  [ -z "$RESOLV_NAMESERVERS" ] || printf 'nameserver %s\n' $RESOLV_NAMESERVERS > /etc/kubernetes/resolv.conf
  changed 'reset after an initialisation that was cut short'
fi

# The token is only ever in files; the workers get it from there.
id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
printf '%s\n' "${KUBEADM_CONFIG//BOOTSTRAP_TOKEN/$id.$secret}" > "$state/kubeadm-init.yaml"
echo "$id.$secret" > "$state/token"
# The mark is written in the protected step itself: who awaits it sees it done or not done.
/usr/local/sbin/matryoshka-fence protect kubeadm-init sh -c "kubeadm init --config $state/kubeadm-init.yaml && echo $CLUSTER_ID > /etc/matryoshka/joined" > "$state/init.out" 2>&1
code=$?
rm -f "$state/kubeadm-init.yaml"
if [ "$code" != 0 ]; then
  out=$(grep -v addrConn "$state/init.out" | tail -20)
  echo "${out//$secret/…}" >&2
  exit 1
fi
changed 'kubeadm init'
result initialised now
did joined
