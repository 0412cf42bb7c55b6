# Waits until the API server of this control plane is ready.
for try in $(seq 360); do healthy && exit 0; sleep 0.5; done
fail 'the API server of this control plane does not become ready; see its log in /var/log/pods on this host, and ask again'
