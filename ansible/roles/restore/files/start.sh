# Starts the first control plane with the restored data and keys.
umask 077
mkdir -p "$state" || exit 1
# What this makes is the control plane's, and is removed with it.
ROLE=control-plane
prepare_audit_log
kubeadm_init --ignore-preflight-errors=DirAvailable--var-lib-etcd
did joined
