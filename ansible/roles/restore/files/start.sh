# Starts the first control plane with the restored data and keys.
umask 077
mkdir -p "$state" || exit 1
# A reset removes what this lists, as a part of the control plane.
ROLE=control-plane
# The settings are those of now, also if the snapshot is older.
make_settings
kubeadm_init --ignore-preflight-errors=DirAvailable--var-lib-etcd
did joined
