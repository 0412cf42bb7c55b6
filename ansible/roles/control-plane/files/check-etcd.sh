check_etcd "$LEAVING" "$JOINING"
