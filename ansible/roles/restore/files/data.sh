# Restores the snapshot as the data of a member. Stacked members begin with one, which the others join; external ones begin
# all together, each with the same snapshot (etcd.io, Disaster recovery).
umask 077
data=/var/lib/etcd/.restored
# Otherwise etcd's folder could have data of before.
[ -e "$work/before-restore/$SEQUENCE/complete" ] || fail 'etcd on this host was not stopped by a restore; ask for the restore again'
rm -rf "$data"
# It grows with each attempt, so that a second restore comes after what clients have seen of the first.
# Clients that watch must not take a revision from before for one that comes (etcd.io, Disaster recovery, Restoring with
# revision bump).
out=$("$work/etcd/usr/local/bin/etcdutl" snapshot restore "$work/restore/snapshot.db" --data-dir "$data" --name "$NODE_NAME" \
  --initial-cluster "$INITIAL_CLUSTER" --initial-advertise-peer-urls "$PEER" --initial-cluster-token "$TOKEN" \
  --bump-revision "$BUMP" --mark-compacted 2>&1) || { rm -rf "$data"; fail "etcd's data cannot be restored: $(tail -1 <<< "$out")"; }
said=$({ rm -rf /var/lib/etcd/member && mv -t /var/lib/etcd "$data/member" && rm -rf "$data" && sync -f /var/lib/etcd; } 2>&1) || unfinished /var/lib/etcd "$said" "$data"
changed "etcd has the data of snapshot $SNAPSHOT"
