# Restarts static pods of this control plane. SIGTERM in place would leave a pod in the kubelet's back-off.
runs() { # NAME: a container of the static pod runs
  [ -n "$(ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' |
    grep -xF "$(ctr -n k8s.io containers ls -q "labels.\"io.kubernetes.container.name\"==$1,labels.\"io.kubernetes.pod.namespace\"==kube-system")")" ]
}
# exchange NAME FILE: ends the static pod, then starts it by that manifest. Fails if the pod did not end.
exchange() {
  local to=$R/etc/kubernetes/manifests/$1.yaml try ended=
  rm -f "$to"
  for try in $(seq 240); do runs "$1" || { ended=yes; break; }; sleep 0.5; done
  mv -fT "$2" "$to" && [ -n "$ended" ]
}
# protected_exchange NAME FILE: the pod gets its manifest back, whatever happens to this run.
protected_exchange() {
  "$R/usr/local/sbin/matryoshka-fence" protect "exchange-$1" bash -c "R='$R'; $(declare -f runs exchange); exchange $1 '$2'"
}
