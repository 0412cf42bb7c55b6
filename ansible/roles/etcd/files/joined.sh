# A host of etcd alone joins nothing else; from here on what is made there is sealed.
[ "$(joined_cluster)" = "$CLUSTER_ID" ] || echo "$CLUSTER_ID $NAME $IP" > /etc/matryoshka/joined
