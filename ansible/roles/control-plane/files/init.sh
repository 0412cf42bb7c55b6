# Runs kubeadm init on the first control plane. A complete control plane stays; an interrupted one is reset and done again.
umask 077
mkdir -p "$state" || exit 1
trap 'rm -f "$state/kubeadm-init.yaml"' EXIT
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

# The token is only in files. Workers get it from there.
id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
write_file "$state/kubeadm-init.yaml" 600 "${KUBEADM_CONFIG//BOOTSTRAP_TOKEN/$id.$secret}"$'\n' &&
  write_file "$state/token" 600 "$id.$secret"$'\n' || exit 1
# The protected step itself writes the mark, so that a run that waits for it sees the step done or not done.
/usr/local/sbin/matryoshka-fence protect kubeadm-init bash -c "$(declare -f unwritten write_file)
  kubeadm init --config $state/kubeadm-init.yaml && write_file /etc/matryoshka/joined 600 \$'$CLUSTER_ID $NODE_NAME $IP\\n'" > "$state/init.out" 2>&1
code=$?
rm -f "$state/kubeadm-init.yaml"
if [ "$code" != 0 ]; then
  out=$(grep -v -e addrConn -e '^{"level":' "$state/init.out" | tail -20)
  # The output could not be stored if the disk is full.
  out=${out:-"kubeadm ended with code $code; see that there is room in /run, /etc and /var/lib"}
  echo "${out//$secret/…}" >&2
  exit 1
fi
changed 'kubeadm init'
result initialised now
did joined
