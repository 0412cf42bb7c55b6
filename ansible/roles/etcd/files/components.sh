# check_components ADDRESSES: refuses to change control planes while a component of these, which stay, is not ready. This is
# the other half of the rules of Cluster API's control plane. A kubelet probes a static pod for the first time after ten
# seconds or more.
check_components() {
  local try nodes pods ill=
  [ -s "$R/etc/kubernetes/admin.conf" ] || return 0
  for try in $(seq "${COMPONENTS_WITHIN:-45}"); do
    # Pods of a deleted node may be listed for a while.
    nodes=$(kubectl get nodes -l node-role.kubernetes.io/control-plane -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}' 2>&1) &&
      pods=$(kubectl -n kube-system get pods -l tier=control-plane -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>&1) &&
      ill=$(awk -v staying=" $1 " '
        FNR == NR { ready[$1] = $2; next }
        NF {
          for (i = 2; i <= NF; i++) if (index(staying, " " $i " ")) break
          if (i > NF) next
          split("kube-apiserver kube-controller-manager kube-scheduler", kind, " ")
          for (i = 1; i <= 3; i++) if (ready[kind[i] "-" $1] != "True") printf " %s-%s", kind[i], $1
        }' <(echo "$pods") <(echo "$nodes")) && [ -z "$ill" ] && return 0
    sleep 1
  done
  [ -n "$ill" ] || fail "the pods of the control planes cannot be listed: $(tail -1 <<< "$nodes$pods"); nothing was changed"
  fail "of control planes that stay, these do not run or are not ready:$ill: repair them first (operation annotation \"repairing\"); nothing was changed"
}
