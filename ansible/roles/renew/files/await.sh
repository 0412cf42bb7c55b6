# Waits until the API server of this control plane is ready.
for try in $(seq 360); do healthy && exit 0; sleep 0.5; done
fail 'the API server of this control plane does not become ready; see what it logs, and repair the cluster (operation annotation "repairing")'
