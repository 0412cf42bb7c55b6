# Runs kubeadm init on the first control plane. A complete control plane stays; an interrupted one is reset and done again.
umask 077
mkdir -p "$state" || exit 1
if await_joined; then
  # A control plane that was created with other networks or another name keeps them, whatever this run wants.
  made=$(kubectl -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || fail "$made"
  for net in "podSubnet $POD_CIDR" "serviceSubnet $SERVICE_CIDR"; do
    has=$(sed -n "s/^ *${net% *}: *//p" <<< "$made")
    [ "$has" = "${net#* }" ] || fail "the control plane on this host was made with ${net% *} $has, not ${net#* }; ask for that, or reset the host first"
  done
  [ ! -e "$shared/made-with" ] || [ "$(cat "$shared/made-with")" = "$MADE_WITH" ] ||
    fail 'the control plane on this host was made with another spec.cluster.kubeadm; ask for that, or reset the host first'
  [ -e "/var/lib/kubelet/pki/kubelet-client-current.pem" ] &&
    name=$(openssl x509 -noout -subject -nameopt multiline -in /var/lib/kubelet/pki/kubelet-client-current.pem 2>/dev/null | sed -n 's/^ *commonName *= system:node://p') &&
    [ -n "$name" ] && [ "$name" != "$NODE_NAME" ] && fail "this host is node $name of the cluster, not $NODE_NAME; ask for that, or reset the host first"
  result initialised before
  did joined
  exit 0
fi
begin_anew
forget_other_keys || exit 1
make_shared

[ -z "$ETCD_IMAGE" ] || begin_etcd
kubeadm_init --ignore-preflight-errors=DirAvailable--var-lib-etcd
result initialised now
did joined
