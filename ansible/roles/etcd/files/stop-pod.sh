# What is left of a member of etcd beside a control plane, after it has left and the API servers ask others. The
# authority stays: it signs for the members wherever they are.
rm -f /etc/kubernetes/manifests/etcd.yaml
for try in $(seq 120); do [ -n "$(container)" ] || break; sleep 0.5; done
[ -z "$(container)" ] || fail 'etcd goes on beside this control plane'
remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found || fail 'data of etcd stays in /var/lib/etcd'
rm -f /etc/kubernetes/pki/etcd/{server,peer,healthcheck-client}.{crt,key}
changed 'etcd beside the control plane ended'
