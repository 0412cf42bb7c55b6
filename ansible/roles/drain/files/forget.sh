# Deletes nodes from the list of removed ones if they cannot return: this run has reset their host, or their removal is
# longer ago than a kubelet's credentials are valid. A longer list does no harm, so nothing here fails.
life=31536000
# The controller manager decides how long certificates are valid: a year, unless a flag sets another duration.
flags=$(grep -oE -- '--cluster-signing(-kube-apiserver-client)?-duration=[^ "]*' "$R/etc/kubernetes/manifests/kube-controller-manager.yaml" 2>/dev/null)
while IFS='=' read -r _ value; do
  [ -n "$value" ] || continue
  hours=$(sed -nE 's/^([0-9]+)h(0m)?(0s)?$/\1/p' <<< "$value")
  # This duration is in a format that the script cannot read.
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
