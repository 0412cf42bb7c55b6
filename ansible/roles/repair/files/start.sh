# Restarts what uses restored things, and starts what a user has stopped. If others must take over and cannot, the restart
# waits for the next repair, with the reason. It delays nothing else.
[ ! -e "$R$kubernetes/manifests/etcd.yaml" ] || etcd_has_data || {
  note 'pod etcd'
  [ -s "$pending.why" ] || later 'there is no data of etcd in /var/lib/etcd' 'ask again when all other members answer, or restore a snapshot'
  exit 0
}
rm -f "$pending.why"
systemctl daemon-reload
# Other programs of this host may need etcd.
! is_made unit matryoshka-etcd.service || start_etcd
# The rest of a host with a kubelet waits until API servers can answer.
[ -z "$MEMBERS_FIRST" ] || exit 0
lead_on() { for try in $(seq 50); do curl -sk -m 2 -o /dev/null "https://$BALANCER_ADDRESS/readyz" && return; sleep 0.2; done; return 1; }
units='matryoshka-endpoint containerd kubelet matryoshka-balancer matryoshka-watch'
for unit in $units; do
  is_made unit $unit.service || continue
  systemctl is-enabled -q $unit 2>/dev/null || { systemctl enable -q $unit 2>/dev/null && changed "$unit.service is enabled"; }
  if noted "unit $unit"; then does=restart; elif systemctl is-active -q $unit; then continue; else does=start; fi
  systemctl reset-failed $unit 2>/dev/null
  systemctl $does $unit || fail "$unit does not start: $(journalctl -u $unit -n 5 --no-pager -o cat)"
  changed "$unit.service: $does"
  # The balancer may run and reach no API server, because it lacks a file.
  [ $unit != matryoshka-balancer ] || lead_on || fail "no API server answers through the balancer: $(journalctl -u $unit -n 3 --no-pager -o cat)"
done
for unit in $units; do done_with "unit $unit"; done
[ -n "$IS_MASTER" ] || { done_with 'pod .*'; exit 0; }

# Whether the API server of each other control plane answers while this one is away.
others_answer() { # NAME
  local address try
  for address in $OTHERS; do
    for try in $(seq 30); do curl -sk -m 3 "https://$(in_url "$address"):6443/readyz" | grep -qx ok && continue 2; sleep 1; done
    later "$1 of this control plane is not restarted: the API server at $address does not answer" || return 1
  done
}
may_exchange_etcd() {
  etcd_is_known || return
  [ -n "$ETCD_PEERS" ] || return 0
  etcd_pod_runs
  case $? in 0) etcd_carries_on ;; 2) return 1 ;; esac
}
etcd_pod_runs() { # 2: nobody can tell
  local tasks ids
  tasks=$(ctr -n k8s.io tasks ls) &&
    ids=$(ctr -n k8s.io containers ls -q 'labels."io.kubernetes.container.name"==etcd,labels."io.kubernetes.pod.namespace"==kube-system') ||
    { later 'etcd of this host is not restarted: containerd does not tell whether it runs' 'mend containerd of this host, and ask again'; return 2; }
  awk '$3 == "RUNNING" { print $1 }' <<< "$tasks" | grep -qxF "${ids:--}"
}
is_back() { # NAME
  case $1 in
    etcd) answers "$IP" ;;
    kube-apiserver) runs "$1" && healthy ;;
    *) runs "$1" ;;
  esac
}
for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  # With external etcd, its CA is on this host all the same.
  noted "pod $pod" || continue
  [ -n "$(sealed "/etc/kubernetes/manifests/$pod.yaml" 2)" ] && [ "$pod$ETCD_HERE" != etcd ] || { done_with "pod $pod"; continue; }
  case $pod in etcd | kube-apiserver) ! healthy || others_answer "$pod" || continue ;; esac
  [ "$pod" != etcd ] || may_exchange_etcd || continue
  of_pod=/etc/kubernetes/manifests/$pod.yaml new=$R/etc/kubernetes/.$pod.matryoshka
  copy=$(copy_of $of_pod) || copy=$R$of_pod
  [ -s "$copy" ] || fail "there is no manifest of $pod"
  said=$({ cp "$copy" "$new" && cmp "$copy" "$new" && chmod "$(sealed $of_pod 4)" "$new" && chown "$(sealed $of_pod 5)" "$new" && sync "$new"; } 2>&1) ||
    unfinished "$of_pod" "$said" "$new"
  keep_replaced $of_pod
  protected_exchange "$pod" "$new" || fail "$of_pod cannot be put back"
  for try in $(seq 360); do is_back "$pod" && break; sleep 0.5; done
  is_back "$pod" || fail "$pod does not run with $of_pod of the baseline"
  done_with "pod $pod"; changed "$pod runs as it was made"
  # Balancers use an API server again after two answers a second apart. The next one waits for that.
  [ "$pod" != kube-apiserver ] || sleep 3
done
why=$(cat "$pending.why" 2>/dev/null)
for try in $(seq 360); do healthy && break; [ -z "$why" ] || break; sleep 0.5; done
# With a reason the last step names this host, and the repair continues on others: they may be what is missing.
healthy || [ -n "$why" ] || fail 'the API server of this control plane does not become ready'
