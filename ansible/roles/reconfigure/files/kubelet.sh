# take_kubelet_config: brings the kubelet's configuration from the cluster, and restarts the kubelet if it is not the one that it
# started with. If the kubelet does not start, the former one is put back.
config=/var/lib/kubelet/config.yaml
kubelet_lives() {
  local try
  for try in $(seq 120); do curl -s -m 2 http://127.0.0.1:10248/healthz | grep -qx ok && return; sleep 0.5; done
  return 1
}
started_with() { # FILE: whether the kubelet has started since the file was written
  local since; since=$(systemctl show -P ActiveEnterTimestamp kubelet)
  systemctl is-active -q kubelet && [ -n "$since" ] && [ "$(date -r "$1" +%s)" -lt "$(date -d "$since" +%s)" ]
}
take_kubelet_config() {
  local former=$state/kubelet-config.former out said
  said=$({ cp -pT "$config" "$former" && cmp "$config" "$former"; } 2>&1) || unfinished "$former" "$said" "$former"
  out=$(KUBEADM_UPGRADE_DRYRUN_DIR=$state kubeadm upgrade node phase kubelet-config 2>&1) ||
    { mv -fT "$former" "$config"; fail "kubeadm upgrade node phase kubelet-config: $(tail -3 <<< "$out")"; }
  # kubeadm writes it each time.
  ! cmp -s "$config" "$former" || mv -fT "$former" "$config"
  ! started_with "$config" || { rm -f "$former"; return; }
  systemctl restart kubelet
  changed 'kubelet.service: restart'
  if ! kubelet_lives; then
    said=$(journalctl -u kubelet -n 20 --no-pager -o cat | grep -m 1 -i 'err=' | cut -c 1-300)
    [ ! -e "$former" ] || { mv -fT "$former" "$config"; systemctl restart kubelet; }
    fail "the kubelet does not start with these settings; the former ones are back on this host: $said"
  fi
  rm -f "$former"
}
