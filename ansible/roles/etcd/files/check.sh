bring_programs
# Etcd does not change if no member joins and no leaving host is a member.
if [ -n "$JOINING" ] || ! none_of "$LEAVING"; then
  check_etcd "$LEAVING" "$JOINING"
  [ -z "$STAYING" ] || check_components "$STAYING"
  forget_learners "$BEGINNING"
fi
forget_programs
