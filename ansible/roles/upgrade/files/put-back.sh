# Puts the former version back on this host: programs, static pods and the kubelet's settings. KUBE_VERSION is the former one.
# Nothing is asked of the API server, since it may not answer.
kept=$work/upgrade/$KUBE_VERSION/files
put_file() { # KEPT TARGET
  [ -e "$1" ] && ! cmp -s "$1" "$2" || return 0
  local said new=/etc/kubernetes/.put-back.matryoshka
  # The kubelet reads every file in the folder of manifests, so the new one is written elsewhere.
  case $2 in /etc/kubernetes/*) ;; *) new=${2%/*}/.put-back.matryoshka ;; esac
  said=$({ cp -p "$1" "$new" && sync "$new" && mv -fT "$new" "$2"; } 2>&1) || unfinished "$2" "$said" "$new"
  changed "$2"
}
was_healthy=
[ -z "$IS_MASTER" ] || ! healthy || was_healthy=yes
rm -f "$work"/upgrade/*/upgraded "$work"/upgrade/*/done "$work"/upgrade/*/begun
# Files of a host that has nothing of the later version stay as they are: they may have changed since they were kept.
if ! runs_kubelet "$KUBE_VERSION" || ! has_static_pods "$KUBE_VERSION"; then
  for file in config.yaml kubeadm-flags.env; do put_file "$kept/$file" "/var/lib/kubelet/$file"; done
  put_program kubelet "$KUBE_VERSION" "$KUBELET_SHA256"
  for file in "$kept"/manifests/*; do put_file "$file" "/etc/kubernetes/manifests/${file##*/}"; done
  restart_kubelet
fi
for name in kubeadm ${KUBECTL_PATH:+kubectl}; do
  case $name in kubeadm) sum=$KUBEADM_SHA256 ;; kubectl) sum=$KUBECTL_SHA256 ;; esac
  put_program "$name" "$KUBE_VERSION" "$sum"
done
if [ -n "$IS_MASTER" ]; then
  has_former() { healthy && curl -sk -m 3 https://127.0.0.1:6443/version | grep -qF "\"$KUBE_VERSION\""; }
  # If too few members of etcd run, this API server becomes ready only after the next host is back. So it waits for a while.
  for try in $(seq 90); do has_former && break; sleep 1; done
  [ -z "$was_healthy" ] || has_former || fail "the control plane on this host does not become ready with $KUBE_VERSION; see the pods of kube-system on it, then retry"
fi
version kubelet "$KUBE_VERSION"
did changed
