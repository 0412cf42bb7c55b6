# Prints what a worker needs to join: a token that lives half an hour, and the cluster's authority.
# The caller keeps it out of logs.
set -u
umask 077
export PATH=/usr/local/sbin:/usr/local/bin:$PATH KUBECONFIG=/etc/kubernetes/admin.conf KUBECACHEDIR=/run/matryoshka/kube
state=/run/matryoshka
token=$(cat "$state/token" 2>/dev/null)
rm -f "$state/token"
# A node of that name which is not joined is the rest of a join that was cut short.
for node in $JOINING; do kubectl delete node "$node" --ignore-not-found --wait=false > /dev/null || exit 1; done
if [ -z "$token" ]; then
  id=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 6)
  secret=$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 16)
  token=$id.$secret
  kubectl create -f - > /dev/null <<S || exit 1
{"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
 "metadata": {"name": "bootstrap-token-$id", "namespace": "kube-system"},
 "stringData": {"token-id": "$id", "token-secret": "$secret", "expiration": "$(date -u -d '+30 minutes' +%Y-%m-%dT%H:%M:%SZ)",
  "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
  "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}}
S
fi
echo "result: token=$token"
echo "result: ca=$(base64 -w0 /etc/kubernetes/pki/ca.crt)"
