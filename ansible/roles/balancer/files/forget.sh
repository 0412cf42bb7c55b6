# Removes the balancer from the list of what was made, since the drift agent reports what is listed and not there. What could
# not be removed stays listed.
if [ ! -e "$R/etc/systemd/system/matryoshka-balancer.service" ] && grep -q '^balancer ' "$manifest"; then
  write_file "$manifest" 644 "$(grep -v '^balancer ' "$manifest")"$'\n' || exit 1
  changed 'no balancer is listed'
fi
