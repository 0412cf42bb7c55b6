# Restores the snapshot as an etcd with one member, and the keys of the cluster. The other control planes join it.
umask 077
data=/var/lib/etcd/.restored
# Otherwise etcd's folder could have data of before.
[ -e "$work/before-restore/$SEQUENCE/complete" ] || fail 'the control plane of this host was not stopped by a restore; ask for the restore again'
mkdir -p /etc/kubernetes/pki || exit 1
untar_into /etc/kubernetes/pki "$AUTHORITIES"
rm -rf "$data"
# It grows with each attempt, so that a second restore comes after what clients have seen of the first.
# Clients that watch must not take a revision from before for one that comes (etcd.io, Disaster recovery, Restoring with
# revision bump).
out=$("$work/etcd/usr/local/bin/etcdutl" snapshot restore "$work/restore/snapshot.db" --data-dir "$data" --name "$NODE_NAME" \
  --initial-cluster "$NODE_NAME=$PEER" --initial-advertise-peer-urls "$PEER" --initial-cluster-token "$TOKEN" \
  --bump-revision "$BUMP" --mark-compacted 2>&1) || { rm -rf "$data"; fail "etcd's data cannot be restored: $(tail -1 <<< "$out")"; }
said=$({ rm -rf /var/lib/etcd/member && mv -t /var/lib/etcd "$data/member" && rm -rf "$data" && sync -f /var/lib/etcd; } 2>&1) || unfinished /var/lib/etcd "$said" "$data"
changed "etcd has the data of snapshot $SNAPSHOT"
