# An external etcd host joins nothing else. From here on, what is made there enters the baseline.
[ "$(joined_cluster)" = "$CLUSTER_ID" ] || write_file /etc/matryoshka/joined 600 "$CLUSTER_ID $NAME $IP"$'\n'
