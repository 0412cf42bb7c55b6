bring_programs
# Where none comes and none that leaves is a member, nothing of etcd changes.
[ -z "$JOINING" ] && none_of "$LEAVING" || check_etcd "$LEAVING" "$JOINING"
forget_programs
