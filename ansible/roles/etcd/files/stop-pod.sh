# Removes what is left of a member beside a control plane, after it has left etcd and the API servers use others. The CA
# stays: it signs for the members wherever they are.
rm -f "$R/etc/kubernetes/manifests/etcd.yaml"
# A member that others have removed ends by itself, and the kubelet restarts it as long as its pod exists.
held() { [ -n "$(container)$(sandbox)" ]; }
for try in $(seq 120); do held || break; sleep 0.5; done
! held || fail 'etcd still runs beside this control plane'
remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found || fail 'data of etcd stays in /var/lib/etcd'
rm -f "$R"/etc/kubernetes/pki/etcd/{server,peer,healthcheck-client}.{crt,key}
changed 'etcd beside the control plane ended'
