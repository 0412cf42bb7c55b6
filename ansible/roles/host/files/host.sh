# Prepares the host itself: the manifest, kernel settings, the name of the API servers.
by=$(made_by)
[ -z "$by" ] || [ "$by" = "$CLUSTER_ID" ] || fail "HostConflict: $manifest lists what cluster $by has made here"
mkdir -p "$installed" || exit 1
[ -n "$by" ] || write_file "$manifest" 644 "cluster $CLUSTER_ID"$'\n' || exit 1
# This folder is always ours: it has downloads, and the artifacts on the meta cluster's host.
is_made tree /var/lib/matryoshka || add_made "$ROLE tree /var/lib/matryoshka"
mkdir -p "$work" || exit 1
# A reset may have been deleting these when the host went down.
delete_asides || exit 1

if [ -z "$(made_of before)" ]; then
  # The settings are ours, those of the kubelet (setupKernelTunables in its container_manager_linux.go), and those of
  # kube-proxy (Conntrack in its server_linux.go; route_localnet in iptables mode).
  settings=()
  for name in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables \
    vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes \
    net.ipv4.conf.all.route_localnet net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_tcp_timeout_established \
    net.netfilter.nf_conntrack_tcp_timeout_close_wait; do
    setting=$(sysctl -n "$name" 2>/dev/null) && settings+=("$name=$setting")
  done
  own sysctl "${settings[@]}" file /etc/modules-load.d/matryoshka.conf /etc/sysctl.d/99-matryoshka.conf \
    before 'kernel settings looked at'
fi
put /etc/modules-load.d/matryoshka.conf 644 $'overlay\nbr_netfilter'
# A kernel may have a module built in, or loaded without a module file (in a container).
kernel_has() {
  case $1 in
    overlay) grep -qw overlay "$R/proc/filesystems" ;;
    br_netfilter) [ -d "$R/proc/sys/net/bridge" ] ;;
  esac
}
for module in overlay br_netfilter; do
  kernel_has $module || said=$(modprobe $module 2>&1) && kernel_has $module ||
    fail "the kernel module $module cannot be loaded: ${said#modprobe: FATAL: }; restart the host if its kernel was updated, or install the modules of kernel $(uname -r)"
done
put /etc/sysctl.d/99-matryoshka.conf 644 'net.ipv4.ip_forward = 1
-net.bridge.bridge-nf-call-iptables = 1
-net.bridge.bridge-nf-call-ip6tables = 1' && sysctl -q -p /etc/sysctl.d/99-matryoshka.conf 2>/dev/null
[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || sysctl -q net.ipv4.ip_forward=1 || fail 'cannot set net.ipv4.ip_forward'

# Members of etcd 3.6 set no limit on reads of each other: they set the read timeout on `Dial`, which `DialContext` hides.
# After a cut of a minute, TCP repeats the lost data on the old connection only a minute later. If the leader dies meanwhile,
# etcd has no leader for that time. So the kernel gives up such a connection after some 13 s.
if [ -n "${CARRIES_ETCD:-}" ] && [ "$(cat "$R/proc/sys/net/ipv4/tcp_retries2")" -gt 5 ]; then
  own sysctl "net.ipv4.tcp_retries2=$(cat "$R/proc/sys/net/ipv4/tcp_retries2")"
  put /etc/sysctl.d/99-matryoshka-etcd.conf 644 'net.ipv4.tcp_retries2 = 5'
  sysctl -q net.ipv4.tcp_retries2=5 || fail 'cannot set net.ipv4.tcp_retries2'
fi

case $POD_CIDR in *:*)
  [ "$(cat "$R/proc/sys/net/ipv6/conf/all/forwarding")" = 1 ] || {
    # A host that forwards ignores routers, and loses its default route and addresses, unless an interface has accept_ra = 2.
    # If the kernel does not listen to routers, a service of the host does so by itself.
    settings=() lines=
    for link in $({ ip -6 route show proto ra; ip -6 -o address show dynamic | sed 's/^[0-9]*: /dev /'; } 2>/dev/null | sed -n 's/^.*\bdev \([^ ]*\).*/\1/p' | sort -u); do
      name=net.ipv6.conf.${link//.//}.accept_ra
      [ "$(cat "$R/proc/sys/net/ipv6/conf/$link/accept_ra")" = 1 ] || is_made sysctl "$name=1" || continue
      settings+=("$name=1") lines="$lines$name = 2"$'\n'
    done
    # Setting `all` changes each interface, and so does undoing it.
    for file in "$R"/proc/sys/net/ipv6/conf/*/forwarding; do
      link=${file%/*} link=${link##*/}
      [ "$(cat "$file")" != 1 ] || settings+=("net.ipv6.conf.${link//.//}.forwarding=1")
    done
    own sysctl "${settings[@]}" net.ipv6.conf.all.forwarding=0
    put /etc/sysctl.d/99-matryoshka-ipv6.conf 644 "${lines}net.ipv6.conf.all.forwarding = 1"
    [ -z "$lines" ] || sysctl -q -p /etc/sysctl.d/99-matryoshka-ipv6.conf || fail 'cannot set accept_ra of the interfaces that listen to routers'
    sysctl -q net.ipv6.conf.all.forwarding=1 || fail 'cannot set net.ipv6.conf.all.forwarding'
  } ;;
esac
