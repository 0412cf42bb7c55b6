bring_programs
# Where none comes and none that leaves is a member, nothing of etcd changes.
if [ -n "$JOINING" ] || ! none_of "$LEAVING"; then
  check_etcd "$LEAVING" "$JOINING"
  [ -z "$STAYING" ] || check_components "$STAYING"
  forget_learners "$BEGINNING"
fi
forget_programs
