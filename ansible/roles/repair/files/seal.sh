# Reads the baseline of this host, prints what differs from it, and decides how to restore each thing.
umask 077
seal=$R/etc/matryoshka/seal kept=$R/etc/matryoshka/kept kubernetes=/etc/kubernetes
# Lists what was restored and must restart, a line each. A repair after an interrupted one continues with it.
pending=$work/repair
# Keeps certificates while new ones are issued: `list` names all of them, and the old ones are below this folder.
exchanging=$work/repair.old
note() {
  local all; all=$(cat "$pending" 2>/dev/null)
  grep -qxF "$1" <<< "$all" || write_file "$pending" 600 "$all${all:+$'\n'}$1"$'\n' || exit 1
}
# If a line cannot be deleted from the list, its thing only starts once more.
done_with() { # REGEXP of a line
  local all rest; all=$(cat "$pending" 2>/dev/null); rest=$(sed "\\#^$1\$#d" <<< "$all")
  [ "$all" = "$rest" ] || write_file "$pending" 600 "$rest${rest:+$'\n'}"
}
noted() { grep -qxF "$1" "$pending" 2>/dev/null; }

sealed() { awk -F'\t' -v thing="$1" -v at="$2" '$1 == "file" && $2 == thing { print $at }' "$seal"; } # PATH FIELD
copy_of() { # PATH: the copy of what was sealed, if it is whole
  local sum; sum=$(sealed "$1" 11)
  [ ${#sum} = 64 ] && [ "$(sha256sum < "$kept/$sum" | cut -d' ' -f1)" = "$sum" ] && echo "$kept/$sum"
} 2>/dev/null
# Prints the role that made a file. The copy of the manifest is read, because a user may have edited the manifest.
role_of() { awk -v thing="$1" '$2 == "file" && $3 == thing { print $1; exit }' "$(copy_of /etc/matryoshka/made || echo "$manifest")"; }

# Restores what a repair moved away to replace it when the host died. The baseline has kept these things. A manifest of a pod
# with a copy is restored from the copy, after all checks of start.sh.
take_up() {
  local file thing said
  # A renewal or an upgrade that was killed leaves copies of keys and manifests there.
  rm -rf "$R$kubernetes/.renew.matryoshka" "$R$kubernetes/.upgrade.matryoshka"
  while read -r file; do
    thing=${file##*/.} thing=$kubernetes/manifests/${thing%.matryoshka}.yaml
    if [ -e "$R$thing" ] || [ -n "$(copy_of "$thing")" ]; then rm -f "$file"
    elif [ "${thing##*/}" != etcd.yaml ] || { [ -n "$ETCD_HERE" ] && etcd_has_data; }; then mv -fT "$file" "$R$thing"; fi
  done < <(find "$R$kubernetes" -maxdepth 1 -type f -name '.*.matryoshka' 2>/dev/null)
  [ -e "$exchanging/list" ] || return 0
  while read -r thing; do
    rm -f "$R$thing"
    [ ! -e "$exchanging$thing" ] && [ ! -L "$exchanging$thing" ] || said=$(cp -aT "$exchanging$thing" "$R$thing" 2>&1) ||
      { unwritten "$thing" "$said; it is kept in ${exchanging#"$R"}"; return 1; }
  done < "$exchanging/list"
  sync -f "$R$kubernetes" && drop_exchanged
}
drop_exchanged() { rm -rf "$exchanging.done"; mv -T "$exchanging" "$exchanging.done" && rm -rf "$exchanging.done"; }

# close_seal: an interrupted script has left a mark. Its changes are the run's own, and none of its commands is at work.
close_seal() {
  local watch=$state/watch.of-the-run code
  [ -e "$seal.before" ] || return 0
  mkdir -p "$state"
  write_file "$watch" 600 "$WATCH"$'\n' || return 1
  bash "$watch" end; code=$?
  rm -f "$watch"
  return $code
}
# differing: prints KIND THING HOW, separated by tabs. It uses the run's own drift agent, because the host's may differ.
differing() {
  local watch=$state/watch.of-the-run code
  mkdir -p "$state"
  write_file "$watch" 600 "$WATCH"$'\n' || return 1
  # An interrupted script left this mark. Its changes are the run's own, and none of its commands is at work.
  [ ! -e "$seal.before" ] || bash "$watch" end
  take_up && bash "$watch" differences; code=$?
  rm -f "$watch"
  return $code
}
# Puts accept_ra of interfaces before forwarding as a whole, which would stop them from listening to routers.
in_order() { { grep 'accept_ra' <<< "$1"; grep -v 'accept_ra' <<< "$1"; } | grep .; }

# Prints the CA that signs a file: a certificate, its key, or a kubeconfig, which kubeadm can issue again.
authority_of() {
  case $1 in
    $kubernetes/pki/apiserver-etcd-client.* | $kubernetes/pki/etcd/server.* | $kubernetes/pki/etcd/peer.* | $kubernetes/pki/etcd/healthcheck-client.*) echo etcd/ca ;;
    $kubernetes/pki/front-proxy-client.*) echo front-proxy-ca ;;
    $kubernetes/pki/apiserver.* | $kubernetes/pki/apiserver-kubelet-client.*) echo ca ;;
    $kubernetes/admin.conf | $kubernetes/super-admin.conf | $kubernetes/controller-manager.conf | $kubernetes/scheduler.conf) echo ca ;;
    *) return 1 ;;
  esac
}
is_static_pod() { case $1 in $kubernetes/manifests/*.yaml) ;; *) return 1 ;; esac; }
only_mode() { case $1 in *changed* | *missing* | *'is a link'*) return 1 ;; esac; }

# remedy KIND THING HOW LIST: prints how to restore the thing: sysctl, swap, hosts, unit, mode, copy, issue, a script of the
# role that makes it, or none.
remedy() {
  local authority
  [ -z "$(obstacle "$1" "$2" "$3")" ] || { echo none; return; }
  case $1 in sysctl | swap | hosts | unit) echo "$1"; return ;; esac
  if only_mode "$3"; then echo mode; return; fi
  if authority=$(authority_of "$2"); then
    # A CA is never created again: no certificate in the cluster would be valid with another one.
    while IFS=$'\t' read -r _ thing how; do
      case $thing in "$kubernetes/pki/$authority.key") only_mode "$how" || { echo none; return; } ;; esac
      case $thing in "$kubernetes/pki/$authority.crt") only_mode "$how" || [ -n "$(copy_of "$thing")" ] || { echo none; return; } ;; esac
    done <<< "$4"
    echo issue; return
  fi
  [ -z "$(copy_of "$2")" ] || { echo copy; return; }
  case $2 in
    /var/lib/matryoshka/balancer/*) echo balancer/balancer.sh; return ;;
    /etc/cni/net.d/*) echo none; return ;;
    /var/lib/matryoshka/etcd/*) echo etcd/programs.sh; return ;;
  esac
  case $(role_of "$2") in
    host) case $2 in /etc/matryoshka/endpoint | */matryoshka-endpoint | */matryoshka-endpoint.service) echo host/keep-endpoint.sh ;; *) echo host/host.sh ;; esac ;;
    runtime) case $2 in */certs.d/* | */matryoshka-proxy.conf) echo runtime/sources.sh ;; *) echo runtime/runtime.sh ;; esac ;;
    kubelet) echo kubelet/kubelet.sh ;;
    network) echo network/plugins.sh ;;
    balancer) echo balancer/balancer.sh ;;
    watch) echo watch/watch.sh ;;
    *) echo none ;;
  esac
}

