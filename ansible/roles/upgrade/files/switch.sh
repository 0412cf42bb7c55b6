# Functions that let a control plane change to the new version at once: manifests and kubelet together. A kubelet of another
# minor version starts all static pods anew, so one pod after the other would start twice.
coming=$R/etc/kubernetes/.upgrade.matryoshka
# make_manifests: renews certificates, and writes the manifests of the new version, which nothing uses yet. As in `kubeadm upgrade`,
# they follow the configuration that the cluster has.
make_manifests() {
  local documents=$state/upgrade-init.yaml cluster out phase pod
  rm -rf "$coming"
  trap 'rm -f "$state/upgrade-init.yaml"' EXIT
  cluster=$(kubectl -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' | sed "s/^kubernetesVersion:.*/kubernetesVersion: $KUBE_VERSION/")
  grep -qxF "kubernetesVersion: $KUBE_VERSION" <<< "$cluster" || fail 'ConfigMap kubeadm-config of kube-system cannot be read; nothing was changed on this host'
  mkdir -p "$state" "$coming/manifests" || exit 1
  write_file "$documents" 600 "$INIT_CONFIG"$'\n---\n'"$cluster"$'\n' || exit 1
  for phase in 'control-plane all' ${ETCD_HERE:+'etcd local'}; do
    # shellcheck disable=SC2086
    out=$(KUBEADM_INIT_DRYRUN_DIR=$coming/manifests kubeadm init phase $phase --dry-run --config "$documents" 2>&1 < /dev/null) ||
      fail "kubeadm init phase $phase: $(tail -3 <<< "$out")"
  done
  for pod in $components ${ETCD_HERE:+etcd}; do
    [ -s "$coming/manifests/$pod.yaml" ] || fail "kubeadm wrote no manifest of $pod; see that there is room in /etc/kubernetes"
  done
  # kubeadm replaces certificates in place. So it begins only if there is room for them.
  out=$({ head -c 65536 /dev/zero > "$coming/room" && sync -f "$coming" && rm "$coming/room"; } 2>&1) || unfinished "${coming#"$R"}" "$out" "$coming"
  out=$("$R/usr/local/sbin/matryoshka-fence" protect upgrade kubeadm certs renew all --config "$documents" 2>&1) || fail "kubeadm certs renew all: $(tail -3 <<< "$out")"
}
# change_over MANIFESTS KUBELET
change_over() {
  local folder=$R/etc/kubernetes/manifests file failed=
  end_pods
  for file in "$1"/*.yaml; do [ ! -e "$file" ] || mv -fT "$file" "$folder/${file##*/}" || failed=yes; done
  # Last: an older kubelet may run newer components, and not the other way round.
  [ -z "$failed" ] && mv -fT "$2" "$R/usr/local/bin/kubelet" && sync -f "$folder" && sync -f "$R/usr/local/bin" || failed=yes
  systemctl start kubelet && [ -z "$failed" ]
}
# A sum of the settings with which the kubelet starts.
started_with=$work/upgrade/$KUBE_VERSION/started-with
kubelet_settings() { cat "$R"/var/lib/kubelet/{config.yaml,kubeadm-flags.env} 2> /dev/null | sha256sum; }
# switch_to_new: changes over, whatever happens to this run.
switch_to_new() {
  local from=$work/upgrade/$KUBE_VERSION/kubelet new=$R/usr/local/bin/.kubelet.matryoshka said
  said=$({ cp -pT "$from" "$new" && sync "$new"; } 2>&1) || unfinished /usr/local/bin/kubelet "$said" "$new"
  write_file "$started_with" 600 "$(kubelet_settings)"$'\n' || exit 1
  # Whatever this run can still write, the mark of the former kubelet must not stay with the new one.
  rm -f "$installed/kubelet"
  "$R/usr/local/sbin/matryoshka-fence" protect upgrade bash -c "R='$R'; $(declare -f running_of runs await_end end_pods change_over); change_over '$coming/manifests' '$new'" ||
    fail "the manifests and the kubelet of $KUBE_VERSION cannot be put in place; see that there is room in /etc and /usr, and retry"
  rm -rf "$coming"
  changed "static pods and kubelet $KUBE_VERSION"
}
# await_new: waits until the components serve. Without its API server, the others exit, and the kubelet waits before it starts them
# again; a restarted kubelet does not (kubernetes.io, Pod Lifecycle, CrashLoopBackOff).
late=
await_new() {
  local since= try dead=0
  for try in $(seq 240); do
    late=kube-apiserver
    # A kubelet that does not start after a minute never does.
    if curl -s -m 2 http://127.0.0.1:10248/healthz | grep -qx ok; then dead=0; else late=kubelet dead=$((dead + 1)); fi
    [ $dead -lt 60 ] || return 1
    if serves "$KUBE_VERSION"; then
      late=
      is_well 10257 kube-controller-manager || late=kube-controller-manager
      is_well 10259 kube-scheduler || late=kube-scheduler
      [ -n "$late" ] || return 0
      [ -n "$since" ] || since=$SECONDS
      if [ "$since" != restarted ] && [ $((SECONDS - since)) -gt 5 ]; then systemctl restart kubelet; since=restarted; fi
    fi
    sleep 1
  done
  return 1
}
# is_well PORT NAME: a patch may have changed the port. Then the pod's condition tells.
is_well() {
  curl -sk -m 3 "https://127.0.0.1:$1/healthz" | grep -qx ok ||
    [ "$(kubectl -n kube-system get pod "$2-$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]
}
# Prints the last line of a component's newest log.
last_words() {
  if [ "$1" = kubelet ]; then journalctl -u kubelet -n 40 --no-pager -o cat | grep -m 1 -i 'err=' | cut -c 1-300
  else tail -n 1 "$(ls -t /var/log/pods/kube-system_"$1"-*/"$1"/*.log 2> /dev/null | head -1)" 2> /dev/null | cut -c 1-300; fi
}
