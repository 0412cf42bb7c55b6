# A host of etcd alone joins nothing else; from here on what is made there is sealed.
[ "$(joined_cluster)" = "$CLUSTER_ID" ] || write_file /etc/matryoshka/joined 600 "$CLUSTER_ID $NAME $IP"$'\n'
