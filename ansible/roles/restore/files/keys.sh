# Brings back the keys of the cluster onto the first control plane. The other control planes get them when they join.
umask 077
[ -e "$work/before-restore/$SEQUENCE/complete" ] || fail 'the control plane of this host was not stopped by a restore; ask for the restore again'
mkdir -p /etc/kubernetes/pki || exit 1
untar_into /etc/kubernetes/pki "$AUTHORITIES"
changed 'the keys of the cluster'
