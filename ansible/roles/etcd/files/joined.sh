# A host of etcd alone joins nothing else; from here on what is made there is sealed.
[ "$(cat /etc/matryoshka/joined 2>/dev/null)" = "$CLUSTER_ID" ] || echo "$CLUSTER_ID" > /etc/matryoshka/joined
