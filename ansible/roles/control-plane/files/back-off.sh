# Without its API server, a controller manager or scheduler exits. The kubelet delays each further start, up to five minutes
# (kubernetes.io, Pod Lifecycle, CrashLoopBackOff). A restarted kubelet begins to count anew, and leaves running containers
# alone.
waits() { # NAME: it has ended, and was not started again
  local named="labels.\"io.kubernetes.container.name\"==$1"
  [ -e "$R/etc/kubernetes/manifests/$1.yaml" ] && [ -z "$(running "$named")" ] &&
    [ -n "$(ctr -n k8s.io containers ls -q "$named,labels.\"io.kubernetes.pod.namespace\"==kube-system")" ]
}
# The kubelet starts it the first time within ten seconds.
for try in $(seq 15); do
  ended=
  for pod in kube-controller-manager kube-scheduler; do ! waits "$pod" || ended="$ended $pod"; done
  [ -n "$ended" ] || break
  sleep 1
done
if [ -n "$ended" ]; then
  systemctl restart kubelet || fail "kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
  changed "kubelet.service: restart, so that it does not wait before it starts$ended"
fi
