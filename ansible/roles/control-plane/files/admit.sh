# Admits hosts: prints the CA of the cluster and a token that is valid for at least ten more minutes. Control planes also get
# the keys that they share. The caller keeps the output out of logs.
umask 077
nodes=$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}') || exit 1
again=
# A host whose node was removed while it was away still believes that it has joined.
for node in $JOINED; do grep -qxF "$node" <<< "$nodes" || again="$again $node"; done
result again "$again"
[ -n "$JOINING$again" ] || exit 0
patch=
with_pki=
for node in $JOINING $again; do
  case " $MASTERS " in *" $node "*) with_pki=yes ;; esac
  # A node of that name that has not joined is left over from an interrupted join.
  ! grep -qxF "$node" <<< "$nodes" || kubectl delete node "$node" --ignore-not-found --wait=false > /dev/null || exit 1
  patch="$patch${patch:+,}\"$node\":null"
done
# A removed node may be added again.
if kubectl -n kube-system get configmap matryoshka-removed-nodes -o name > /dev/null 2>&1; then
  kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "{\"data\":{$patch}}" > /dev/null || exit 1
fi
token=$(cat "$state/token" 2>/dev/null)
rm -f "$state/token"
if [ -n "$token" ]; then
  # Preparations may have taken longer than a token is valid.
  ends=$(kubectl -n kube-system get secret "bootstrap-token-${token%%.*}" -o 'go-template={{.data.expiration | base64decode}}' 2>/dev/null)
  ends=$(date -d "${ends:-1970-01-01}" +%s 2>/dev/null) && [ "$((ends - $(date +%s)))" -gt 600 ] || token=
fi
if [ -z "$token" ]; then
  id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
  secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
  token=$id.$secret
  # Validation is off, because kubectl would fetch the descriptions of all kinds each time.
  kubectl create --validate=false -f - > /dev/null <<S || exit 1
{"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
 "metadata": {"name": "bootstrap-token-$id", "namespace": "kube-system"},
 "stringData": {"token-id": "$id", "token-secret": "$secret", "expiration": "$(date -u -d '+30 minutes' +%Y-%m-%dT%H:%M:%SZ)",
  "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
  "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}}
S
fi
result token "$token"
result ca "$(base64 -w0 /etc/kubernetes/pki/ca.crt)"
# The archive includes what API servers share besides keys.
[ ! -d /etc/kubernetes/pki/matryoshka ] || more=matryoshka
# The keys pass through this connection, so they are never in the cluster. `kubeadm init --upload-certs` stores them there
# for two hours.
[ -z "$with_pki" ] || result pki "$(tar -C /etc/kubernetes/pki -czf - {ca,front-proxy-ca,etcd/ca}.{crt,key} sa.{key,pub} ${WITH_ETCD_CLIENT:+apiserver-etcd-client.crt apiserver-etcd-client.key} ${more-} | base64 -w0)"
