# Functions that the first and all further control planes share.
healthy() { curl -sk -m 3 "https://127.0.0.1:6443/readyz" | grep -qx ok; }

# await_joined: whether this host is a control plane already. If so, it waits for the API server.
await_joined() {
  [ -e /etc/matryoshka/joined ] && [ -s /etc/kubernetes/admin.conf ] || return 1
  systemctl is-active -q kubelet || systemctl start kubelet
  for try in $(seq 240); do healthy && break; sleep 0.5; done
  healthy || fail 'the host is a control plane already, but its API server does not become ready'
}

# begin_anew [COMMAND]: runs the command, then undoes an interrupted attempt. An etcd that is not ours ends the script.
begin_anew() {
  own tree /var/lib/etcd
  for tree in /etc/kubernetes /var/lib/kubelet; do
    is_made tree $tree || is_made content $tree || fail "$tree was not made by Matryoshka"
  done
  [ -n "$(ls -A /etc/kubernetes/manifests 2>/dev/null)" ] || [ -e /etc/kubernetes/admin.conf ] ||
    [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /var/lib/kubelet/config.yaml ] || ! is_empty /var/lib/etcd || return 0
  "${1:-true}"
  # The data of before a restore stays; that phase would empty the folder.
  local kept=
  [ ! -e /var/lib/etcd/.before-restore ] || kept=--skip-phases=remove-etcd-member
  kubeadm reset -f --cleanup-tmp-dir $kept > "$state/reset.log" 2>&1 || fail "$(tail -5 "$state/reset.log")"
  remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore || exit 1
  ! is_made file /etc/cni/net.d/10-flannel.conflist || rm -f /etc/cni/net.d/10-flannel.conflist
  write_resolv_conf
  changed 'reset after a try that was cut short'
}
