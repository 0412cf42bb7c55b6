# Brings the programs of the new version to this host, beside those that run, and keeps those for a way back. The images came
# before. Says whether the host has anything of an older release.
previous=$work/upgrade/$FROM next=$work/upgrade/$KUBE_VERSION
is_version() { # NAME VERSION
  case $1 in
    kubelet) [ "$(kubelet_version)" = "$2" ] ;;
    kubeadm) [ "$(kubeadm version -o short 2> /dev/null)" = "$2" ] ;;
    kubectl) kubectl version --client 2> /dev/null | grep -qF "$2" ;;
  esac
}
keep() { # NAME
  local said
  [ -n "$FROM" ] && [ ! -e "$previous/$1" ] && is_version "$1" "$FROM" || return 0
  said=$({ mkdir -p "$previous" && cp -pT "/usr/local/bin/$1" "$previous/.$1" && sync "$previous/.$1" && mv -fT "$previous/.$1" "$previous/$1"; } 2>&1) ||
    unfinished "$previous/$1" "$said" "$previous/.$1"
}
bring_next() { # NAME PATH SHA256
  local said
  [ ! -x "$next/$1" ] || [ "$(sha256_of < "$next/$1" | cut -d' ' -f1)" != "$3" ] || return 0
  mkdir -p "$next" || exit 1
  fetch "$1" "$2" "$3" "$next/.$1"
  said=$({ chmod 755 "$next/.$1" && sync "$next/.$1" && mv -fT "$next/.$1" "$next/$1"; } 2>&1) || unfinished "$next/$1" "$said" "$next/.$1"
  changed "$1 $KUBE_VERSION"
}
for name in kubeadm kubelet ${KUBECTL_PATH:+kubectl}; do keep "$name"; done
bring_next kubeadm "$KUBEADM_PATH" "$KUBEADM_SHA256"
bring_next kubelet "$KUBELET_PATH" "$KUBELET_SHA256"
[ -z "$KUBECTL_PATH" ] || bring_next kubectl "$KUBECTL_PATH" "$KUBECTL_SHA256"
# The retry of an upgrade continues with the control plane where it stopped.
[ ! -e "$previous/begun" ] || [ -e "$next/done" ] || result begun yes
# A rollback restores them.
[ ! -s "$next/cluster.yaml" ] || result objects yes
runs_kubelet "$KUBE_VERSION" && is_installed kubeadm "$KUBEADM_SHA256" && is_installed runc "$RUNC_SHA256" &&
  is_installed containerd "$CONTAINERD_SHA256" && is_installed cni-plugins "$CNI_SHA256" || result stale yes
