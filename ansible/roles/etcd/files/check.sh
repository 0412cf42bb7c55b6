bring_programs
check_etcd "$LEAVING" "$JOINING"
forget_programs
