# Units run by what was put back; then nothing may differ. What does cannot be put back here, and is named.
matryoshka-watch restore
systemctl daemon-reload
for unit in $(sed -n 's/^[^ ]* unit //p' "$manifest"); do
  systemctl is-enabled -q "$unit" || { systemctl enable -q "$unit" && changed "$unit"; }
  case $unit in
    containerd.service) ours='/usr/local/bin/(containerd|ctr|runc)|/etc/containerd/config|containerd\.service' ;;
    kubelet.service) ours='/usr/local/bin/kubelet|/var/lib/kubelet/|kubelet\.(service|conf)' ;;
    matryoshka-balancer.service) ours='/matryoshka/balancer/|balancer\.service' ;;
    *) ours=none ;;
  esac
  if ! systemctl is-active -q "$unit" || grep -qE "$ours" "$state/differed"; then
    systemctl restart "$unit" && changed "$unit" || fail "$unit does not start: $(journalctl -u "$unit" -n 5 --no-pager -o cat)"
  fi
done
if [ -s "$state/differed" ] && [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then
  # Its static pods may start anew; the next control plane is not touched before.
  sleep 3
  for try in $(seq 240); do curl -sk -m 3 https://127.0.0.1:6443/readyz | grep -qx ok && break; sleep 0.5; done
  curl -sk -m 3 https://127.0.0.1:6443/readyz | grep -qx ok || fail 'the API server of this host does not become ready'
fi
left=$(matryoshka-watch list | tr '\t' ' ')
[ -z "$left" ] || fail "cannot be put right here, by a person only, or by replacing the host: $(paste -sd';' <<< "$left")"
while IFS=$'\t' read -r _ thing how; do changed "$thing ($how) put right"; done < "$state/differed"
rm -f "$state/differed" "$state/differs"
did changed
