# The host needs no balancer any more: it lists none, so the drift agent misses none. What could not be removed stays listed.
if [ ! -e "$R/etc/systemd/system/matryoshka-balancer.service" ] && grep -q '^balancer ' "$manifest"; then
  write_file "$manifest" 644 "$(grep -v '^balancer ' "$manifest")"$'\n' || exit 1
  changed 'no balancer is listed'
fi
