# Takes nodes off the list of removed ones that nothing can come back from: their host was reset by this run, or they were removed
# longer ago than the credentials of a kubelet live. A list that is kept longer does no harm, so nothing fails here.
life=31536000
# kubeadm leaves the life of certificates to the controller manager: a year, unless somebody has set another one.
flags=$(grep -oE -- '--cluster-signing(-kube-apiserver-client)?-duration=[^ "]*' "$R/etc/kubernetes/manifests/kube-controller-manager.yaml" 2>/dev/null)
while IFS='=' read -r _ value; do
  [ -n "$value" ] || continue
  hours=$(sed -nE 's/^([0-9]+)h(0m)?(0s)?$/\1/p' <<< "$value")
  # Of another spelling nobody can tell here how long that is.
  [ -n "$hours" ] || { life=; break; }
  [ $((hours * 3600)) -le "$life" ] || life=$((hours * 3600))
done <<< "$flags"
listed=$(kubectl -n kube-system get configmap matryoshka-removed-nodes -o 'go-template={{range $name, $at := .data}}{{$name}} {{$at}}{{"\n"}}{{end}}' 2>/dev/null) || exit 0
now=$(date +%s) patch=
while read -r node at; do
  [ -n "$node" ] || continue
  if [[ " $RESET " != *" $node "* ]]; then
    at=$(date -d "$at" +%s 2>/dev/null) && [ -n "$life" ] && [ $((now - at)) -gt "$life" ] || continue
  fi
  patch="$patch${patch:+,}\"$node\":null"
done <<< "$listed"
[ -n "$patch" ] || exit 0
kubectl -n kube-system patch configmap matryoshka-removed-nodes --type merge -p "{\"data\":{$patch}}" > /dev/null &&
  changed 'list of removed nodes' || exit 0
