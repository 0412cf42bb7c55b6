# Checks the snapshot that was sent, and brings the programs of etcd.
sum=$(sha256_of < "$work/restore/snapshot.db")
[ "${sum%% *}" = "$SHA256" ] || { rm -f "$work/restore/snapshot.db"; fail 'the snapshot arrived damaged; nothing was changed'; }
[ -x "$work/etcd/usr/local/bin/etcdutl" ] || unpack etcd "$ETCD_IMAGE" || true
