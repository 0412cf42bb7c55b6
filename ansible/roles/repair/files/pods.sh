# Restarts static pods of this control plane. SIGTERM in place would leave a pod in the kubelet's back-off.
running_of() { # NAME: prints the containers of the static pod that run
  ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }' |
    grep -xF "$(ctr -n k8s.io containers ls -q "labels.\"io.kubernetes.container.name\"==$1,labels.\"io.kubernetes.pod.namespace\"==kube-system")"
}
runs() { [ -n "$(running_of "$1")" ]; } # NAME
# await_end NAME: waits until a static pod that was told to end has ended. An API server takes no new connection then, and its
# requests have ten seconds: it would also wait for connections that are idle.
await_end() {
  local since=$SECONDS id
  while runs "$1"; do
    [ $((SECONDS - since)) -lt 120 ] || return 1
    if [ "$1" = kube-apiserver ] && [ $((SECONDS - since)) -ge 10 ]; then
      for id in $(running_of "$1"); do ctr -n k8s.io tasks kill -s SIGKILL "$id"; done
    fi
    sleep 0.5
  done
}
# end_pods: stops the kubelet and ends the static pods of this control plane, so that the next ones find ports and etcd's data free. The
# API server ends first: its clients change to another one while etcd still runs.
end_pods() {
  local pod name id
  systemctl stop kubelet
  for pod in kube-apiserver 'etcd kube-controller-manager kube-scheduler'; do
    for id in $(for name in $pod; do running_of "$name"; done); do ctr -n k8s.io tasks kill -s SIGTERM "$id"; done
    for name in $pod; do await_end "$name"; done
  done
}
# exchange NAME FILE: ends the static pod, then starts it by that manifest. Fails if the pod did not end.
exchange() {
  local to=$R/etc/kubernetes/manifests/$1.yaml ended=
  rm -f "$to"
  ! await_end "$1" || ended=yes
  mv -fT "$2" "$to" && [ -n "$ended" ]
}
# protected_exchange NAME FILE: the pod gets its manifest back, whatever happens to this run.
protected_exchange() {
  "$R/usr/local/sbin/matryoshka-fence" protect "exchange-$1" bash -c "R='$R'; $(declare -f running_of runs await_end exchange); exchange $1 '$2'"
}
