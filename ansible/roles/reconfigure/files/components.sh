# Functions for the components of a control plane.
# The component itself is asked first: the kubelet reports its pod half a minute later, if its own API server was away.
declare -A port=([kube-controller-manager]=10257 [kube-scheduler]=10259)
is_ready() { # POD
  runs "$1" && healthy || return 1
  [ "$1" != kube-apiserver ] || return 0
  curl -sk -m 3 "https://127.0.0.1:${port[$1]}/healthz" | grep -qx ok ||
    [ "$(kubectl -n kube-system get pod "$1-$NODE_NAME" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null)" = True ]
}
await_pod() { local try; for try in $(seq "$2"); do ! is_ready "$1" || return 0; sleep 0.5; done; return 1; } # POD TRIES
start_with() { # POD FILE
  local copy=$R$kubernetes/.$1.matryoshka said
  said=$({ cp -T "$2" "$copy" && cmp "$2" "$copy" && chmod 600 "$copy" && sync "$copy"; } 2>&1) || unfinished "${copy#"$R"}" "$said" "$copy"
  protected_exchange "$1" "$copy" || fail "$1 does not end; see the kubelet of this host, and ask again"
}
config_map() { kubectl -n kube-system get configmap "$1" -o "jsonpath={.data.$2}"; } # NAME KEY
# keep_config_maps FOLDER: writes what kubeadm keeps of the settings in the cluster into files.
keep_config_maps() {
  local map text
  for map in 'kubeadm-config ClusterConfiguration' 'kubelet-config kubelet'; do
    text=$(config_map "${map% *}" "${map#* }") && [ -n "$text" ] && write_file "$1/${map% *}" 600 "$text"$'\n' || return 1
  done
}
# put_config_map NAME KEY: puts back what a ConfigMap of kube-system was, unless something else has changed it.
put_config_map() {
  local has; has=$(config_map "$1" "$2")
  [ -e "$former/$1" ] && [ "$has" != "$(cat "$former/$1")" ] || return 0
  # Without a note, the attempt ended while it wrote; an upgrade since would have another version.
  if [ -e "$made/$1" ]; then [ "$has" = "$(cat "$made/$1")" ] || return 0
  else [ "$(config_map kubeadm-config ClusterConfiguration | grep '^kubernetesVersion:')" = "$(grep '^kubernetesVersion:' "$former/kubeadm-config")" ] || return 0; fi
  kubectl -n kube-system create configmap "$1" --from-file="$2=$former/$1" --dry-run=client -o yaml | kubectl replace -f - > /dev/null
}
# undo_settings: puts back what this control plane was before, and waits until it is ready.
undo_settings() {
  local pod policy
  [ -e "$former" ] || return 0
  # The API server reads its policy only at its start.
  is_former $kubernetes/pki/matryoshka/audit-policy.yaml || ! is_made_here $kubernetes/pki/matryoshka/audit-policy.yaml; policy=$?
  put_former $kubernetes/pki/{apiserver.crt,apiserver.key,matryoshka/audit-policy.yaml,matryoshka/made-with,matryoshka/patches}
  for pod in $components; do
    is_made_here "$kubernetes/manifests/$pod.yaml" || continue
    if ! is_former "$kubernetes/manifests/$pod.yaml" || { [ "$pod" = kube-apiserver ] && [ "$policy" != 0 ]; }; then
      start_with "$pod" "$former$kubernetes/manifests/$pod.yaml"
    fi
  done
  undo_kubelet
  for pod in $components; do await_pod "$pod" 240 || return 1; done
  put_config_map kubeadm-config ClusterConfiguration && put_config_map kubelet-config kubelet || return 1
  drop_former
}
