# What of etcd, and of the way to it, may be put back: only what begins with the data that it had. Without data the manifest of
# a first control plane begins an empty etcd, and by what its API server says kubelets end their pods.
etcd_has_data() {
  compgen -G "$R/var/lib/etcd/member/wal/*.wal" > /dev/null && [ -s "$R/var/lib/etcd/member/snap/db" ]
}
# What a manifest says of where its data are, and of what has names there.
places() { grep -E '(data|wal)-dir|[pP]ath:|name:' "$1" 2>/dev/null; }
servers() { tr ',' '\n' <<< "$1" | sort; }

# obstacle KIND THING HOW: why a thing must not be put back; nothing where it may be.
obstacle() {
  local copy other
  case $1:$2 in
    unit:containerd.service | unit:kubelet.service)
      [ ! -e "$R$kubernetes/manifests/etcd.yaml" ] || etcd_has_data || echo 'would begin an empty etcd: there is no data in /var/lib/etcd' ;;
    file:$kubernetes/manifests/etcd.yaml | file:$kubernetes/pki/etcd/server.* | file:$kubernetes/pki/etcd/peer.* | file:$kubernetes/pki/etcd/healthcheck-client.*)
      [ -n "$ETCD_HERE" ] || { echo 'etcd is not beside this control plane'; return; }
      is_static_pod "$2" && ! only_mode "$3" && copy=$(copy_of "$2") || return 0
      etcd_has_data || { echo 'would begin an empty etcd: there is no data in /var/lib/etcd'; return; }
      grep -qE -- '^ *- --data-dir=/var/lib/etcd$' "$copy" && grep -qE '^ *(- )?path: /var/lib/etcd$' "$copy" ||
        { echo 'does not tell where its data was made'; return; }
      if [ -e "$R$2" ] || [ -L "$R$2" ]; then
        [ "$(places "$R$2")" = "$(places "$copy")" ] || echo 'may have other data than it was made with'
      else
        other=$(grep -lE -- '(data|wal)-dir' "$R$kubernetes"/manifests/* 2>/dev/null | head -1)
        [ -z "$other" ] || echo "${other#"$R"} runs an etcd already"
      fi ;;
    file:$kubernetes/manifests/kube-apiserver.yaml)
      ! only_mode "$3" && copy=$(copy_of "$2") || return 0
      other=$(sed -n 's/^ *- --etcd-servers=//p' "$copy")
      [ "$(servers "$other")" = "$(servers "$ETCD_SERVERS")" ] || echo "was made for etcd at $other, not at $ETCD_SERVERS" ;;
  esac
}
