# Restarts the kubelet. It keeps tokens of pods in memory only, so it then gives each pod a token by the new key. Containers go
# on (kubernetes.io, Managing Service Accounts, Bound service account token volumes). One that does not run has no tokens.
systemctl is-active -q kubelet || { did changed; exit 0; }
restart_kubelet
for try in $(seq 120); do
  ! curl -s -m 2 http://127.0.0.1:10248/healthz | grep -qx ok || { did changed; exit 0; }
  sleep 0.5
done
fail "the kubelet does not start: $(journalctl -u kubelet -n 5 --no-pager -o cat)"