# Prints what uses a file and must restart once the file is restored: `unit NAME` or `pod NAME`, a line each. etcd reads its
# certificates at each connection.
users_of() {
  case $1 in
    $kubernetes/manifests/*) basename "$1" .yaml | sed 's/^/pod /' ;;
    $kubernetes/controller-manager.conf) echo 'pod kube-controller-manager' ;;
    $kubernetes/scheduler.conf) echo 'pod kube-scheduler' ;;
    $kubernetes/pki/etcd/ca.crt) printf 'pod etcd\npod kube-apiserver\n' ;;
    $kubernetes/pki/etcd/*) ;;
    $kubernetes/pki/matryoshka/audit-policy.yaml) echo 'pod kube-apiserver' ;;
    $kubernetes/pki/matryoshka/encryption.yaml) echo 'pod kube-apiserver' ;;
    $kubernetes/pki/matryoshka/*) ;;
    $kubernetes/pki/ca.crt) printf 'unit kubelet\npod kube-apiserver\npod kube-controller-manager\n' ;;
    $kubernetes/pki/front-proxy-ca.crt | $kubernetes/pki/sa.pub | $kubernetes/pki/sa.key) printf 'pod kube-apiserver\npod kube-controller-manager\n' ;;
    $kubernetes/pki/*) echo 'pod kube-apiserver' ;;
    $kubernetes/kubelet.conf | $kubernetes/resolv.conf | /var/lib/kubelet/* | */kubelet.service | */kubelet.service.d/* | */bin/kubelet) echo 'unit kubelet' ;;
    /etc/containerd/config.toml | */containerd.service | */containerd.service.d/* | */bin/containerd) echo 'unit containerd' ;;
    # etcd reads these certificates at each connection. It restarts all the same, so that members follow one another.
    /etc/matryoshka/etcd/*.crt | /var/lib/matryoshka/etcd/* | */matryoshka-etcd.service) echo 'unit matryoshka-etcd' ;;
    */matryoshka-balancer.service | /etc/matryoshka/balancer/* | */balancer/*) echo 'unit matryoshka-balancer' ;;
    */matryoshka-watch.service | */matryoshka-watch) echo 'unit matryoshka-watch' ;;
    /etc/matryoshka/endpoint | */matryoshka-endpoint.service | */matryoshka-endpoint) echo 'unit matryoshka-endpoint' ;;
  esac
}
