# Puts back what the host keeps a copy of, and has binaries fetched anew that differ. What differed is remembered.
mkdir -p "$state"
: > "$state/differed"
[ -x /usr/local/sbin/matryoshka-watch ] && [ -e /etc/matryoshka/seal ] || exit 0
matryoshka-watch list > "$state/differed"
while IFS=$'\t' read -r kind thing how; do
  case $kind:$how in
    unit:*masked*) systemctl unmask -q "$thing"; systemctl unmask -q --runtime "$thing" ;;
  esac
done < "$state/differed"
matryoshka-watch restore
matryoshka-watch list > "$state/differs"
while IFS=$'\t' read -r kind thing how; do
  [ "$kind" = file ] || continue
  case $thing in
    /usr/local/bin/kubelet | /usr/local/bin/kubeadm | /usr/local/bin/kubectl | /usr/local/bin/runc) again=${thing##*/} ;;
    /usr/local/bin/*) again=containerd ;;
    /opt/cni/bin/*) again='cni-plugins flannel-cni-plugin' ;;
    /var/lib/matryoshka/balancer/*) again=balancer ;;
    *) continue ;;
  esac
  # A link would be followed, and the plugin of flannel is a copy of another file.
  [ -d "$thing" ] || rm -f "$thing"
  for name in $again; do rm -f "$installed/$name"; done
done < "$state/differs"
systemctl daemon-reload
